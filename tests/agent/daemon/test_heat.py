"""The service that holds heat: what it asks of the actor, and when it leaves that."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from agent.daemon.heat import Heat
from collectors.bmc.sensors import BmcSensors, Sensor
from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Clocks, Power
from collectors.gpu.health_parts import Heat as Degrees
from remediations.act.hand import Done, Objection
from remediations.heat.throttle import Pace
from remediations.policy import PATH
from tests.agent.daemon.virtual import Still

GPU = "0000:1b:00.0"
ACT = 'allow_unproved = ["gpu.power_cap"]\n[mode]\n"gpu.power_cap" = "act"\n'
NO_ACTOR = Objection("no actor is running")


class Room(Still):
    """A node with a policy, one GPU, an actor that does as it is asked, and time that passes."""

    def __init__(self, policy: str | None = ACT) -> None:
        self.policy = policy
        self.at_s = 1000.0
        self.margin: int | None = 20
        self.limit = 700_000
        self.sensors: Observation | Missing = BmcSensors(present=False)
        self.health: Observation | Missing | None = None
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.by_redfish: list[dict[str, Any]] = []
        self.actor = True
        self.refuses: str | None = None
        self.hangs: asyncio.Event | None = None
        self.held: dict[str, list[float]] = {}
        self.heat = Heat(self, self.newest, Doing(self), self, Pace())

    async def files(self, *patterns: str, names: Sequence[str] = (), **_: Any) -> Files | Missing:
        del names
        assert (PATH,) == patterns
        return Files(texts={} if self.policy is None else {PATH: self.policy})

    def monotonic(self) -> float:
        return self.at_s

    def newest(self, shape: type[Observation]) -> Observation | Missing:
        """Return what is seen."""
        if shape is BmcSensors:
            return self.sensors
        if self.health is not None:
            return self.health
        power = Power(limit_mw=self.limit, default_limit_mw=700_000, min_limit_mw=200_000)
        clocks = Clocks(max_graphics_mhz=1980)
        heat = Degrees(margin_c=self.margin)
        name = "NVIDIA H100 80GB HBM3"
        gpu = GpuReading(index=0, pci=GPU, name=name, heat=heat, power=power, clocks=clocks)
        return GpuHealth(gpus=(gpu,))

    def cap(self, name: str, limit: int) -> None:
        self.limit = limit
        if limit == 700_000:
            del self.held[name]
        else:
            self.held[name] = [limit, self.at_s, self.at_s + 900.0]

    def clocks(self, name: str, limit: int) -> None:
        """Hold the clocks down, or unlock them."""
        self.held.pop(name, None)
        if limit < 1980:
            self.held[name] = [limit, self.at_s, self.at_s + 900.0]

    def told(self, name: str) -> dict[str, Any]:
        limit, stepped, until = self.held[name]
        times = {"stepped_s_ago": self.at_s - stepped, "left_s": until - self.at_s}
        before = (
            {"before": 1980, "unit": "MHz"} if limit < 2000 else {"before": 700_000, "unit": "mW"}
        )
        return {"subject": name, "limit": limit, **before, **times}

    def info(self, event: str, /, **facts: Any) -> None:
        """Be the log."""
        self.said.append((event, facts))

    warning = error = exception = info

    async def looks(self, many: int) -> None:
        """Let the service look so many times, 30 s apart."""
        for _ in range(many):
            self.at_s += 30.0
            await self.heat.once()

    def events(self) -> list[str]:
        """Return what was said, by name."""
        return [event for event, _ in self.said]

    def verbs(self) -> list[str]:
        """Return what was asked for, but the renewals."""
        return [verb for verb, _ in self.asked if verb != "renew_caps"]


class Doing:
    """The actor of a room."""

    def __init__(self, room: Room) -> None:
        self.room = room

    async def ask(
        self, verb: str, args: Mapping[str, Any], *, deadline_s: float = 10.0
    ) -> Done | Objection:
        """Do as it is asked, or say why not."""
        room = self.room
        assert deadline_s > 0
        if not room.actor:
            return NO_ACTOR
        if verb == "caps":
            return Done({"held": [room.told(name) for name in room.held]})
        room.asked.append((verb, dict(args)))
        if verb == "node_sensors":
            return Done({"sensors": room.by_redfish}) if room.by_redfish else NO_ACTOR
        if room.refuses:
            return Objection(room.refuses)
        await self.do(verb, args)
        return Done({})

    async def do(self, verb: str, args: Mapping[str, Any]) -> None:
        """Do what changes something."""
        room = self.room
        if verb == "renew_caps":
            for cap in room.held.values():
                cap[2] = room.at_s + 900.0
        elif verb == "cap_gpu":
            if room.hangs is not None:
                await room.hangs.wait()
            room.cap(args["gpu"], args["limit_mw"])
        elif verb == "cap_node" and room.hangs is not None:
            room.hangs.set()
        elif verb == "cap_clocks":
            room.clocks(args["gpu"], args["limit_mhz"])


async def test_down_and_up() -> None:
    """Hot for five samples is one step down with its cause; cool for 15 min puts all back."""
    room = Room()
    room.margin = -1
    await room.looks(5)
    capped, why = room.limit, room.asked[0][1]["why"]
    room.margin = 20
    await room.looks(40)

    said = "-1 C are left until it slows down, in 5 of 10 samples; "
    said += "no sensor can tell the cause: this node has no BMC"
    assert (630_000, said, 700_000, {}) == (capped, why, room.limit, room.held)


async def test_it_renews() -> None:
    """While a cap is on and neither hot nor cool, its lease never runs out."""
    room = Room()
    room.margin = -1
    await room.looks(5)
    room.margin = 3
    left = []
    for _ in range(100):
        await room.looks(1)
        left.append(room.held[GPU][2] - room.at_s)

    assert min(left) > 600.0


@pytest.mark.parametrize(
    "policy", [None, "", '[mode]\n"gpu.power_cap" = "advise"\n', "[mode", "x=1"]
)
async def test_not_in_act(policy: str | None) -> None:
    """Without a line that turns it on, or with a file that is none, the actor is never asked."""
    room = Room(policy)
    room.margin = -5
    await room.looks(30)

    assert [] == room.asked
    assert "heat_advised" in room.events()


@pytest.mark.parametrize(
    ("limit", "expected"), [(600_000, [540_000, 480_000, 420_000, 360_000]), (700_000, [])]
)
async def test_under_a_standing_limit(limit: int, expected: list[int]) -> None:
    """A GPU at its site's limit is stepped down from that; one that is above it is a person's."""
    room = Room(f"{ACT}[heat.standing_limit_w]\n'NVIDIA H100 80GB HBM3' = 600\n")
    room.margin, room.limit = -5, limit
    await room.looks(60)
    asked = [args["limit_mw"] for verb, args in room.asked if verb == "cap_gpu"]

    person = "floor" if expected else "foreign"
    assert (expected, person) == (asked, room.heat.handed_over[GPU].phase)


async def test_nobody_is_called_where_nothing_is_done() -> None:
    """Where heat is only advised, a hot GPU under another's limit is left to the checks."""
    room = Room(None)
    room.margin, room.limit = -5, 500_000
    await room.looks(30)

    assert ({}, False) == (room.heat.handed_over, "heat_needs_person" in room.events())


async def test_observed() -> None:
    """In observe nothing is even said."""
    room = Room('[mode]\n"gpu.power_cap" = "observe"\n')
    room.margin = -5
    await room.looks(30)

    assert ([], []) == (room.asked, room.said)


async def test_without_an_actor() -> None:
    """In act, and with no actor installed, that is said once, and it is advised alone."""
    room = Room()
    room.actor, room.margin = False, -5
    await room.looks(30)

    assert ([], 1) == (room.asked, room.events().count("heat_without_actor"))


async def test_an_actor_that_refuses() -> None:
    """What the actor refuses is said with its sentence, and asked again after 5 min, not before."""
    room = Room()
    room.refuses, room.margin = "the last step was 9 s ago", -5
    await room.looks(25)
    no = [facts["why"] for event, facts in room.said if event == "heat_limit_not_set"]

    assert ["the last step was 9 s ago"] * 3 == no


async def test_one_that_hangs_holds_up_no_other() -> None:
    """The actor that comes back from a GPU only when it was asked for the node is asked for it."""
    room = Room(f"{ACT}[heat]\ndcmi = true\n")
    room.hangs = asyncio.Event()
    room.margin = -1
    async with asyncio.timeout(10):
        await room.looks(5)

    assert {GPU} == {*room.held}


async def test_a_gpu_that_falls_silent() -> None:
    """A capped GPU of which nothing is seen any more is kept, and a person is called once."""
    room = Room()
    room.margin = -1
    await room.looks(5)
    room.health = Missing(what="GpuHealth", cause=Cause.TIMEOUT, detail="no answer in 10 s")
    await room.looks(60)

    expected = (["cap_gpu"], [GPU], 1, "blind")
    assert expected == (
        room.verbs(),
        list(room.held),
        room.events().count("heat_needs_person"),
        room.heat.handed_over[GPU].phase,
    )


async def test_a_restarted_agent_goes_on() -> None:
    """A new service takes the caps from the actor, and ends them when it is cool."""
    room = Room()
    room.margin = -1
    await room.looks(5)
    room.heat = Heat(room, room.newest, Doing(room), room, Pace())
    room.margin = 20
    await room.looks(40)

    assert (700_000, {}) == (room.limit, room.held)


async def test_the_node_where_the_site_opts_in() -> None:
    """With dcmi the node is stepped as well, in tenths."""
    room = Room(f"{ACT}[heat]\ndcmi = true\n")
    room.margin = -1
    await room.looks(5)

    assert {"cap_gpu", "cap_node"} == set(room.verbs())
    assert [1] == [args["steps"] for verb, args in room.asked if verb == "cap_node"]


async def test_the_cause_is_named() -> None:
    """A slow fan stands in the reason that the actor keeps."""
    room = Room()
    fan = Sensor(kind="fan", name="FAN2", value=300.0, unit="RPM", crossed=("lc",))
    room.sensors = BmcSensors(sensors=(fan,))
    room.margin = -1
    await room.looks(5)

    assert room.asked[0][1]["why"].endswith("; a fan is too slow (FAN2 300 RPM)")


REDFISH = f'{ACT}[heat]\nredfish = true\nredfish_url = "https://169.254.3.1/x/Power"\n'
WARM = {"kind": "inlet", "name": "Inlet", "value": 44.0, "unit": "C", "crossed": ["unc"]}


async def test_the_cause_is_named_by_redfish() -> None:
    """Where IPMI tells nothing, the actor reads the BMC by Redfish, at each second look."""
    room = Room(REDFISH)
    room.by_redfish = [WARM]
    room.margin = -1
    await room.looks(5)
    asked = [verb for verb, _ in room.asked]

    said = "the air that comes in is too warm, which is the room's matter (Inlet 44 C)"
    assert (said, 3) == (room.asked[-1][1]["why"].partition("; ")[2], asked.count("node_sensors"))


async def test_a_lost_supply_by_redfish() -> None:
    """A supply that Redfish calls dead lets nothing be capped."""
    room = Room(REDFISH)
    room.by_redfish = [WARM, {"kind": "psu", "name": "PSU1", "event": 111, "states": [0, 1]}]
    room.margin = -1
    await room.looks(20)

    assert ({"node_sensors"}, "braked") == ({*room.verbs()}, room.heat.handed_over[GPU].phase)


async def test_a_bmc_without_redfish_holds_nothing_up() -> None:
    """One that never told sensors has not fallen silent: the driver's margin decides."""
    room = Room(REDFISH)
    room.margin = -1
    await room.looks(5)

    assert {GPU} == {*room.held}


@pytest.mark.parametrize("wrong", [[{"kind": "moon"}], [3], [{}]])
async def test_sensors_that_are_none(wrong: list[Any]) -> None:
    """An answer of another form is no answer."""
    room = Room(REDFISH)
    room.by_redfish = wrong
    room.margin = -1
    await room.looks(5)

    assert {GPU} == {*room.held}


async def test_a_person_is_told_the_cause() -> None:
    """Who is called for heat that is left alone hears once why it is hot, as values move."""
    room = Room()
    room.limit, room.margin = 500_000, -1
    for value in (44.0, 45.0):
        inlet = Sensor(kind="inlet", name="Inlet", value=value, unit="C", crossed=("unc",))
        room.sensors = BmcSensors(sensors=(inlet,))
        await room.looks(8)
    told = [facts["cause"] for event, facts in room.said if event == "heat_needs_person"]

    assert ["the air that comes in is too warm, which is the room's matter (Inlet 44 C)"] == told


async def test_people_are_told_by_the_source() -> None:
    """What is in a person's hands stands beside the caps that are on."""
    from collectors.catalog import by_shape  # noqa: PLC0415 - all collectors, for one test
    from collectors.facts.wanted import Wanted  # noqa: PLC0415 - same
    from collectors.gpu.caps import PowerCaps  # noqa: PLC0415 - same

    async def collect(*_: Any) -> PowerCaps:
        return PowerCaps(now=1.0)

    room = Room()
    room.limit, room.margin = 500_000, -1
    await room.looks(5)
    source = msgspec.structs.replace(by_shape()[PowerCaps], collect=collect)
    (wrapped,) = room.heat.behind((source,))
    seen = await wrapped.collect(room, Wanted())

    assert isinstance(seen, PowerCaps)
    assert [(GPU, "foreign")] == [(one.subject, one.phase) for one in seen.handed_over]


async def test_by_clocks_where_the_site_says_so() -> None:
    """Clocks go down by a tenth, and are unlocked though the site has changed its mind since."""
    room = Room(f"{ACT}[heat]\nlocked_clocks = true\n")
    room.margin = -1
    await room.looks(5)
    room.policy, room.margin = ACT, 20
    await room.looks(40)
    asked = [args["limit_mhz"] for verb, args in room.asked if verb == "cap_clocks"]

    assert ([1782, 1980], {}, ["cap_clocks"] * 2) == (asked, room.held, room.verbs())
