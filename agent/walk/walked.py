"""One stage of a walk, as the report takes it; no loop is needed to say it."""

from typing import Any

import msgspec

from diagnostics.check import Result
from diagnostics.finding import Finding, Stage


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """One stage after its walk: its results, how long it took, and which fault held probes back.

    `jobs` are the runs whose logs were read in it.
    """

    stage: Stage
    results: tuple[Result, ...]
    seconds: float | None = None
    held_back_by: Finding | None = None
    jobs: tuple[dict[str, Any], ...] = ()
