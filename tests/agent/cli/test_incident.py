"""One incident: its story, the text of its ticket, and the archive for whoever repairs the node."""

import asyncio
import json
import sys
import tarfile
from pathlib import Path

import pytest

from agent.cli import evidence, explain
from agent.cli.errors import Mistake
from agent.daemon.endpoint import Endpoint, bind
from tests.agent.daemon.documents import document, finding, incident, walked
from tests.agent.daemon.fake import Fake
from tests.nodes.replay import NODES

LOST = str(NODES / "h100-gpu-lost")


def run(command: object, *argv: str) -> int:
    status: int = command.main(list(argv), standalone_mode=False)  # type: ignore[attr-defined] # a click command
    return status


def test_an_incident_is_told_with_cause_steps_and_ticket(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`explain i1` tells sentence, evidence, what was ruled out, what to do, and the ticket."""
    run(explain.command, "i1", "--replay", LOST)
    told = capsys.readouterr().out
    wanted = (
        "rank 11 of job 88123 stopped there",
        "63 ranks waited 600 s",
        "ruled out",
        "would change this",
        "sbatch --exclude=gpu-017 SCRIPT",
        "Text for a ticket",
        "serial: 1652922011803",
    )
    flat = " ".join(told.split())

    assert [] == [text for text in wanted if text not in flat]


def test_a_fingerprint_names_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    """The name that outlives a walk gives the same page as the id of this one."""
    run(explain.command, "i1", "--replay", LOST)
    by_id = capsys.readouterr().out
    run(explain.command, by_id.split()[1].strip(","), "--replay", LOST)

    assert by_id == capsys.readouterr().out


def test_what_is_no_incident_of_it_is_a_mistake() -> None:
    """The answer names those that there are."""
    with pytest.raises(Mistake) as told:
        run(explain.command, "i7", "--replay", LOST)

    assert (True, "there is i1 (fd95c9490f998e3f)") == (
        told.value.what.endswith("has no incident i7"),
        told.value.hint,
    )


def test_without_an_agent_a_fingerprint_says_what_to_do(tmp_path: Path) -> None:
    """No agent is one clear line, with the other way to look."""
    with pytest.raises(Mistake) as told:
        run(explain.command, "fd95c9490f998e3f", "--socket", str(tmp_path / "none.sock"))

    assert (True, True) == ("no agent runs" in told.value.what, "--replay DIR" in told.value.hint)


async def explained(name: str, path: Path, endpoint: Endpoint) -> tuple[int | None, str]:
    """Return what `explain` says while this endpoint answers."""
    task = asyncio.ensure_future(endpoint.run())
    asked = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).with_name("gpudiag")), "explain", name, "--socket", str(path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told = (await asked.communicate())[0].decode()
    task.cancel()
    await asyncio.wait([task])
    return asked.returncode, told


def test_what_is_over_is_told_by_the_agent(tmp_path: Path) -> None:
    """A fingerprint that the last walk no longer has is asked of the agent's memory."""
    name = "91e8a2c4d5f60718"
    over = document(finding(1), incidents=(incident("f1", name, state="resolved"),))
    path = tmp_path / "agent.sock"
    with bind(path) as listening:
        endpoint = Endpoint(Fake(walked(), stories={name: over}), listening, None)
        status, told = asyncio.run(explained(name, path, endpoint))

    assert (0, True, True) == (status, f"{name}, resolved" in told, "Message of f1." in told)


def test_the_archive_holds_the_machine_and_nothing_of_the_job(tmp_path: Path) -> None:
    """Serials, ECC, SEL and kernel log are in it, for its owner alone; no line of the job's log."""
    target = tmp_path / "rma.tar.gz"
    run(evidence.command, "i1", "--replay", LOST, "--output", str(target))
    with tarfile.open(target) as archive:
        files = {
            member.name.partition("/")[2]: (member.mode, archive.extractfile(member))
            for member in archive.getmembers()
        }
        texts = {name: file.read().decode() for name, (_, file) in files.items() if file}
    job = (NODES / "h100-gpu-lost" / "logs").glob("*.log")
    lines = {line for log in job for line in log.read_text().splitlines() if len(line) > 40}
    told = json.loads(texts["incident.json"])

    assert (
        0o600,
        {0o600},
        {"BmcEvents.json", "Bios.json", "GpuHealth.json", "GpuSnapshot.json", "kernel.log"},
        "fd95c9490f998e3f",
        [],
    ) == (
        target.stat().st_mode & 0o777,
        {mode for mode, _ in files.values()},
        {"BmcEvents.json", "Bios.json", "GpuHealth.json", "GpuSnapshot.json", "kernel.log"}
        & texts.keys(),
        told["incident"]["fingerprint"],
        [line for line in lines if any(line in text for text in texts.values())],
    )


def test_a_file_that_exists_is_not_written_over(tmp_path: Path) -> None:
    """A name that is taken, or a link that somebody laid there, is a mistake."""
    target = tmp_path / "kept.tar.gz"
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Mistake) as told:
        run(evidence.command, "i1", "--replay", LOST, "--output", str(target))

    assert (f"{target} exists", False) == (told.value.what, (tmp_path / "elsewhere").exists())
