"""The health of GPUs: two readings of the real helper on a recording's scenario."""

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.asking import converted
from collectors.gpu.health import GpuHealth, GpuReading, Looking, collect
from collectors.gpu.nvml import GpuSnapshot
from collectors.node.recorded import Recorded
from tests.recording import write

QUIET = KernelLog(records=())
WELL = GpuSnapshot(count=8)
DRIVER = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 580.105.08\n"}
# Addresses of the simulated H100s.
ADDRESSES = tuple(f"0000:{bus}:00.0" for bus in ("53", "64", "75", "86", "97", "a8", "b9", "ca"))
BUS = {
    f"/sys/bus/pci/devices/{address}/uevent": (
        "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SUBSYS_ID=10DE:16C1\n"
    )
    for address in ADDRESSES
}
HANGS = "[gpu.4.call.nvmlDeviceGetPowerUsage]\nblocks_s = -1\n"


def node(folder: Path, scenario: str = "", **parts: Any) -> Recorded:
    """Return a recording of H100s with *scenario*."""
    write(folder, files={**DRIVER, **BUS}, **parts)
    (folder / "nvml.toml").write_text(f'model = "h100-sxm"\n{scenario}')
    return Recorded(folder)


def seen(
    of: Recorded,
    log: KernelLog | Missing = QUIET,
    use: GpuSnapshot | Missing = WELL,
    *,
    ask_driver: bool = False,
) -> GpuHealth | Missing:
    """Return what is collected, with the helper ended after it."""

    async def once() -> GpuHealth | Missing:
        try:
            return await collect(of, Wanted(ask_driver=ask_driver), log, use)
        finally:
            await of.close()

    return asyncio.run(once())


def health(
    of: Recorded, log: KernelLog | Missing = QUIET, use: GpuSnapshot | Missing = WELL
) -> GpuHealth:
    """Return what is collected of a driver that answers."""
    got = seen(of, log, use)
    assert isinstance(got, GpuHealth)
    return got


def test_without_a_driver_nobody_is_asked(tmp_path: Path) -> None:
    """A node without the driver's file in /proc has no health to tell, and nothing is unknown."""
    of = Recorded(write(tmp_path))
    unseen = Missing(what="GpuSnapshot", cause=Cause.CRASHED, detail="")

    assert [GpuHealth(loaded=False)] * 2 == [
        seen(of, use=use) for use in (GpuSnapshot(loaded=False), unseen)
    ]


def test_counters_are_read_twice(tmp_path: Path) -> None:
    """What changed within the second between shows in the pair of each GPU."""
    step = "[[step]]\nat_s = 0.5\n[step.gpu.2]\npcie.replays = 9174\n"
    got = health(node(tmp_path, step))
    replays = [(before.pcie.replays, now.pcie.replays) for before, now in got.watched()]

    assert (8, (174, 9174), 1.0) == (len(replays), replays[2], got.watched_s)


def test_who_looks_again_compares_with_the_last_look(tmp_path: Path) -> None:
    """The second look of one who goes on asks once: what the first read stands beside it."""
    of = node(tmp_path, "[[step]]\nat_s = 6\n[step.gpu.2]\npcie.replays = 9174\n")
    looking = Looking()

    async def twice() -> tuple[float, GpuHealth | Missing, float]:
        try:
            await looking.collect(of, Wanted(), QUIET, WELL)
            await of.sleep(10.0)
            before = of.monotonic()
            return before, await looking.collect(of, Wanted(), QUIET, WELL), of.monotonic()
        finally:
            await of.close()

    began, got, ended = asyncio.run(twice())
    assert isinstance(got, GpuHealth)
    replays = [(before.pcie.replays, now.pcie.replays) for before, now in got.watched()]

    assert (8, (174, 9174), 10.0, began) == (len(replays), replays[2], got.watched_s, ended)


def test_what_was_read_a_minute_ago_is_not_compared_with(tmp_path: Path) -> None:
    """After a pause, in which counters may have begun anew, the first look is made again."""
    of = node(tmp_path)
    looking = Looking()

    async def twice() -> GpuHealth | Missing:
        try:
            await looking.collect(of, Wanted(), QUIET, WELL)
            await of.sleep(61.0)
            return await looking.collect(of, Wanted(), QUIET, WELL)
        finally:
            await of.close()

    got = asyncio.run(twice())

    assert 1.0 == (got.watched_s if isinstance(got, GpuHealth) else got)


def test_the_same_recording_says_the_same_twice(tmp_path: Path) -> None:
    """Nothing of the helper's own time or process is in the answer."""
    step = "[[step]]\nat_s = 0.5\n[step.gpu.2]\nlost = true\n"

    assert health(node(tmp_path, step)) == health(node(tmp_path, step))


def test_the_gpu_whose_call_does_not_return_is_left_out(tmp_path: Path) -> None:
    """The function that hung is told with its GPU, and the other seven are read by a new helper."""
    got = health(node(tmp_path, HANGS))

    expected = ({"0000:97:00.0": "nvmlDeviceGetPowerUsage"}, 7, 7)
    assert expected == (got.stuck, len(got.gpus), len(list(got.watched())))


def test_a_gpu_that_hung_for_others_is_not_asked_again(tmp_path: Path) -> None:
    """It would cost another helper: the scenario's call would not return here either."""
    use = GpuSnapshot(count=8, stuck={"0000:97:00.0": "nvmlDeviceGetMemoryInfo_v2"})
    got = health(node(tmp_path, HANGS), use=use)

    assert (use.stuck, 7) == (got.stuck, len(got.gpus))


def test_two_that_hang_are_a_driver_that_hangs(tmp_path: Path) -> None:
    """One is left out; with the next one the driver is given up, and the call is told."""
    more = "[gpu.6.call.nvmlDeviceGetPowerUsage]\nblocks_s = -1\n"
    got = seen(node(tmp_path, HANGS + more))

    assert isinstance(got, Missing)
    assert (Cause.TIMEOUT, "nvmlDeviceGetPowerUsage of GPU 0000:b9:00.0") == (got.cause, got.stuck)


def test_a_driver_that_just_hung_is_not_asked(tmp_path: Path) -> None:
    """What made the light questions hang makes these hang as well."""
    hung = Missing(what="NVML", cause=Cause.TIMEOUT, detail="no answer in 15 s")

    assert hung == seen(node(tmp_path), use=hung)


def test_a_gpu_off_the_bus_is_not_asked(tmp_path: Path) -> None:
    """The kernel's word of Xid 79 keeps all calls from that GPU, as a call would hang."""
    text = "NVRM: Xid (PCI:0000:97:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off"
    log = KernelLog(records=(Record(sequence=1, boot_s=90.0, level=3, facility=0, text=text),))
    got = health(node(tmp_path, HANGS), log)

    assert (("0000:97:00.0",), {}, 7) == (got.held_back, got.stuck, len(got.gpus))


def test_a_person_has_a_gpu_off_the_bus_asked(tmp_path: Path) -> None:
    """By a person's word all eight are asked, whatever the kernel says of one."""
    text = "NVRM: Xid (PCI:0000:97:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off"
    log = KernelLog(records=(Record(sequence=1, boot_s=90.0, level=3, facility=0, text=text),))
    got = seen(node(tmp_path), log, ask_driver=True)

    assert isinstance(got, GpuHealth)
    assert ((), 8) == (got.held_back, len(got.gpus))


def test_an_init_error_is_told_at_once(tmp_path: Path) -> None:
    """Where NVML does not start there is no second reading."""
    of = node(tmp_path, "[call.nvmlInitWithFlags]\nreturns = 18\n")
    got = health(of)

    assert (18, (), 0.0) == (got.init_error, got.gpus, of.monotonic())


def test_the_hung_call_is_found_in_what_a_recording_tells(tmp_path: Path) -> None:
    """A stall that was recorded is answered around as a live one is."""
    reading = {"count": 8, "gpus": [{"index": 0, "pci": "0000:53:00.0"}]}
    only = {"only": [address for address in ADDRESSES if address != "0000:97:00.0"]}
    stuck = "nvmlDeviceGetPowerUsage of GPU 0000:97:00.0; pid 4711, state D, in rwsem_down_read"
    missing = {"cause": "timeout", "detail": "did not return in 3 s", "stuck": stuck}
    answers: list[dict[str, Any]] = [
        {"kind": "nvml_health", "args": {"brief": True}, "missing": missing, "seconds": 3.1},
        *(
            {"kind": "nvml_health", "args": {**only, "brief": brief}, "answer": reading}
            for brief in (True, False)
        ),
    ]
    got = health(Recorded(write(tmp_path, files={**DRIVER, **BUS}, answers=answers)))

    expected = (
        (GpuReading(index=0, pci="0000:53:00.0"),),
        {"0000:97:00.0": stuck.split(maxsplit=1)[0]},
    )
    assert expected == (got.gpus, got.stuck)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["gpus", "count", "heat", "index", "pci"]), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_answer_is_health_or_garbled(value: object) -> None:
    """Whatever the helper says, it is read or refused, and never raises."""
    got = converted(value, GpuHealth)

    assert isinstance(got, GpuHealth) or got.cause is Cause.GARBLED
