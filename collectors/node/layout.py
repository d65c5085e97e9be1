"""Where things lie in a recording (`gpudiag.recording/1`), for those who write and read one.

    meta.toml                   schema, node, boot_id, kernel, taken, product, simulated, scrubbed,
                                holds
    files/<path>                a copy of each file that was read
    errors.toml                 path = errno name
    commands/<tool>-<n>.json    argv, status, stdout, stderr, seconds  (or missing)
    answers/<kind>/<key>.json   kind, args, answer, seconds            (or missing)
    nvml.toml                   a scenario of GPUs: the driver's helper answers from it
    kmsg.log                    the kernel log as /dev/kmsg gives it: `6,1042,5123456,-;text`
    logs/<name>                 training logs, with --with-logs
    at/<seconds>/               a later state: the same layout, laid over what was before

`answers/files/` holds questions for files that got no answer at all, `answers/log/` how much of a
log came before the part that is kept.

nvml.toml is written by hand (docs/how-to-simulate-gpus.md) where no node with such a fault is at
hand; its steps run by the recording's clock. Kinds of answer that were recorded go before it.

A later state's kmsg.log holds what the kernel said since, and follows on the earlier one. It
answers the question `kernel_log`, unless `answers/kernel_log/` says why there was no answer.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from collectors.facts.observation import Cause, Missing

SCHEMA = "gpudiag.recording/1"

# 6,1042,5123456,-;nvidia 0000:4e:00.0: enabling device   (level, number, microseconds, flags; text)
#  DEVICE=+pci:0000:4e:00.0                               (its properties, each behind a space)
KMSG_LINE = re.compile(r"\d+,\d+,\d+,[^;]*;.*| .*|")


class Holds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a recording is complete for: path prefixes (`*` in a segment), tools, kinds of answer.

    Of *names* it knows whether they exist, and nothing of what lies in them or below them. The
    other three are required: a meta.toml that was cut short must not pass for an empty recording.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[str, ...]
    tools: tuple[str, ...]
    paths: tuple[str, ...]

    def has_path(self, pattern: str) -> bool:
        """Return whether all that *pattern* can name was recorded, or is known to be absent."""
        return any(_covers(held, pattern) for held in self.paths)

    def has_name(self, pattern: str) -> bool:
        """Return whether it is known which paths that *pattern* can name exist."""
        return self.has_path(pattern) or any(
            held.count("/") == pattern.count("/") and _covers(held, pattern) for held in self.names
        )


class Meta(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`meta.toml`; `taken` is the wall clock at the start, ISO 8601 with its zone."""

    schema: str
    node: str
    taken: str
    product: str = ""
    boot_id: str | None = None
    kernel: str | None = None
    simulated: bool = False
    scrubbed: bool = True
    holds: Holds


class Unanswered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why there was no answer, as in `Missing`."""

    cause: Cause
    detail: str
    what: str | None = None
    verb: str | None = None
    stuck: str | None = None

    def missing(self, what: str) -> Missing:
        """Return what the collector is told; *what* names the question where the file does not."""
        return Missing(
            what=self.what or what,
            cause=self.cause,
            detail=self.detail,
            verb=self.verb,
            stuck=self.stuck,
        )


Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`commands/*.json`; `argv[0]` is the tool's name. A `missing` stands for no usable answer."""

    argv: tuple[str, ...]
    status: int = 0
    stdout: str = ""
    stderr: str = ""
    seconds: Seconds = 0.0
    missing: Unanswered | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`answers/<kind>/*.json`."""

    kind: str
    args: dict[str, Any] = {}
    answer: Any = None
    seconds: Seconds = 0.0
    missing: Unanswered | None = None


def question(kind: str, args: Mapping[str, Any]) -> str:
    """Return the canonical form of a question, for looking its answer up."""
    return kind + msgspec.json.encode(dict(args), order="sorted").decode()


def files_args(patterns: Sequence[str], names: Sequence[str], cap: int) -> dict[str, Any]:
    """Return how a question for files is written down where it got no answer."""
    return {"patterns": list(patterns), "names": list(names), "cap": cap}


def key(args: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return a file name that a person can read for a question's arguments."""
    words = args if isinstance(args, tuple) else tuple(str(args[name]) for name in sorted(args))
    slug = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(words)).strip("-")
    return slug[:60] or "all"


def _covers(held: str, pattern: str) -> bool:
    ours, theirs = held.strip("/").split("/"), pattern.strip("/").split("/")
    if held == "/":
        return True
    return len(ours) <= len(theirs) and all(
        a in ("*", b) or _glob(a, b) for a, b in zip(ours, theirs, strict=False)
    )


def _glob(held: str, asked: str) -> bool:
    """Return whether the pattern *held* stands for all that the segment *asked* can stand for."""
    if "*" not in held:
        return False
    if not any(c in asked for c in "*?["):
        return fnmatch.fnmatchcase(asked, held)
    expression = ".*".join(map(re.escape, held.split("*")))
    return re.fullmatch(expression, asked) is not None
