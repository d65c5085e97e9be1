"""A rank whose loss alone is no number is named, also in a log of which most lines are not read."""

import random
from pathlib import Path

from agent.cli.log_files import diagnose


def test_the_rank_is_named_where_its_neighbours_are_thinned(tmp_path: Path) -> None:
    """8 ranks print 30,000 steps; one goes NaN long before the 20,000 lines that are read whole."""
    draw = random.Random(3)  # noqa: S311 - text, no secret
    log = tmp_path / "run.log"
    with log.open("w") as file:
        for step in range(30_000):
            for rank in range(8):
                loss = "nan" if rank == 3 and step >= 20_000 else f"{1.9 + draw.random():.4f}"
                file.write(f"[rank{rank}]: step: {step} loss: {loss} grad_norm: 0.4{step % 9}\n")
    said = [finding for finding in diagnose([str(log)]).findings if finding["fault"] == "nan_loss"]

    expected = "rank 3 alone is not finite in step 20000, where 7 others are finite"
    assert [True] == [expected in str(finding) for finding in said]
