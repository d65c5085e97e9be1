"""`ibping`: its statistics line alone, and the reader where the device may not be opened.

The real tool runs in tests/lab/infiniband.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.facts.observation import Cause
from collectors.facts.wanted import Peer, Wanted
from collectors.helpers.children import network
from collectors.helpers.children.loop import Refused
from collectors.network.ibping import OPTIONS, IbPings, collect, parse
from collectors.network.peers import Probe
from tests.recording import recorded

GUID = "0x506b4b0300a1b2c3"
LOST = """
---  (Lid 12) ibping statistics ---
10 packets transmitted, 0 received, 100% packet loss, time 3200 ms
rtt min/avg/max = 0.000/0.000/0.000 ms
"""
WHOLE = """
--- gpu-018.example.(none) (Lid 12) ibping statistics ---
10 packets transmitted, 10 received, 0% packet loss, time 0 ms
rtt min/avg/max = 0.004/90.041/900.349 ms
"""
CLOSED = """ibwarn: [4242] mad_rpc_open_port: can't open UMAD port ((null):0)
ibping: iberror: failed: Failed to open '(null)' port '0'
"""
NO_MODULE = (
    "ibwarn: [4242] get_abi_version: can't read ABI version from "
    "/sys/class/infiniband_mad/abi_version (No such file or directory): "
    "is ib_umad module loaded?\n"
) + CLOSED


def output(stdout: str = "", stderr: str = "", status: int = 0) -> Output:
    return Output(argv=("ibping",), status=status, stdout=stdout, stderr=stderr)


def test_status_0_is_no_answer() -> None:
    """All pings lost is 100 % lost, though the tool leaves with status 0."""
    read = parse("gpu-018", "12", output(LOST, status=0))

    assert (10, 0, 100.0) == (read.sent, read.received, read.lost_percent)


def test_printed_times_are_not_taken() -> None:
    """The tool's times are wrong by factors: none of them is carried on."""
    read = parse("gpu-018", "12", output(WHOLE))

    assert (10, 10, None, None) == (read.sent, read.received, read.rtt_min_ms, read.rtt_avg_ms)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (CLOSED, (Cause.DENIED, "ibping")),
        (NO_MODULE, (Cause.NO_TOOL, None)),
        ("ibping: unrecognised option\n", (Cause.GARBLED, None)),
        ("", (Cause.GARBLED, None)),
    ],
    ids=["closed", "no module", "other", "silent"],
)
def test_why_nothing_was_sent(stderr: str, expected: tuple[Cause, str | None]) -> None:
    """A device that may not be opened, one that is not there, and anything else are told apart."""
    missing = parse("gpu-018", "12", output(stderr=stderr, status=255)).missing

    assert missing is not None
    assert expected == (missing.cause, missing.verb)


def test_a_port_that_the_subnet_manager_does_not_know() -> None:
    """A GUID without a path is an answer about the peer, with the tool's words."""
    stderr = f"ibping: iberror: failed: can't resolve destination port {GUID}\n"

    expected = Probe(peer="gpu-018", target=GUID, said=f"can't resolve destination port {GUID}")
    assert expected == parse("gpu-018", GUID, output(stderr=stderr, status=255))


@given(st.integers(1, 999), st.integers(0, 999))
def test_counts_round_trip(sent: int, received: int) -> None:
    """Counts are read as they were printed, and never more answers than pings."""
    line = f"{sent} packets transmitted, {received} received, 0% packet loss, time 0 ms\n"

    read = parse("gpu-018", "12", output(line))

    assert (sent, min(sent, received)) == (read.sent, read.received)


@given(st.text(), st.text())
def test_any_output_is_read(stdout: str, stderr: str) -> None:
    """No output makes the parser raise, and none without the line counts as an answer."""
    read = parse("gpu-018", "12", output(stdout, stderr))

    assert not read.answered or "packets transmitted" in stdout


def command(option: str, target: str, **said: Any) -> dict[str, Any]:
    return {"argv": ["ibping", *OPTIONS, option, target], **said}


PEERS = Wanted(
    peers=(
        Peer(name="gpu-018", lid=12),
        Peer(name="gpu-019", port_guid=GUID),
        Peer(name="storage", address="192.0.2.90"),
    )
)


def told(tmp_path: Path, **parts: Any) -> list[tuple[str, int, str | None]]:
    """Return of each probe the peer, the answers, and the cause where there is none."""
    seen = asyncio.run(collect(recorded(tmp_path, **parts), PEERS))
    assert isinstance(seen, IbPings)
    return [(p.peer, p.received, p.missing.cause.value if p.missing else None) for p in seen.probes]


def test_the_tool_itself_where_it_may(tmp_path: Path) -> None:
    """Who may open the device runs the tool, by LID or by GUID, and asks no reader."""
    commands = [command("-L", "12", stdout=WHOLE), command("-G", GUID, stdout=LOST)]

    expected = [("gpu-018", 10, None), ("gpu-019", 0, None)]
    assert expected == told(tmp_path, commands=commands)


CLOSED_COMMANDS = [
    command("-L", "12", stderr=CLOSED, status=255),
    command("-G", GUID, stderr=CLOSED, status=255),
]


def test_the_reader_where_the_tool_may_not(tmp_path: Path) -> None:
    """Where the device cannot be opened, the reader is asked once for all such peers."""
    answer = {
        "kind": "ibping",
        "args": {"targets": ["12", GUID]},
        "answer": [
            {"status": 0, "stdout": WHOLE, "stderr": ""},
            {"missing": "timeout", "detail": "ibping did not end in 8 s"},
        ],
    }

    expected = [("gpu-018", 10, None), ("gpu-019", 0, "timeout")]
    assert expected == told(tmp_path, commands=CLOSED_COMMANDS, answers=[answer])


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({"missing": {"cause": "denied", "detail": "no reader"}}, "denied"),
        ({"answer": [{"status": 255, "stdout": "", "stderr": CLOSED}] * 2}, "crashed"),
        ({"answer": [{"status": 0, "stdout": WHOLE}]}, "garbled"),
        ({"answer": "none"}, "garbled"),
    ],
    ids=["no reader", "closed for root too", "too few", "no list"],
)
def test_a_reader_that_does_not_help(tmp_path: Path, answer: dict[str, Any], cause: str) -> None:
    """Each peer is unseen, with the reader's reason."""
    asked = {"kind": "ibping", "args": {"targets": ["12", GUID]}, **answer}

    expected = [("gpu-018", 0, cause), ("gpu-019", 0, cause)]
    assert expected == told(tmp_path, commands=CLOSED_COMMANDS, answers=[asked])


def test_the_verb_that_is_lacking_is_named(tmp_path: Path) -> None:
    """Without a reader the reason names the verb that would have answered."""
    missing = {"cause": "denied", "detail": "no reader answers"}
    asked = {"kind": "ibping", "args": {"targets": ["12", GUID]}, "missing": missing}
    node = recorded(tmp_path, commands=CLOSED_COMMANDS, answers=[asked])

    seen = asyncio.run(collect(node, PEERS))

    assert isinstance(seen, IbPings)
    assert ["ibping", "ibping"] == [p.missing.verb for p in seen.probes if p.missing]


@pytest.mark.parametrize("target", ["", "0", "-S", "12; id", "0x", "123456", "/tmp/x", "1\n"])
def test_the_verb_takes_numbers_alone(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a LID or a GUID reaches the tool's command line."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Refused) as refused:
        network.ibping(["12", target])

    assert refused.value.cause == "garbled"


def test_the_verb_is_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root's rights the verb says so, where the tool would only say that it failed."""
    monkeypatch.setattr(os, "geteuid", lambda: 990)
    with pytest.raises(Refused) as refused:
        network.ibping(["12"])

    assert refused.value.cause == "denied"


def test_the_verb_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More targets than a walk can ping are refused as a whole."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Refused) as refused:
        network.ibping(["12"] * 65)

    assert refused.value.cause == "held_back"
