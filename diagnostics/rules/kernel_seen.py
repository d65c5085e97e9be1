"""What a rule for the kernel's lines says, and what rules found: the shapes that checks judge."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from collectors.facts.kernel_log import LogSource
from collectors.facts.observation import Observation
from diagnostics.finding import Kind, Severity
from diagnostics.knowledge.codes.tables import Recovery
from diagnostics.rules.rule import About, Rule, Source

# The kernel begins a line with what a process calls itself, and ends it with what a user called a
# file: XFS (sda1): a[4711]: segfault at 0 ip ... error 4 in Shutting down filesystem[401000+1000]
# A name has 15 bytes, of which each that is no text is shown as four letters.
OF_A_PROCESS = re.compile(
    r".{0,60}\[\d{1,10}\]:? (?:segfault|unhandled|bad|trap|general|illegal|misaligned|bus error)\b"
)


class KernelRule(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A rule for the kernel's lines; a `device` is what the field `driver` says.

    `fault` is filled with fields too. Where its field of that name is one of the driver's `codes`,
    the tables weigh the line. A `note` says nothing of the node by itself. What `follows` belongs
    to an event with the same code, and counts only where that was lost. Where `latest`, the last
    line of a thing holds and not the first. With a `window_s`, how many came within that time is
    told; a line counts for one, or for what its field `adds` says.
    """

    source: Source = "kernel"
    codes: Literal["", "xid", "sxid"] = ""
    note: bool = False
    follows: bool = False
    latest: bool = False
    window_s: float = 0.0
    adds: str = ""

    def match(self, text: str) -> re.Match[str] | None:
        """Return where the rule holds; in what a process begins, only a rule of processes does."""
        hit = super().match(text)
        if hit is None or not OF_A_PROCESS.match(text):
            return hit
        about_one = "process" in hit.re.groupindex and hit.start("process") == 0
        return hit if about_one else None


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One record: how long ago it was, and its wall clock where that is known."""

    sequence: int
    age_s: float
    text: str
    time: float | None = None
    time_error_s: float | None = None


class KernelHit(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found of one thing: its first and last record, and how many there were.

    `by_kernel` is False where a program wrote the records; `over` where a later one ended it.
    `template` is the rule's message for `values`, which are those of the first record. `recovery`
    is that of the code's sub-event; for `note` and `follows` see the rule. `peak` is the most that
    came within `window_s`, None where the rule has none or the records carry no time.
    """

    rule: str
    fault: str
    severity: Severity
    kind: Kind
    about: About
    name: str | None = None
    template: str
    values: Mapping[str, Any] = {}
    by_kernel: bool = True
    count: int = 1
    first: Moment
    last: Moment
    over: bool = False
    note: bool = False
    follows: bool = False
    recovery: Recovery | None = None
    peak: int | None = None
    window_s: float = 0.0
    remedy: str = ""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Who a GPU is by the kernel's own word, which is all there is when the driver is dead."""

    uuid: str | None = None
    serial: str | None = None


class KernelSymptoms(Observation, frozen=True, kw_only=True):
    """What the rules found in this boot's log, which had `records` and lacked `lost` of them.

    `file` is the log that a person named, and then a sequence number is that of a line in it.
    """

    records: int
    file: str | None = None
    lost: int = 0
    source: LogSource = "kmsg"
    hits: tuple[KernelHit, ...] = ()
    cards: Mapping[str, Card] = {}
