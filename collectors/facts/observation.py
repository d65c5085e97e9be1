"""What a collector hands on: something seen, or the reason nothing was."""

from enum import StrEnum

import msgspec


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One typed fact about the node; units stand in field names, None means "not reported"."""


class Cause(StrEnum):
    """Why an observation is missing; each cause reads differently to an operator."""

    TIMEOUT = "timeout"
    NO_TOOL = "no_tool"
    DENIED = "denied"
    GARBLED = "garbled"
    CRASHED = "crashed"
    STALE = "stale"
    HELD_BACK = "held_back"
    NOT_RECORDED = "not_recorded"


WORDS = {
    Cause.TIMEOUT: "no answer in time",
    Cause.NO_TOOL: "not installed",
    Cause.DENIED: "not allowed",
    Cause.GARBLED: "not understood",
    Cause.CRASHED: "failed",
    Cause.STALE: "too old",
    Cause.HELD_BACK: "held back",
    Cause.NOT_RECORDED: "not recorded",
}


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Stands where an answer would; never to be read as healthy.

    `what` names the question, `detail` is one clause for a person, `verb` the reader's verb
    that would have answered (with cause `denied`), `stuck` where a stalled call stood.
    """

    what: str
    cause: Cause
    detail: str
    verb: str | None = None
    stuck: str | None = None

    def why(self) -> str:
        """Return the reason as one clause: "no answer in time: statfs of /data, 2 s"."""
        words = WORDS[self.cause]
        # A helper's own words may say it already: "no answer in 5 s".
        known = self.detail.startswith(words.partition(" in ")[0])
        return self.detail if known else f"{words}: {self.detail}"
