"""One stage of a walk, as the report takes it; no loop is needed to say it."""

from typing import TYPE_CHECKING, Any

import msgspec

from diagnostics.check import Result
from diagnostics.finding import Finding, Stage

if TYPE_CHECKING:
    from remediations.plan.standing import Standing


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """One stage after its walk: its results, how long it took, and which fault held probes back.

    `jobs` are the runs whose logs were read in it. `standing` is how the node stands with those who
    use it; the last stage of a walk has it.
    """

    stage: Stage
    results: tuple[Result, ...]
    seconds: float | None = None
    held_back_by: Finding | None = None
    jobs: tuple[dict[str, Any], ...] = ()
    standing: "Standing | None" = None
