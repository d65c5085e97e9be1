"""A scenario of GPUs in a recording: asked by the recording's clock, after what was recorded."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.node.recorded import Recorded, RecordingError
from tests.recording import write

LATER = "[[step]]\nat_s = 5\n[step.gpu.1]\nlost = true\n"


def scenario(folder: Path, text: str, **parts: Any) -> Recorded:
    """Return a recording with a scenario."""
    write(folder, **parts)
    (folder / "nvml.toml").write_text(text)
    return Recorded(folder)


def errors(answer: Any) -> list[int | None]:
    """Return each GPU's error."""
    return [gpu.get("error") for gpu in answer["gpus"]]


def run(node: Recorded, *steps: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Take the steps in order and end the helper; the recording is opened before a loop runs."""

    async def all_of_them() -> list[Any]:
        try:
            return [await step() for step in steps]
        finally:
            await node.close()

    return asyncio.run(all_of_them())


def test_steps_come_by_the_time_of_the_recording(tmp_path: Path) -> None:
    """Sleeping lets its time pass at once; what the helper takes does not count."""
    node = scenario(tmp_path, 'model = "l40s"\ncount = 2\n' + LATER)
    before, _, after = run(
        node,
        lambda: node.ask("nvml"),
        lambda: node.sleep(5.5),
        lambda: node.ask("nvml_health", brief=True),
    )

    assert ([None, None], [None, 15], 5.5) == (errors(before), errors(after), node.monotonic())


def test_branches_have_their_own_time(tmp_path: Path) -> None:
    """A question on one branch is answered as of its time while another one is ahead."""
    node = scenario(tmp_path, 'model = "l40s"\ncount = 2\n' + LATER)
    ahead, behind = node.branch(), node.branch()
    _, answers = run(
        node,
        lambda: ahead.sleep(6.0),
        lambda: asyncio.gather(ahead.ask("nvml"), behind.ask("nvml"), ahead.ask("nvml")),
    )

    assert [[None, 15], [None, None], [None, 15]] == [errors(answer) for answer in answers]


def test_what_was_recorded_goes_before_the_scenario(tmp_path: Path) -> None:
    """A kind that has one recorded answer is answered from the recording alone."""
    kept = [{"kind": "nvml", "answer": {"count": 0, "gpus": []}}]
    node = scenario(tmp_path, 'model = "l40s"\n', answers=kept)
    held, other, health = run(
        node,
        lambda: node.ask("nvml"),
        lambda: node.ask("nvml", only=["0000:01:00.0"]),
        lambda: node.ask("nvml_health"),
    )

    assert isinstance(other, Missing)
    assert (0, Cause.NOT_RECORDED, "NVIDIA L40S") == (
        held["count"],
        other.cause,
        health["gpus"][0]["name"],
    )


def test_a_scenario_makes_no_recording_simulated(tmp_path: Path) -> None:
    """Only meta.toml says so: the rest of the node can be a real one's."""
    node = scenario(tmp_path, 'model = "l40s"\n')
    (identity,) = run(node, node.identity)

    assert not identity.simulated


def test_a_scenario_that_is_none_is_told_with_file_and_key(tmp_path: Path) -> None:
    """A key that is misspelt ends the opening, and would otherwise do nothing."""
    with pytest.raises(RecordingError) as raised:
        scenario(tmp_path, 'model = "l40s"\n[gpu.0]\nlosst = true\n')
    message = str(raised.value)

    assert message.startswith(f"{tmp_path}/nvml.toml: ")
    assert "losst" in message
