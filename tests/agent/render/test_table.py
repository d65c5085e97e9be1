"""What a person sees: the whole page against golden texts, and hostile text made harmless."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.render.lines import HOSTILE, cells, coloured, plain, shown, wrap
from agent.render.table import draw
from agent.walk.report import build
from agent.walk.walked import Walked
from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.node.protocol import Identity
from diagnostics.check import Result, not_run
from diagnostics.document import Document
from diagnostics.finding import Evidence, Finding, Stage, Unseen, Verdict, found

GOLDEN = Path(__file__).parent / "golden"
NODE = Identity(node="gpu-017", boot_id="5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11", kernel="6.8.0-45")
STARTED = 1796004669.12
GPU = Subject(kind="gpu", name="0000:4e:00.0", index=3)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden texts are written in UTC."""
    monkeypatch.setenv("TZ", "UTC")


def lost() -> Finding:
    return found(
        "gpu_lost",
        "critical",
        GPU,
        "the driver answers GPU is lost for GPU {gpu}",
        Evidence(
            source="kmsg", line=1042, time=STARTED - 660.5, text="NVRM: \x1b[31mGPU lost\u202e"
        ),
        Evidence(source="nvml", values={"code": 15, "calls": None, "gpus that answer": 7}),
        kind="event",
        first_seen=STARTED - 660.5,
        gpu=3,
        confidence=0.98,
    )


def blocked() -> Finding:
    return found(
        "task_blocked_d_state",
        "warning",
        Subject(kind="process", name="218734", pid=218734, job="88123"),
        "python (pid {pid}) has been in state D for {minutes} min in os_acquire_rwlock_read",
        Evidence(source="/proc/218734/stat", text="218734 (python) D 218001 ..."),
        pid=218734,
        minutes=10,
        count=212,
    )


def sick() -> Document:
    denied = Missing(
        what="kernel_log", cause=Cause.DENIED, detail="only root sees this", verb="kernel_log"
    )
    held = Missing(
        what="PingAnswers",
        cause=Cause.HELD_BACK,
        detail="no probe is sent from a node with gpu_lost",
    )
    return build(
        (
            _stage("processes", _owned(blocked(), "processes.blocked", "processes")),
            _stage(
                "driver",
                _owned(lost(), "driver.answers", "driver"),
                _ok("driver.modules", "driver", "driver 580.105.08, module and library agree"),
            ),
            _stage("network", _unseen("network.ping", "network", held)),
            _stage("training", _unseen("training.symptoms", "training", denied)),
        ),
        NODE,
        started=STARTED,
        seconds=2.41,
        strict=False,
    )


def well() -> Document:
    return build(
        (
            _stage(
                "processes", _ok("processes.orphaned", "processes", "no GPU process without a job")
            ),
            _stage("driver", _ok("driver.modules", "driver", "8 GPUs, driver 580.105.08")),
        ),
        NODE,
        started=STARTED,
        seconds=2.1,
        strict=False,
    )


def _stage(stage: Stage, *results: Result) -> Walked:
    return Walked(stage=stage, results=results, seconds=0.31)


def _owned(finding: Finding, check: str, stage: Stage) -> Result:
    owned = msgspec.structs.replace(finding, check=check, stage=stage, proved="recorded")
    verdict: Verdict = "fault" if finding.severity == "critical" else "warning"
    return Result(
        check=check, stage=stage, verdict=verdict, message=owned.message, findings=(owned,)
    )


def _ok(check: str, stage: Stage, message: str) -> Result:
    return Result(check=check, stage=stage, verdict="ok", message=message)


def _unseen(check: str, stage: Stage, missing: Missing) -> Result:
    finding = not_run(check, Unseen(missing=missing))
    return Result(
        check=check,
        stage=stage,
        verdict="unknown",
        message=missing.why(),
        findings=(msgspec.structs.replace(finding, check=check, stage=stage),),
        missing=(missing,),
    )


@pytest.mark.parametrize(
    ("name", "document", "width", "ascii_only"),
    [
        ("sick-100", sick, 100, False),
        ("sick-64-ascii", sick, 64, True),
        ("well-100", well, 100, False),
    ],
)
def test_page(
    name: str,
    document: Callable[[], Document],
    width: int,
    ascii_only: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    """The page is the golden text, letter for letter; GPUDIAG_BLESS=1 rewrites it for review."""
    told = plain(draw(document(), width=width, ascii_only=ascii_only, everything=False))
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GPUDIAG_BLESS"):
        path.write_text(told)

    assert path.read_text() == told


def test_colour_adds_nothing_but_colour() -> None:
    """Without its escapes the coloured page is the plain one."""
    lines = draw(sick(), width=100, ascii_only=False, everything=True)

    assert plain(lines) == re.sub(r"\x1b\[[0-9;]*m", "", coloured(lines))


@given(st.text())
def test_no_foreign_text_reaches_the_terminal_raw(text: str) -> None:
    """Whatever a log says: nothing of it can move a cursor, turn text round or break a line."""
    assert not HOSTILE.search(shown(text))


WORDS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Mn", "Me", "Cf"])


@given(st.text(alphabet=WORDS), st.integers(8, 120))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    """Wrapped lines hold every character in its order, and none is wider than asked."""
    lines = wrap(text, width)

    assert "".join(text.split(" ")) == "".join("".join(lines).split(" "))
    assert all(cells(line) <= width for line in lines)
