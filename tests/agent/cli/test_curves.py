"""`gpudiag logs --plot` and `--html FILE`: beside the diagnosis, with the same exit status."""

import json
from pathlib import Path

import pytest

from tests.agent.cli.test_logs import logs

RUN = "".join(
    f" iteration {n}/ 900 | elapsed time per iteration (ms): 31{n % 7}.0 | lm loss: {9 - n} |\n"
    for n in range(1, 60)
)
BAD = RUN + " iteration 60/ 900 | elapsed time per iteration (ms): 310.0 | lm loss: NAN |\n"


def test_curves_stand_below_the_diagnosis(tmp_path: Path) -> None:
    """The diagnosis as it is without --plot, then the curves; in a pipe no escapes."""
    log = tmp_path / "train.log"
    log.write_text(BAD)
    without, drawn = logs(str(log)), logs(str(log), "--plot", "--ascii")
    said = drawn.stdout.decode("ascii")

    assert (2, 2) == (without.returncode, drawn.returncode)
    assert said.index("What to do") < said.index("Curves of") < said.index("nan_loss ^")
    assert "\x1b" not in said


def test_the_page_is_written_beside_the_output(tmp_path: Path) -> None:
    """Standard output stays what was asked for, and the page holds curves and evidence."""
    log, page = tmp_path / "train.log", tmp_path / "run.html"
    log.write_text(BAD)
    ran = logs(str(log), "--json", "--html", str(page))
    told = json.loads(ran.stdout)

    assert (2, "fault") == (ran.returncode, told["verdict"])
    assert page.read_text().count("<figure>") == len(told["jobs"][0]["series"])


@pytest.mark.parametrize("place", ["none/run.html", ""])
def test_a_page_that_cannot_be_written_is_one_clear_line(place: str, tmp_path: Path) -> None:
    """No folder there, or a folder itself: status 64 and what to do, and nothing is left behind."""
    log = tmp_path / "train.log"
    log.write_text(RUN)
    ran = logs(str(log), "--html", str(tmp_path / place))

    assert 64 == ran.returncode
    assert ran.stderr.decode().startswith("error: cannot write ")
    assert [log] == list(tmp_path.iterdir())


def test_the_curves_of_the_document(tmp_path: Path) -> None:
    """Each series has as many steps as values, and the document says how it was thinned."""
    log = tmp_path / "train.log"
    log.write_text(RUN)
    (run,) = json.loads(logs(str(log), "--json").stdout)["jobs"]
    loss = run["series"]["loss"]

    assert (59, 59, 1) == (len(loss["step"]), len(loss["value"]), loss["every"])
    assert ("megatron-lm", 59, []) == (run["framework"], run["last_step"], run["marks"])
