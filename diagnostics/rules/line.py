"""One line of a log: without colour codes, decoded, with the rank that wrote it."""

import re

import msgspec

LINE_CAP = 64 << 10

# ESC [ 0 ; 3 2 m, ESC ] 0 ; title BEL, ESC ( B
ESCAPES = re.compile(
    rb"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,2}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)"
    rb"|[()][0-9A-B]|[=>78])"
)

# [rank3]:[E1130 02:11:09.120331 ProcessGroupNCCL.cpp:632] [PG ID 2 PG GUID 5 Rank 11] Watchdog ...
# [rank3]: Traceback (most recent call last):
# [2026-11-30 02:11:09,120] [INFO] [Rank 3] time (ms) | fwd: 0.59
# rank=0 time (ms) | fwd_microstep: 10.2
NAMED_RANK = re.compile(
    r"\[(?i:rank)[ =]?(\d{1,6})\]|\[PG [^\]]{0,80} Rank (\d{1,6})\]|\brank=(\d{1,6}) "
)
# srun -l and mpirun --tag-output:   3: loss 2.31        [1,3]<stderr>:loss 2.31
TAGGED_RANK = re.compile(r"\s{0,6}(\d{1,6}): |\[\d{1,6},(\d{1,6})\]<std")
NEAR = 300


class Line(msgspec.Struct, frozen=True):
    """A line that an anchor hit, as far as rules look at it; `number` counts from 1 in the log."""

    number: int
    text: str

    @property
    def rank(self) -> int | None:
        """Return the rank that the line says wrote it."""
        # Most lines name no rank, and looking for a word is faster than for a pattern.
        near = self.text[:NEAR]
        named = NAMED_RANK.search(near) if "ank" in near or "ANK" in near else None
        hit = named or TAGGED_RANK.match(near)
        return int(hit[hit.lastindex]) if hit and hit.lastindex else None


def plain(piece: bytes) -> bytes:
    """Return *piece* without terminal escapes; its line ends stay where they are."""
    return ESCAPES.sub(b"", piece) if b"\x1b" in piece else piece


def decoded(line: bytes) -> str:
    r"""Return a line as text; bytes that are no UTF-8 are shown as `\xff`."""
    return line.decode("utf-8", "backslashreplace")
