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
        (["t.log", "t.log.1", "t.log.2.gz"], [["t.log.2.gz", "t.log.1", "t.log"]]),
        (["t.log", "t.log.10.gz", "t.log.9.gz"], [["t.log.10.gz", "t.log.9.gz", "t.log"]]),
        (
            ["t.log", "t.log-20261129", "t.log-20261128.zst"],
            [["t.log-20261128.zst", "t.log-20261129", "t.log"]],
        ),
        (["b.log", "a.log", "b.log.1", "b.log"], [["b.log.1", "b.log"], ["a.log"]]),
        (["-", "rank.3.log"], [["-"], ["rank.3.log"]]),
    ],
)
def test_order(files: list[str], expected: list[list[str]]) -> None:
    """The highest number and the earliest day are the oldest; other logs keep their order."""
    assert expected == ordered(files)


def steps(first: int, last: int, ms: float, sync: float = 100.0) -> str:
    """Return iterations that take about *ms*, as Megatron prints them."""
    return "".join(
        f" iteration {step:6}/ 5000 | elapsed time per iteration (ms): {ms + step % 7:.1f} | "
        f"global batch size: 512 | lm loss: 2.31E+00 | number of skipped iterations: 0 |\n"
        f"    all-grads-sync ................: {sync:.2f}\n"
        for step in range(first, last)
    )


def test_numbers_go_on_over_rotated_files(tmp_path: Path) -> None:
    """A rise is found though each file alone is even; it is quoted by file and line."""
    (tmp_path / "train.log.1").write_text(steps(1, 101, 3000.0)[:-1])
    (tmp_path / "train.log").write_text(steps(101, 201, 3300.0))
    document = json.loads(diagnose([str(p) for p in sorted(tmp_path.iterdir())]).encode())
    (finding,) = [f for f in document["findings"] if f["fault"] == "slow_step"]
    (quote, *_) = finding["evidence"]
    assert ("train.log", 1, 1) == (
        Path(quote["source"]).name,
        quote["line"],
        len(document["jobs"]),
    )
    assert "since step 101" in finding["message"]


def test_a_line_without_a_step_is_named_with_its_file(tmp_path: Path) -> None:
    """Line 30 of the whole is line 10 of the second file, in the sentence too."""
    losses = [f"loss: {2 + n % 3 / 100:.3f}\n" for n in range(40)]
    (tmp_path / "a.log.1").write_text("".join(losses[:20]))
    (tmp_path / "a.log").write_text("".join([*losses[20:29], "loss: nan\n", *losses[30:]]))
    document = json.loads(diagnose([str(p) for p in sorted(tmp_path.iterdir())]).encode())
    (finding,) = document["findings"]
    log = tmp_path / "a.log"
    assert (str(log), 10) == (finding["evidence"][0]["source"], finding["evidence"][0]["line"])
    assert f"is finite again in line 20 of {log}" in finding["message"]


def test_one_of_the_rotated_files_cannot_be_read(tmp_path: Path) -> None:
    """The others are read as one log, and the missing one is named."""
    (tmp_path / "t.log.1").mkdir()
    (tmp_path / "t.log").write_text(steps(1, 50, 3000.0))
    document = json.loads(diagnose([str(tmp_path / "t.log"), str(tmp_path / "t.log.1")]).encode())
    assert {str(tmp_path / "t.log.1")} == {f["subject"]["name"] for f in document["findings"]}


def test_a_chained_job_is_compared_with_the_one_before(tmp_path: Path) -> None:
    """The second log goes on at a checkpoint, 10 % slower throughout: a lasting loss."""
    (tmp_path / "train-101.out").write_text(steps(1, 201, 3000.0))
    (tmp_path / "train-102.out").write_text(steps(191, 401, 3300.0))
    document = json.loads(diagnose([str(p) for p in sorted(tmp_path.iterdir())]).encode())
    told = [(f["fault"], Path(f["subject"]["name"]).name) for f in document["findings"]]
    assert [("slow_step", "train-102.out")] == told


@pytest.mark.parametrize(("slow", "expected"), [(700.0, []), (100.0, [2])])
def test_a_slow_rank_is_found_over_files(slow: float, expected: list[int], tmp_path: Path) -> None:
    """All steps are equally long; rank 2 waits for none, for it works 20 % longer."""
    for rank in range(4):
        sync = slow if rank == 2 else 700.0
        (tmp_path / f"rank{rank}.log").write_text(steps(1, 40, 3000.0, sync))
    document = json.loads(diagnose([str(p) for p in sorted(tmp_path.iterdir())]).encode())
    told = [f["subject"]["rank"] for f in document["findings"] if f["fault"] == "straggler_rank"]
    assert expected == told


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
