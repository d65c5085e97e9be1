"""Raw evidence on the node: whole, for its owner alone, kept for 14 days and no longer."""

import datetime as dt
import json
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.daemon import evidence
from agent.daemon.evidence import Evidence
from diagnostics.document import CheckLine
from tests.agent.daemon.documents import document, finding

LINE = "RuntimeError: login as zoe@lab-7.example failed"


def told(folder: Path) -> list[dict[str, Any]]:
    """Return what is kept, oldest first."""
    lines = [p.read_text().splitlines() for p in sorted((folder / "evidence").glob("*"))]
    return [json.loads(line) for day in lines for line in day]


def raw(number: int = 1, **changed: Any) -> dict[str, Any]:
    """Return a finding that rests on a job's own line."""
    return finding(number) | {"evidence": [{"source": "train.log", "text": LINE}]} | changed


def test_the_line_is_whole(tmp_path: Path) -> None:
    """What a report masks stands here as it stood in its source."""
    one = Evidence(tmp_path)
    one.walked(document(raw()))
    done = one.close(10)
    (kept,) = told(tmp_path)
    assert (True, "2026-11-30T02:11:09.120Z", LINE) == (
        done,
        kept["time"],
        kept["evidence"][0]["text"],
    )


def test_it_is_the_owner_s(tmp_path: Path) -> None:
    """Folder and file are closed to everybody else."""
    one = Evidence(tmp_path)
    one.walked(document(raw()))
    one.close(10)
    folder = tmp_path / "evidence"
    paths = (folder, folder / "2026-11-30.jsonl")
    assert [0o700, 0o600] == [stat.S_IMODE(path.stat().st_mode) for path in paths]


def test_the_same_is_kept_once(tmp_path: Path) -> None:
    """A finding that stays is not written with each walk; one that changed is written again."""
    one = Evidence(tmp_path)
    for seen in (raw(), raw(), raw(severity="warning"), raw(severity="warning")):
        one.walked(document(seen))
    one.close(10)
    assert ["critical", "warning"] == [kept["severity"] for kept in told(tmp_path)]


@pytest.mark.parametrize("seen", [raw(severity="info"), raw(evidence=[])])
def test_what_nobody_asks_for_is_not_kept(tmp_path: Path, seen: dict[str, Any]) -> None:
    """Notes, and what rests on no source, leave no file; nor does a node that is well."""
    one = Evidence(tmp_path)
    one.walked(document())
    one.walked(document(seen))
    assert (True, False) == (one.close(10), (tmp_path / "evidence").exists())


def test_fourteen_days(tmp_path: Path) -> None:
    """The day that is 14 days old is there, the one before is not; other files are not touched."""
    tmp_path.joinpath("notes").write_text("mine")
    first = dt.date(2026, 11, 1)
    for number in range(20):
        evidence.keep(tmp_path, first + dt.timedelta(days=number), b"{}\n")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert (16, "2026-11-06.jsonl", "notes") == (len(names), names[0], names[-1])


def test_a_wrong_clock(tmp_path: Path) -> None:
    """Days from a clock that ran ahead do not pile up, and do not end the days of now."""
    evidence.keep(tmp_path, dt.date(2026, 11, 30), b"now\n")
    for year in range(2030, 2050):
        evidence.keep(tmp_path, dt.date(year, 1, 1), b"ahead\n")
    evidence.keep(tmp_path, dt.date(2026, 12, 1), b"now\n")
    assert evidence.DAYS + 1 >= len(list(tmp_path.iterdir()))


def test_a_full_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is over a day's bytes is not kept, counted and said; the next day is kept again."""
    one = Evidence(tmp_path)
    one.walked(document(raw()))
    one.close(10)
    written = (tmp_path / "evidence" / "2026-11-30.jsonl").stat().st_size
    monkeypatch.setattr(evidence, "DAY_BYTES", 2 * written)
    one = Evidence(tmp_path)
    one.walked(document(raw(2), raw(3, fault="gpu_hot")))
    one.close(10)
    lost, problem = one.lost, one.problem
    two = Evidence(tmp_path)
    two.walked(document(raw(), started="2026-12-01T00:00:00.000Z"))
    two.close(10)
    assert (2, True, None, 2) == (
        lost,
        problem is not None and problem.endswith("a day may have 0 MiB"),
        two.problem,
        len(told(tmp_path)),
    )


def test_a_disk_that_cannot_be_written(tmp_path: Path) -> None:
    """Where the folder cannot be made, the watch goes on and the reason is said."""
    (tmp_path / "evidence").write_text("in the way")
    one = Evidence(tmp_path)
    one.walked(document(raw()))
    one.close(10)
    assert (1, f"evidence is not kept: {tmp_path}/evidence: File exists") == (one.lost, one.problem)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link that lies where the day's file would be is not written through."""
    aim = tmp_path / "aim"
    aim.write_text("")
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "2026-11-30.jsonl").symlink_to(aim)
    one = Evidence(tmp_path)
    one.walked(document(raw()))
    one.close(10)
    assert (1, "") == (one.lost, aim.read_text())


def test_what_comes_again_is_kept_again(tmp_path: Path) -> None:
    """A finding that went while its check was blind is over once the check sees well again."""
    one = Evidence(tmp_path)
    blind = CheckLine(check=finding(1)["check"], verdict="unknown", message="denied")
    well = CheckLine(check=finding(1)["check"], verdict="ok", message="all well")
    for line in (None, blind, well, None):
        seen = document(raw()) if line is None else document()
        stages = tuple(
            msgspec.structs.replace(stage, checks=(line,)) if line else stage
            for stage in seen.stages
        )
        one.walked(msgspec.structs.replace(seen, stages=stages))
    one.close(10)
    assert 2 == len(told(tmp_path))
