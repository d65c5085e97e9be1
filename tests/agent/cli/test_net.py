"""`gpudiag net`: tests on demand; real tools run in tests/lab."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.cli.errors import Mistake
from agent.cli.net import MEASURES, PROBES, chosen, examine, line
from agent.settings.load import Settings
from collectors.facts.wanted import Peer
from collectors.network.ibping import OPTIONS, IbPings
from collectors.network.peers import OtherEnd, Probe
from collectors.network.topology import Cable
from diagnostics.knowledge import pages
from tests.recording import recorded

LOST = "10 packets transmitted, 0 received, 100% packet loss, time 3000 ms"
WHOLE = "10 packets transmitted, 10 received, 0% packet loss, time 0 ms"
SETTINGS = Settings(
    peers=(
        Peer(name="gpu-018", lid=12, serves=True),
        Peer(name="gpu-019", lid=13, serves=True),
    )
)
COMMANDS = [
    {"argv": ["ibping", *OPTIONS, "-L", "12"], "stdout": f"{WHOLE}\n"},
    {"argv": ["ibping", *OPTIONS, "-L", "13"], "stdout": f"{LOST}\n"},
]
PEERS_ONLY = tuple(check for check in chosen(peers=True, bandwidth=False) if check.name in PROBES)


def test_probes_and_measures_are_asked_for() -> None:
    """Without options nothing is sent to peers; each option adds its own checks."""
    plain = {check.name for check in chosen(peers=False, bandwidth=False)}
    probing = {check.name for check in chosen(peers=True, bandwidth=False)}
    measuring = {check.name for check in chosen(peers=False, bandwidth=True)}

    assert (set(PROBES), set(MEASURES)) == (probing - plain, measuring - plain)


def told(tmp_path: Path, before: Any) -> list[tuple[str, str, str]]:
    """Return the findings of a test of the peers, by fault, severity and subject."""
    pages.load()
    node = recorded(tmp_path, commands=COMMANDS)
    document = asyncio.run(examine(node, SETTINGS, PEERS_ONLY, before))
    return [(f["fault"], f["severity"], f["subject"]["name"]) for f in document.findings]


def test_what_the_agent_saw_before_makes_silence_a_fault(tmp_path: Path) -> None:
    """A peer that the agent of this node has heard, and that is silent now, is a fault."""
    earlier = Probe(
        peer="gpu-019", target="13", serves=True, sent=10, received=10, answered_s=200.0
    )
    before = {IbPings: (IbPings(probes=(earlier,)), 30.0)}

    assert [("ib_ping_unreachable", "warning", "gpu-019")] == told(tmp_path, before)


def test_what_the_peer_said_of_its_server_counts(tmp_path: Path) -> None:
    """Where the agent knows that the peer's server has ended, silence is a note again."""
    earlier = Probe(peer="gpu-019", target="13", sent=10, received=10, answered_s=200.0)
    before = {IbPings: (IbPings(probes=(earlier,)), 30.0)}

    assert [("ib_ping_unreachable", "info", "gpu-019")] == told(tmp_path, before)


def test_what_the_peer_said_of_its_ways_counts(tmp_path: Path) -> None:
    """A peer that never answered here is a fault where others answer it, and it could talk to us.

    What the agent knows of a sample across rails is of another way, and changes nothing.
    """
    theirs = OtherEnd(worked_s=100.0, reachable=True, lid=13)
    earlier = Probe(peer="gpu-019", target="13", serves=True, sent=10, theirs=theirs)
    across = msgspec.structs.replace(earlier, peer_rail="mlx5_1")
    found = [
        told(tmp_path / name, {IbPings: (IbPings(probes=(before,)), 30.0)})
        for name, before in (("rail", earlier), ("across", across))
    ]

    assert [
        [("ib_ping_unreachable", "warning", "gpu-019")],
        [("ib_ping_unreachable", "info", "gpu-019")],
    ] == found


def test_without_an_agent_silence_is_a_note(tmp_path: Path) -> None:
    """Nothing is known of the time before: silence alone is no fault."""
    assert [("ib_ping_unreachable", "info", "gpu-019")] == told(tmp_path, {})


def test_bandwidth_is_refused_where_jobs_cannot_be_seen(tmp_path: Path) -> None:
    """A node of which nobody can say that it is idle is left alone, with the reason."""
    node = recorded(tmp_path, errors={"/proc/1/stat": "EACCES"}, paths=("/sys",))
    with pytest.raises(Mistake) as refused:
        asyncio.run(examine(node, SETTINGS, chosen(peers=False, bandwidth=True), {}))

    assert refused.value.what.startswith("no bandwidth is measured now: ")


def test_names_of_the_fabric_cannot_act_on_a_terminal() -> None:
    """A node description is anybody's text: its control characters are shown, not sent."""
    cable = Cable(
        switch="leaf\x1b[2J",
        switch_guid="0x1",
        switch_port=5,
        to="gpu-020",
        to_guid="0x2",
        to_port=1,
        to_switch=False,
        width="4x",
        speed="NDR",
    )

    assert "leaf\\x1b[2J port 5                   4x NDR      gpu-020 port 1" == line(cable)
