"""What was read in the logs that a person named: the observation that training checks judge."""

import msgspec

from collectors.facts.observation import Missing, Observation
from diagnostics.rules.fold import Hit
from diagnostics.rules.kernel_seen import KernelSymptoms
from diagnostics.rules.rest import Rest
from diagnostics.series.curve import Curve


class LogSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One log: its symptoms, its numbers, and why its rest could not be read, if it could not.

    `lines` counts what was read; `first_line` is above 1 where only the end of a long log was.
    `kernel` is what the kernel's own lines say, None where there was none to look at; `hits` is
    what all others say; `rest` is what it ends with where that only repeats itself.
    `job` is whose output it is, None where no job of this node writes it.
    """

    name: str
    job: str | None = None
    lines: int
    first_line: int = 1
    hits: tuple[Hit, ...] = ()
    kernel: KernelSymptoms | None = None
    curve: Curve = Curve()
    rest: Rest | None = None
    cut: Missing | None = None


class TrainingLogs(Observation, frozen=True, kw_only=True):
    """The logs that were wanted, in their order; `unseen` are those that could not be opened."""

    logs: tuple[LogSeen, ...] = ()
    unseen: tuple[Missing, ...] = ()
