"""The daemon's probes on a recording's clock: when they are made, held back, and remembered."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.daemon.probed import KeptProbes
from agent.daemon.probing import ALLOWED_S, Probing
from aggregator.wire import Receipt, Way
from collectors.catalog import SOURCES
from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Peer, Wanted
from collectors.network.ibping import IbPings
from collectors.network.peers import OtherEnd
from collectors.network.ping import Pings
from collectors.network.ports import Ports
from collectors.network.schedule import ROUND_S
from collectors.network.subnet import SubnetManagers
from collectors.network.tcp import TcpAnswers
from collectors.node.recorded import Recorded
from diagnostics.checks.network.ibping import ibping
from tests.recording import write

ANSWERED = "10 packets transmitted, 10 received, 0% packet loss, time 0 ms\n"
LOST = "10 packets transmitted, 0 received, 100% packet loss, time 3000 ms\n"
PORT = "/sys/class/infiniband/mlx5_0/ports/1"
COUNTER = f"{PORT}/counters/port_rcv_data"
NAMES = ("gpu-018", "gpu-019", "gpu-020")
WANTED = Wanted(peers=tuple(Peer(name=name, lid=lid) for lid, name in enumerate(NAMES, 12)))


class Over(Exception):  # noqa: N818 - the end of a test's time
    pass


class Node(Recorded):
    """A recorded node that answers ibping by itself, and ends the test when its time is over."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.last_s = 6 * ROUND_S
        self.gbps = 0.0
        self.probes: list[tuple[float, str]] = []
        self.silent: set[str] = set()

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        del deadline_s
        self.probes.append((self.now(), args[-1]))
        said = LOST if args[-1] in self.silent else ANSWERED
        return Output(argv=(tool, *args), status=0, stdout=said, seconds=0.01)

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        del names, cap, deadline_s
        if patterns[0].endswith("/pkeys/0"):
            return Files(texts={f"{PORT}/pkeys/0": "0xffff", f"{PORT}/lid": "0xb"})
        words = round(self.gbps * 1e9 / 32 * self.monotonic())
        return Files(texts={f"{PORT}/rate": "400 Gb/sec (4X NDR)", COUNTER: str(words)})

    async def sleep(self, seconds: float) -> None:
        if self.monotonic() > self.last_s:
            raise Over
        await super().sleep(seconds)


class Allowed(Probing):
    """Probing that a walk has just allowed, at any time."""

    def _may(self) -> bool:
        return True


@pytest.fixture
def ours(tmp_path: Path) -> Node:
    """Return a node of six rounds' time."""
    return Node(write(tmp_path))


async def run(probing: Probing) -> None:
    with pytest.raises(Over):
        await probing.run()


async def test_one_probe_a_round(ours: Node) -> None:
    """In six rounds with three peers each is asked once; the other times the peer asks."""
    await run(Allowed(ours, lambda: WANTED))

    assert ["12", "13", "14"] == sorted(target for _, target in ours.probes)


async def test_probes_keep_their_distance(ours: Node) -> None:
    """No two probes of a node fall into one round of five minutes."""
    ours.last_s = 60 * ROUND_S
    await run(Allowed(ours, lambda: WANTED))

    rounds = [int(at // ROUND_S) for at, _ in ours.probes]
    assert (30, len(set(rounds))) == (len(rounds), len(rounds))


async def test_nothing_is_sent_that_no_walk_allowed(ours: Node) -> None:
    """Where a stage holds probes back the walk does not ask for them, and none is made."""
    await run(Probing(ours, lambda: WANTED))

    assert [] == ours.probes


async def test_a_walk_allows_probes_for_a_while(ours: Node) -> None:
    """Asking for probes allows them; minutes later they are no longer allowed."""
    probing = Probing(ours, lambda: WANTED)
    seen = [probing._may()]
    await probing.ibpings(ours, WANTED)
    seen.append(probing._may())
    await ours.sleep(ALLOWED_S)
    seen.append(probing._may())

    assert [False, True, False] == seen


async def test_a_silent_peer_is_followed_by_those_who_answered(ours: Node) -> None:
    """After a failure who answered before is asked, within the turn; a stranger is not."""
    ours.last_s = 60 * ROUND_S
    probing = Allowed(ours, lambda: WANTED)
    await probing.probe("", "gpu-018", "")
    ours.silent = {"13"}
    ours.probes.clear()
    await run(probing)

    followed = {
        b for (_, a), (_, b) in zip(ours.probes, ours.probes[1:], strict=False) if a == "13"
    }
    in_turn = [
        later - at
        for (at, a), (later, _) in zip(ours.probes, ours.probes[1:], strict=False)
        if a == "13" and later - at < ROUND_S
    ]
    assert "13" not in followed
    assert in_turn


async def test_the_last_answer_is_remembered(ours: Node) -> None:
    """What a peer said last is shown with its age, and when it last answered."""
    probing = Allowed(ours, lambda: WANTED)
    await probing.probe("", "gpu-018", "")
    await ours.sleep(100.0)
    ours.silent = {"12"}
    await probing.probe("", "gpu-018", "")
    await ours.sleep(30.0)

    seen = await probing.ibpings(ours, WANTED)

    assert isinstance(seen, IbPings)
    assert [(0, 30.0, 130.0)] == [(p.received, p.age_s, p.answered_s) for p in seen.probes]


async def test_peers_of_old_settings_are_forgotten(ours: Node) -> None:
    """A peer that no longer stands in the settings is not shown."""
    probing = Allowed(ours, lambda: WANTED)
    await probing.probe("", "gpu-018", "")
    probing._wanted = lambda: Wanted(peers=WANTED.peers[1:])

    seen = await probing.ibpings(ours, Wanted(peers=WANTED.peers[1:]))

    assert isinstance(seen, Missing)


async def test_before_the_first_turn_nothing_is_known(ours: Node) -> None:
    """Peers that had no turn yet are held back, and never read as silent."""
    probing = Probing(ours, lambda: WANTED)

    seen = await probing.ibpings(ours, WANTED)

    assert isinstance(seen, Missing)
    assert Cause.HELD_BACK is seen.cause


async def test_heavy_traffic_holds_a_turn_back(ours: Node) -> None:
    """While a port carries a job's traffic no probe is sent, and the reason is shown."""
    ours.gbps = 320.0
    probing = Allowed(ours, lambda: WANTED)
    await run(probing)

    seen = await probing.ibpings(ours, WANTED)

    assert isinstance(seen, Missing)
    assert ([], "port mlx5_0/1 carries 320 of 400 Gb/s of traffic") == (ours.probes, seen.detail)


def test_every_probe_of_the_catalogue_is_behind_it(ours: Node) -> None:
    """No source that asks peers is left to ask on its own."""
    probing = Probing(ours, lambda: WANTED)
    behind = {one.shape: one for one in probing.behind(SOURCES)}
    before = {one.shape: one for one in SOURCES}

    replaced = {shape for shape in before if behind[shape].collect != before[shape].collect}
    assert {IbPings, Pings, TcpAnswers, SubnetManagers} < replaced
    # The two others are how jobs are set up, here and elsewhere.
    assert len(replaced) == 8


async def test_a_node_in_its_own_list_asks_the_others(ours: Node) -> None:
    """With the same settings on every node, this one among the peers, it never asks itself."""
    everyone = (Peer(name="gpu-017.example.net", lid=11, serves=True), *WANTED.peers)
    ours.last_s = 12 * ROUND_S
    await run(Allowed(ours, lambda: Wanted(peers=everyone)))

    assert {"12", "13", "14"} == {target for _, target in ours.probes}


@pytest.mark.parametrize(
    ("said", "serves", "expected"),
    [
        (None, True, "warning"),
        (None, False, "info"),
        (("mlx5_0",), False, "warning"),
        ((), True, "info"),
    ],
    ids=["settings alone", "no word at all", "the peer's own word", "the peer's server ended"],
)
async def test_the_peers_own_word_counts_before_the_settings(
    ours: Node,
    said: tuple[str, ...] | None,
    serves: bool,  # noqa: FBT001 - a column of the table
    expected: str,
) -> None:
    """Silence of a peer that answered is a warning where its agent, or else the settings, say so.

    Another peer answers all the time, so that this node's end is good.
    """
    wanted = Wanted(
        peers=(
            Peer(name="gpu-018", lid=12, serves=serves),
            Peer(name="gpu-019", lid=13, serves=serves),
        )
    )
    probing = Allowed(ours, lambda: wanted)
    for silent in (set(), {"12"}):
        ours.silent = silent
        await probing.probe("", "gpu-018", "")
        await probing.probe("", "gpu-019", "")
    if said is not None:
        probing.confirmed.told({"gpu-018": said})

    seen = await probing.ibpings(ours, wanted)

    assert isinstance(seen, IbPings)
    ports = Missing(what="ports", cause=Cause.NOT_RECORDED, detail="not asked for")
    result = ibping.run({IbPings: seen, Ports: ports})
    assert [expected] == [finding.severity for finding in result.findings]


async def test_those_pinged_last_are_asked_for(ours: Node) -> None:
    """The aggregator is asked of the peers pinged last, the newest first, once each, 64 at most."""
    peers = [Peer(name=f"gpu-{n}", lid=n, address="192.0.2.1") for n in range(1, 101)]
    probing = Allowed(ours, lambda: Wanted(peers=tuple(peers)))
    for peer in (*peers, peers[0]):
        await probing.probe("", peer.name, "")

    asked = probing.asked()

    assert ["gpu-1", "gpu-100", "gpu-99"] == list(asked[:3])
    assert (64, 64) == (len(asked), len(set(asked)))


async def test_who_answered_is_told_to_others(ours: Node) -> None:
    """A heartbeat has the device on which somebody answered since the start, and where it is."""
    probing = Allowed(ours, lambda: WANTED)
    ours.silent = {"12"}
    await probing.probe("", "gpu-018", "")
    before = probing.asks().worked
    await probing.probe("", "gpu-019", "")
    await ours.sleep(20.0)

    assert ((), (Way("", 20.0, 0xFFFF, 11),)) == (before, probing.asks().worked)


async def test_of_the_silent_ones_more_is_asked(ours: Node) -> None:
    """How a peer does with others is asked only of those that did not answer last."""
    probing = Allowed(ours, lambda: WANTED)
    ours.silent = {"12"}
    for name in ("gpu-018", "gpu-019"):
        await probing.probe("", name, "")

    asks = probing.asks()

    assert (("gpu-019", "gpu-018"), ("gpu-018",)) == (asks.peers, asks.silent)


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (Way("", 30.0, 0xFFFF, 12), "apart_between"),
        (Way("", 30.0, 0x7FFF, 12), "apart_between"),
        (Way("", 9000.0, 0xFFFF, 12), "apart"),
        (Way("", 30.0, 0x8001, 12), "unproved"),
        (Way("", 30.0, None, 12), "unproved"),
        (Way("", 30.0, 0xFFFF, 99), "moved"),
        (Way("mlx5_1", 30.0, 0xFFFF, 12), "unproved"),
        (None, "unproved"),
    ],
    ids=[
        *("both work now", "a limited member", "it worked before", "another partition"),
        *("no P_Key was seen", "it has another LID", "another rail worked", "no word of its agent"),
    ],
)
async def test_two_that_never_met_are_judged_by_how_they_do_with_others(
    ours: Node, way: Way | None, expected: str
) -> None:
    """A way that never worked is bad where both ends work with others and could talk."""
    wanted = Wanted(peers=tuple(Peer(name=name, lid=lid) for lid, name in enumerate(NAMES[:2], 12)))
    probing = Allowed(ours, lambda: wanted)
    ours.silent = {"12"}
    await probing.probe("", "gpu-018", "")
    await ours.sleep(60.0)
    await probing.probe("", "gpu-019", "")
    worked: dict[str, tuple[Way, ...]] = {} if way is None else {"gpu-018": (way,)}
    probing.told(Receipt(serving={"gpu-018": ("mlx5_0",)}, worked=worked))

    seen = await probing.ibpings(ours, wanted)

    assert isinstance(seen, IbPings)
    ports = Missing(what="ports", cause=Cause.NOT_RECORDED, detail="not asked for")
    (finding,) = ibping.run({IbPings: seen, Ports: ports}).findings
    assert f"ib_ping_unreachable.{expected}" == finding.text.key


async def test_a_sample_across_rails_says_nothing_of_the_rail(ours: Node) -> None:
    """What a peer's other device answers is kept apart from the way along the rail."""
    peers = tuple(
        Peer(name="gpu-018", lid=lid, rail=rail) for lid, rail in ((12, "mlx5_0"), (13, "mlx5_1"))
    )
    probing = Allowed(ours, lambda: Wanted(peers=peers))
    ours.silent = {"12"}
    await probing.probe("mlx5_0", "gpu-018", "mlx5_0")
    await probing.probe("mlx5_0", "gpu-018", "mlx5_1")

    seen = await probing.ibpings(ours, Wanted(peers=peers))

    assert isinstance(seen, IbPings)
    assert {("", None), ("mlx5_1", 0.0)} == {(p.peer_rail, p.answered_s) for p in seen.probes}


async def test_the_other_ends_word_stands_beside_a_probe(ours: Node) -> None:
    """Across rails it is the word of the device at the other end."""
    peers = (Peer(name="gpu-018", lid=13, rail="mlx5_1"),)
    probing = Allowed(ours, lambda: Wanted(peers=peers))
    await probing.probe("mlx5_0", "gpu-018", "mlx5_1")
    ways = (Way("mlx5_0", 1.0, 0xFFFF, 12), Way("mlx5_1", 7.0, 0x7FFF, 13))
    probing.told(Receipt(worked={"gpu-018": ways}))

    seen = await probing.ibpings(ours, Wanted(peers=peers))

    assert isinstance(seen, IbPings)
    assert [OtherEnd(worked_s=7.0, reachable=True, lid=13)] == [p.theirs for p in seen.probes]


async def restarted(ours: Node, folder: Path, boot_id: str, *, killed: bool) -> list[float | None]:
    """Return when the peer answered last, by an agent that begins after 100 s and finds silence."""
    first = await asyncio.to_thread(KeptProbes, folder, ours.monotonic)
    first.begin("gpu-017", "boot-1")
    await Allowed(ours, lambda: WANTED, first).probe("", "gpu-018", "")
    if not killed:
        await asyncio.to_thread(first.close)
    else:
        assert first._writer is not None
        # What it has written by then stays; nothing is added at its end.
        await asyncio.to_thread(first._writer.close, 5.0)
    await ours.sleep(100.0)
    ours.silent = {"12"}
    second = await asyncio.to_thread(KeptProbes, folder, ours.monotonic)
    second.begin("gpu-017", boot_id)
    probing = Allowed(ours, lambda: WANTED, second)
    await probing.probe("", "gpu-018", "")
    seen = await probing.ibpings(ours, WANTED)
    assert isinstance(seen, IbPings)
    await asyncio.to_thread(second.close)
    return [probe.answered_s for probe in seen.probes]


@pytest.mark.parametrize(
    ("boot_id", "killed", "expected"),
    [
        pytest.param("boot-1", False, [100.0], id="restart"),
        pytest.param("boot-1", True, [100.0], id="killed"),
        pytest.param("boot-2", False, [None], id="reboot"),
    ],
)
async def test_that_a_pair_worked_outlives_the_agent(
    ours: Node,
    tmp_path: Path,
    boot_id: str,
    killed: bool,  # noqa: FBT001 - a row's column
    expected: list[float | None],
) -> None:
    """A peer that answered in this boot is known to have worked; of another boot nothing is."""
    assert expected == await restarted(ours, tmp_path, boot_id, killed=killed)


async def test_the_way_is_told_after_a_restart(ours: Node, tmp_path: Path) -> None:
    """The aggregator hears by which device this node's pings were answered, and where that was."""
    first = await asyncio.to_thread(KeptProbes, tmp_path, ours.monotonic)
    first.begin("gpu-017", "boot-1")
    await Allowed(ours, lambda: WANTED, first).probe("", "gpu-018", "")
    await asyncio.to_thread(first.close)
    await ours.sleep(100.0)
    second = await asyncio.to_thread(KeptProbes, tmp_path, ours.monotonic)
    second.begin("gpu-017", "boot-1")

    assert (Way("", 100.0, 0xFFFF, 0xB),) == Probing(ours, lambda: WANTED, second).worked()


def test_a_torn_file_of_probes(ours: Node, tmp_path: Path) -> None:
    """It is put aside and said, and nothing is taken from it."""
    (tmp_path / "probes.json").write_text('{"schema": "gpud')
    kept = KeptProbes(tmp_path, ours.monotonic)
    kept.begin("gpu-017", "boot-1")

    assert ({}, True) == (kept.times, "put aside as probes.damaged" in (kept.problem or ""))
