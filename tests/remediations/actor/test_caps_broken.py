"""Caps where something goes wrong: killed, hung, refused, gone, reset, another boot."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediations.actor import capping, caps, turns
from remediations.policy import parse
from tests.remediations.actor.capped import GPU, OTHER, STANDING, Node, simulated


@pytest.fixture(name="node")
def _node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Simulate a node."""
    with simulated(tmp_path, monkeypatch) as made:
        yield made


def test_after_a_reset_under_a_standing_limit(node: Node) -> None:
    """The reset puts the site's limit back first, and then our cap."""
    node.policy = parse(STANDING)
    node.another_sets(600)
    node.cap(540)
    node.another_sets(600)
    done = caps.put_back(node.state)

    assert ({GPU: "set to 540000 mW again"}, 540) == (done, node.watts())


def test_a_driver_that_was_loaded_anew(node: Node) -> None:
    """A limit that went with the driver is gone already, and nothing is set for it."""
    node.cap(630)
    node.another_sets(700)
    node.tick(901.0)

    assert ("gone already: 700000 mW, as before it", []) == (
        node.public()["ended"][-1]["how"],
        node.names(),
    )


def test_another_boot(node: Node) -> None:
    """What another boot began has run out, whatever its clock said."""
    node.cap(630)
    node.boot, node.up_s = "b2", 10.0
    node.tick()

    assert (700, []) == (node.watts(), node.names())


class Killed(BaseException):
    """The actor is killed here."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("first", [True, False])
def test_killed_while_it_sets(
    node: Node, monkeypatch: pytest.MonkeyPatch, *, first: bool, after: bool
) -> None:
    """Killed just before or after a limit is set, the next actor knows it as ours, and lifts it."""
    if not first:
        node.cap(630)
        node.up_s += 300.0
    real = pynvml.nvmlDeviceSetPowerManagementLimit

    def kill(*args: Any) -> None:
        if after:
            real(*args)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(pynvml, "nvmlDeviceSetPowerManagementLimit", kill)
        with pytest.raises(Killed):
            node.cap(630 if first else 560)
    node.tick(901.0)

    how = (
        "gone already: 700000 mW, as before it" if first and not after else "restored to 700000 mW"
    )
    assert (700, how, []) == (node.watts(), node.public()["ended"][-1]["how"], node.names())


@pytest.mark.parametrize("at", range(3))
def test_killed_while_it_lifts(node: Node, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Killed before, while or after it puts back what was, the next actor ends it once."""
    node.cap(630)
    real_set, real_end = pynvml.nvmlDeviceSetPowerManagementLimit, capping.end

    def setting(*args: Any) -> None:
        if at == 1:
            real_set(*args)
        if at < 2:
            os.kill(os.getpid(), signal.SIGKILL)
        real_set(*args)

    def ending(*args: Any) -> str:
        if at == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return real_end(*args)

    with monkeypatch.context() as patched:
        patched.setattr(pynvml, "nvmlDeviceSetPowerManagementLimit", setting)
        patched.setattr(capping, "end", ending)
        node.tick(901.0)
    node.tick(1.0)

    assert (700, [], 1) == (node.watts(), node.names(), len(node.public()["ended"]))


def test_a_driver_that_refuses(node: Node) -> None:
    """A limit that the driver does not take leaves nothing behind, and says NVML's code."""
    node.start(**{"call.nvmlDeviceSetPowerManagementLimit.returns": 4})
    said = node.refused(630)
    node.tick(1.0)

    expected = "not true that GPU 0001:10:00.0 takes a limit of 630000 mW: NVML error 4"
    assert (expected, 700, []) == (said, node.watts(), node.names())


def test_a_driver_that_does_not_lift(node: Node) -> None:
    """What cannot be lifted is tried again until it can."""
    node.cap(630)
    node.start(**{"call.nvmlDeviceSetPowerManagementLimit.returns": 4})
    node.tick(901.0)
    still = node.names()
    node.start()
    node.tick(30.0)
    early = node.watts()
    node.tick(31.0)

    assert ([GPU], 630, 700, []) == (still, early, node.watts(), node.names())


SET = "call.nvmlDeviceSetPowerManagementLimit.blocks_s"


def hang(node: Node) -> int:
    """Begin a step of the first GPU that hangs in its driver, in a process of its own."""
    before = {line["subject"] for line in node.journal()}
    if (pid := os.fork()) == 0:
        try:
            node.start(**{SET: -1.0})
            node.cap(630)
        finally:
            os._exit(1)
    while {line["subject"] for line in node.journal()} == before:
        time.sleep(0.01)
    return pid


@pytest.fixture(name="hung")
def _hung(node: Node, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Let a step of the first GPU hang, and nobody be patient with it."""
    monkeypatch.setattr(turns, "WAIT_S", 0.3)
    monkeypatch.setattr(caps, "GPU_S", 2.0)
    pid = hang(node)
    yield node
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_step_that_hangs_holds_up_its_own_gpu_alone(hung: Node) -> None:
    """Another GPU is capped, renewed and lifted meanwhile; the same one is refused in a line."""
    capped = hung.cap(630, OTHER)
    renewed = caps.renew_caps(hung.kept)
    said = hung.refused(560)
    hung.tick(901.0)

    assert (630_000, {"renewed": [GPU, OTHER]}) == (capped["limit"], renewed)
    assert f"another change of the limit of {GPU} does not end" == said
    assert ([GPU], 700) == (hung.names(), hung.watts(1))


def test_a_step_that_hung_is_lifted_when_it_has_ended(node: Node) -> None:
    """Killed in it, what it was about to set is known, and ends as any other cap."""
    pid = hang(node)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    node.tick(901.0)

    assert ("gone already: 700000 mW, as before it", []) == (
        node.public()["ended"][-1]["how"],
        node.names(),
    )


def test_a_lift_that_hangs_ends(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that hangs while one cap is lifted holds up no other, and is asked again."""
    monkeypatch.setattr(caps, "GPU_S", 1.0)
    node.cap(630)
    node.cap(630, OTHER)
    node.start(**{SET: -1.0})
    ended = caps.lift(node.state, None, "a test")
    still = node.names()
    node.start()
    node.tick(901.0)

    assert ("not lifted, to be tried again: the driver gave no answer in 1 s", [GPU]) == (
        ended[GPU],
        still,
    )
    assert (700, 700, []) == (node.watts(), node.watts(1), node.names())


@given(st.lists(st.integers(0, (1 << 29) - 1), min_size=2, max_size=2, unique=True))
def test_each_has_a_place_of_its_own(numbers: list[int]) -> None:
    """No two GPUs share a lock, nor one with the BMC."""
    names = [f"{n >> 13:04x}:{n >> 5 & 0xFF:02x}:{n & 31:02x}.0" for n in numbers]
    places = [turns.place(name) for name in (*names, "dcmi", "redfish")]

    assert (3, places[-1]) == (len({*places}), places[-2])


def test_a_gpu_that_is_gone(node: Node) -> None:
    """A GPU off the bus took its limit with it: the cap ends."""
    node.cap(630)
    node.start(lost=1)
    node.tick(901.0)

    ended = node.public()["ended"][-1]["how"]
    assert ("gone: GPU 0001:10:00.0 is not there any more, by error 15", []) == (
        ended,
        node.names(),
    )


def test_after_a_reset(node: Node) -> None:
    """A cap that a reset of its GPU took away is put back, with what is left of its lease."""
    node.cap(630)
    node.another_sets(700)
    done = caps.put_back(node.state)

    assert ({GPU: "set to 630000 mW again"}, 630, [GPU]) == (done, node.watts(), node.names())
