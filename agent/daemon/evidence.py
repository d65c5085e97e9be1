"""Raw evidence stays on the node: what findings rest on, as it stood in its source, for 14 days.

Reports carry the text of jobs masked. Who has to know the very line looks here, as root or as the
daemon's own user: one file a day, one JSON line for each finding that appeared or changed.
"""

import contextlib
import datetime as dt
import os
import queue
import re
import threading
from pathlib import Path
from typing import Any

import msgspec

from agent.outbox import reports
from diagnostics.document import Document, plain

DAYS = 14
DAY_BYTES = 16 << 20
WAITING = 64
DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.jsonl")
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class Evidence:
    """Keeps it by a thread of its own: a disk that hangs or is full costs evidence, not the watch.

    `lost` counts the findings whose evidence was not kept, `problem` says why.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "evidence"
        self._known = reports.Changes().known
        self._last: tuple[Any, Any] = ((), ())
        self._jobs: queue.Queue[tuple[dt.date, int, bytes] | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        self.lost = 0

    def walked(self, document: Document) -> None:
        """Keep what is new in a finished walk; returns at once."""
        verdicts = [(one.check, one.verdict) for stage in document.stages for one in stage.checks]
        if (document.findings, verdicts) == self._last:
            return
        self._last = (document.findings, verdicts)
        changes = reports.compare(self._known, plain(document), document.node or "")
        self._known = changes.known
        found = [one for one in changes.findings if one["evidence"] and one["severity"] != "info"]
        if not found or document.started is None:
            return
        day = dt.datetime.fromisoformat(document.started).date()
        lines = [msgspec.json.encode({"time": document.started, **one}) + b"\n" for one in found]
        try:
            self._jobs.put_nowait((day, len(lines), b"".join(lines)))
        except queue.Full:
            self.lost += len(lines)
            self.problem = f"evidence is not kept: {self._folder} does not answer"
        if self._thread is None:
            # A node that is well has no such thread.
            self._thread = threading.Thread(target=self._run, name="evidence", daemon=True)
            self._thread.start()

    def close(self, patience_s: float) -> bool:
        """Write what waits and end; return whether that was done in time."""
        if self._thread is None:
            return True
        with contextlib.suppress(queue.Full):
            self._jobs.put_nowait(None)
        self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            day, count, lines = job
            try:
                keep(self._folder, day, lines)
                self.problem = None
            except OSError as problem:
                self.lost += count
                why = problem.strerror or problem
                self.problem = f"evidence is not kept: {self._folder}: {why}"


def keep(folder: Path, day: dt.date, lines: bytes) -> None:
    """Append to the day's file, for its owner alone; days that are over their time go."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / f"{day}.jsonl", FLAGS, 0o600)
    with os.fdopen(handle, "wb") as file:
        if os.fstat(handle).st_size + len(lines) > DAY_BYTES:
            raise OSError(f"a day may have {DAY_BYTES >> 20} MiB")
        file.write(lines)
    expire(folder, day)


def expire(folder: Path, day: dt.date) -> None:
    """Remove what is older than 14 days, and of days that a wrong clock made all but so many."""
    names = sorted(path.name for path in folder.iterdir() if DAY.fullmatch(path.name))
    first = f"{day - dt.timedelta(days=DAYS)}.jsonl"
    for name in {name for name in names if name < first} | set(names[: -DAYS - 1]):
        (folder / name).unlink(missing_ok=True)
