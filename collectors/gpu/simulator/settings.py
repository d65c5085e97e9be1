"""Settings that outlive the process and are seen by others, as those that the driver keeps are.

The file holds values by GPU: `{"0": {"power.limit_mw": 630000}}`.
"""

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Kept = dict[str, dict[str, Any]]


class Settings:
    """A file of settings by GPU; whoever simulates the same node names the same file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._seen: tuple[int, int] | None = None

    def news(self) -> Kept | None:
        """Return all that is set, or None where nothing was set since the last look."""
        try:
            now = self._path.stat()
            mark = (now.st_mtime_ns, now.st_ino)
            if mark == self._seen:
                return None
            kept: Kept = json.loads(self._path.read_text())
        except FileNotFoundError:
            return None
        self._seen = mark
        return kept

    def keep(self, gpu: int, values: Mapping[str, Any]) -> None:
        """Set values of one GPU for all who look; the file is never half written."""
        new = self._path.with_suffix(".new")
        with self._path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._seen = None
            kept = self.news() or {}
            kept.setdefault(str(gpu), {}).update(values)
            new.write_text(json.dumps(kept))
            new.replace(self._path)
