"""Files of one job: rotated ones come first, and a fault of several files is told once."""

import gzip
import json
from pathlib import Path

import pytest

from agent.cli.log_files import diagnose
from agent.cli.log_order import ordered

TIMEOUT = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={at}, "
    "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600068 milliseconds before timing out.\n"
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["t.log", "t.log.1", "t.log.2.gz"], ["t.log.2.gz", "t.log.1", "t.log"]),
        (["t.log", "t.log.10.gz", "t.log.9.gz"], ["t.log.10.gz", "t.log.9.gz", "t.log"]),
        (
            ["t.log", "t.log-20261129", "t.log-20261128.zst"],
            ["t.log-20261128.zst", "t.log-20261129", "t.log"],
        ),
        (["b.log", "a.log", "b.log.1", "b.log"], ["b.log.1", "b.log", "a.log"]),
        (["-", "rank.3.log"], ["-", "rank.3.log"]),
    ],
)
def test_order(files: list[str], expected: list[str]) -> None:
    """The highest number and the earliest day are the oldest; other logs keep their order."""
    assert expected == ordered(files)


def test_files_of_ranks_are_one_job(tmp_path: Path) -> None:
    """A fault of three ranks is one finding that quotes each file and names who is behind."""
    for rank, at in ((0, 88), (1, 88), (2, 87)):
        (tmp_path / f"rank{rank}.err").write_text("start\n" + TIMEOUT.format(rank=rank, at=at))
    document = json.loads(diagnose([str(p) for p in sorted(tmp_path.iterdir())]).encode())
    (finding,) = document["findings"]
    quoted = [Path(evidence["source"]).name for evidence in finding["evidence"]]

    assert ([0, 1, 2], ["rank0.err", "rank1.err", "rank2.err"]) == (
        finding["subject"]["ranks"],
        quoted,
    )
    assert "rank 2 is at operation 87 where others are at 88" in finding["message"]


def test_the_cause_stands_in_another_file(tmp_path: Path) -> None:
    """One rank's own file says that it ran out of memory, by its name alone; others waited."""
    (tmp_path / "rank3.err").write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    with gzip.open(tmp_path / "rank0.err.1.gz", "wt") as file:
        file.write(TIMEOUT.format(rank=0, at=88))
    document = json.loads(diagnose([str(p) for p in sorted(tmp_path.iterdir())]).encode())
    by_id = {finding["id"]: finding for finding in document["findings"]}
    roots = [(by_id[i]["fault"], by_id[i]["subject"].get("rank")) for i in document["root_causes"]]

    assert [("cuda_oom", 3)] == roots
