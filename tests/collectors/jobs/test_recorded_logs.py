"""What a job writes is in a recording only as a log, with what holds for logs."""

from typing import Any

from collectors.jobs.job_logs import JobLog, Piece, piece
from collectors.node.recorder import Recorder
from tests.agent.daemon.virtual import Still

TEXT = "step: 1 loss: 2.5\n"


class Writing(Still):
    """A node with one log of a job."""

    def now(self) -> float:
        return 1_790_000_000.0

    def monotonic(self) -> float:
        return 1.0

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del kind, deadline_s, args
        return {"path": "/r/out.log", "text": TEXT, "start": 0, "next": 18, "size": 18}


async def test_the_text_of_a_job_is_no_answer_of_a_recording() -> None:
    """Answers are kept of every recording, logs only with --with-logs and masked."""
    recorder = Recorder(Writing())
    log = JobLog(
        pid=7, stream=1, path="/r/out.log", device=1, inode=2, size=18, time=1.0, job="90417"
    )
    part = await piece(recorder, log)
    kept = [entry.text for entry in recorder.journal.logs.values()]
    assert isinstance(part, Piece)
    assert (TEXT, [TEXT], 0) == (part.text, kept, len(recorder.journal.history.answers))
