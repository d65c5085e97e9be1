"""Why it is hot, by the BMC's word, and how far that word goes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.bmc.sensors import BmcSensors, Kind, Sensor
from collectors.facts.observation import Cause, Missing
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Clocks, Heat, Power
from remediations.heat import causes

UPPER = {"unc": 85.0, "uc": 90.0}


def sensor(kind: Kind, value: float | None, *crossed: str, **other: object) -> Sensor:
    """Return one sensor of the BMC."""
    facts = {"thresholds": UPPER, "unit": "C"} | other
    return Sensor(kind=kind, name=f"{kind}1", value=value, crossed=crossed, **facts)  # type: ignore[arg-type]  # by test


def bmc(*sensors: Sensor, age_s: float = 10.0) -> BmcSensors:
    """Return what the BMC says."""
    return BmcSensors(sensors=sensors, age_s=age_s)


def gpus(celsius: int | None = 70, draw: int = 690_000) -> GpuHealth:
    """Return two GPUs of one temperature."""
    one = GpuReading(
        index=0,
        pci="0000:1b:00.0",
        heat=Heat(gpu_c=celsius),
        power=Power(draw_mw=draw, limit_mw=700_000),
    )
    return GpuHealth(gpus=(one, one))


SILENT = {"silent": "the BMC says that it is not read"}
JUMPED = {"silent": "it jumped from 100 to 25 C within 1 s"}
ASLEEP = Missing(what="BmcSensors", cause=Cause.TIMEOUT, detail="no answer in 19 s")
NO_TOOL = Missing(what="BmcSensors", cause=Cause.NO_TOOL, detail="ipmitool is not installed")


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (BmcSensors(present=False), "none"),
        (bmc(), "none"),
        (bmc(sensor("fan", 0.0)), "none"),
        (NO_TOOL, "none"),
        (ASLEEP, "silent"),
        (bmc(sensor("gpu", None, **SILENT), sensor("inlet", None, **SILENT)), "silent"),
        (bmc(sensor("gpu", 70), sensor("inlet", 24), age_s=200.0), "silent"),
        (bmc(sensor("gpu", None, **JUMPED), sensor("inlet", None, **SILENT)), "lying"),
        (bmc(sensor("gpu", 20), sensor("inlet", 24)), "lying"),
        (bmc(sensor("gpu", 70)), "single"),
        (bmc(sensor("gpu", 70), sensor("inlet", 24)), "cool"),
        (bmc(sensor("gpu", 82), sensor("inlet", 24)), "warm"),
        (bmc(sensor("gpu", 86, "unc"), sensor("inlet", 24)), "warm"),
        (bmc(sensor("gpu", 86, "unc"), sensor("inlet", 46, "unc")), "hot"),
    ],
)
def test_what_the_bmc_says(seen: BmcSensors | Missing, word: str) -> None:
    """Two that agree are a word; one alone, an old one and one that contradicts are none."""
    assert word == causes.word(seen, gpus())


def test_without_the_driver_nothing_contradicts() -> None:
    """Where the driver is blind, a cold GPU sensor is no lie."""
    blind = Missing(what="GpuHealth", cause=Cause.TIMEOUT, detail="no answer")

    assert "cool" == causes.word(bmc(sensor("gpu", 20), sensor("inlet", 24)), blind)


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        (bmc(sensor("inlet", 46, "unc")), ["inlet"]),
        (bmc(sensor("coolant_temperature", 60, "uc")), ["coolant"]),
        (bmc(sensor("coolant_flow", 2, "lc")), ["coolant"]),
        (bmc(sensor("fan", 300, "lc")), ["fan"]),
        (bmc(sensor("fan", 0.0), sensor("fan", 7000.0)), ["fan"]),
        (bmc(sensor("fan", 300, "lc"), sensor("inlet", 46, "unc")), ["inlet", "fan"]),
        (bmc(sensor("inlet", 24)), ["load"]),
        (ASLEEP, ["load", "unknown"]),
        (BmcSensors(present=False), ["load", "unknown"]),
    ],
)
def test_causes_are_told_apart(seen: BmcSensors | Missing, names: list[str]) -> None:
    """Coolant, inlet, fan and load each have their sign; without a BMC that is said."""
    assert names == [one.name for one in causes.reasons(seen, gpus())]


def test_no_sign_at_all() -> None:
    """Idle GPUs, and sensors in their range, name no cause."""
    told = causes.reasons(bmc(sensor("inlet", 24)), gpus(draw=70_000))

    assert [("unknown", "no sensor of the BMC tells the cause")] == [(o.name, o.says) for o in told]


@pytest.mark.parametrize(("states", "lost"), [((0,), False), ((0, 1), True), ((0, 3), True)])
def test_a_lost_supply(states: tuple[int, ...], *, lost: bool) -> None:
    """A failure and a lost input are a lost supply; presence alone is none."""
    psu = Sensor(kind="psu", name="PS1", event=0x6F, states=states)

    assert lost == causes.supply_lost(bmc(psu))


def test_a_supply_that_says_nothing() -> None:
    """A silent BMC says of no supply that it is lost."""
    assert not causes.supply_lost(ASLEEP)


@pytest.mark.parametrize(("reasons", "braked"), [(None, False), (0x40, False), (0x80, True)])
def test_the_power_brake(reasons: int | None, *, braked: bool) -> None:
    """The brake is bit 0x80 alone."""
    assert braked == causes.braked(GpuReading(index=0, clocks=Clocks(reasons=reasons)))


@given(
    st.lists(
        st.builds(
            Sensor,
            kind=st.sampled_from(["inlet", "gpu", "coolant_temperature", "fan", "psu", "leak"]),
            name=st.text(max_size=5),
            value=st.none() | st.floats(allow_nan=True, allow_infinity=True),
            crossed=st.lists(st.sampled_from(["unc", "uc", "lc"]), max_size=3).map(tuple),
            silent=st.none() | st.text(max_size=10),
        ),
        max_size=6,
    )
)
def test_whatever_sensors_say(sensors: list[Sensor]) -> None:
    """Nothing raises, hot needs two sensors, and a cause is always named."""
    seen = bmc(*sensors)
    word, named = causes.word(seen, gpus(None)), causes.reasons(seen, gpus(None))
    crossed = sum(s.silent is None and bool({"unc", "uc"} & set(s.crossed)) for s in sensors)

    assert (word != "hot" or crossed > 1, True) == (True, bool(named))


BY_REDFISH = bmc(sensor("inlet", 91.0, "unc", "uc"), sensor("gpu", 92.0, "unc", "uc"))


@pytest.mark.parametrize(
    ("ipmi", "redfish", "expected"),
    [
        (NO_TOOL, None, "none"),
        (NO_TOOL, BY_REDFISH, "hot"),
        (BmcSensors(present=False), BY_REDFISH, "hot"),
        (ASLEEP, BY_REDFISH, "hot"),
        (bmc(sensor("inlet", 24.0), age_s=500.0), BY_REDFISH, "hot"),
        (bmc(sensor("inlet", 24.0)), BY_REDFISH, "warm"),
        (bmc(sensor("inlet", None, **SILENT)), BY_REDFISH, "hot"),
        (bmc(sensor("inlet", 24.0)), msgspec.structs.replace(BY_REDFISH, age_s=500.0), "single"),
        (NO_TOOL, msgspec.structs.replace(BY_REDFISH, age_s=500.0), "silent"),
    ],
)
def test_redfish_beside_ipmi(
    ipmi: BmcSensors | Missing, redfish: BmcSensors | None, expected: str
) -> None:
    """Redfish tells what IPMI does not; the same sensor is never counted twice."""
    assert expected == causes.word(causes.joined(ipmi, redfish), gpus(None))
