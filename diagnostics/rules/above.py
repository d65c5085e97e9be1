r"""What stands above a line of a tool's output, without which it cannot be judged.

`nvidia-smi -q` names a GPU and a section once, over the lines that belong to them; `dcgmi diag`
breaks a sentence over the rows of a table; `kubectl describe node` says first what a node has and
then what it may give. Here such lines get what belongs to them, as one text that a rule can read.
"""

import re
from collections.abc import Iterator

import msgspec

from diagnostics.expression import Expression
from diagnostics.rules.line import Line

# What has to be seen besides the lines that rules look for, for the reading's one pass.
ANCHORS = (
    "GPU 0000",
    r"\(UUID: GPU-",
    "ECC Errors",
    r" Volatile\n",
    r" Aggregate\n",
    "Retired Pages",
    "Remapped Rows",
    r"Clocks (?:Event|Throttle) Reasons",
    "FB Memory Usage",
    r"Capacity:\n",
    r"Allocatable:\n",
    r"nvidia\.com/gpu:",
    r"\| (?:Warning|Error|Info) {5}",
    r"\| {27}\|",
    "<inactive>",
    r": [0-9]{1,3}(?:\.[0-9]{1,3})? GB/s",
    "all links are inactive",
)
# GPU 00000000:4E:00.0
HEAD = Expression(
    r"GPU (?P<gpu>(?:[0-9A-Fa-f]{4}){1,2}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s{0,4}$"
)
# GPU 6: NVIDIA H100 80GB HBM3 (UUID: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30)
COUNTED = Expression(r"GPU (?P<index>\d{1,3}): .{1,80}\(UUID: ")
SECTION = Expression(
    r"\s{4,12}(?P<name>ECC Errors|Volatile|Aggregate|Retired Pages|Remapped Rows"
    r"|Clocks (?:Event|Throttle) Reasons|FB Memory Usage)\s{0,4}$"
)
# Of a list in a section; what stands less deep belongs to the next one.
VALUE = Expression(r"\s{4,20}[A-Z][\w /()-]{1,60}? {1,50}: ")
KEPT = Expression(r"(?P<name>Capacity|Allocatable):\s{0,4}$")
GPUS = Expression(r"\s{1,8}nvidia\.com/gpu:\s{1,40}(?P<count>\d{1,4})\s{0,4}$")
# | Warning                   | GPU 3 Thermal violations totaling 7.2 second  |
ROW = Expression(r"\| (?P<label>[^|]{26})\| (?P<cell>[^|]{20,200}) {2}\|\s{0,4}$")
LINK = Expression(r"\s{1,16}Link \d{1,3}: (?P<state><inactive>|[\d.]{1,9} GB/s)")
ALL_DOWN = "NVML: Unable to retrieve NVLink information as all links are inactive"

MOST = 1_000
MOST_ROWS = 20


class Told(msgspec.Struct, frozen=True):
    """A line and what it says together with what belongs to it."""

    line: Line
    text: str


class Above:
    """What was seen so far of one text; feed it the lines with an anchor, in their order."""

    def __init__(self) -> None:
        self._gpu = self._section = self._kept = ""
        self._capacity = self._index = ""
        self._cell: Told | None = None
        self._rows = 0
        self._cells: list[Told] = []
        self._links: list[Told] = []
        self._any_active = False

    def told(self, line: Line) -> str:
        """Return what the line says with what stands above it; its own text where nothing does."""
        text = line.text
        self._row(line)
        if self._headed(text):
            return text
        if gpus := GPUS.match(text):
            return self._gpus(gpus, text)
        if LINK.match(text) or text.startswith(ALL_DOWN):
            self._link(line)
            return text
        if VALUE.match(text) and (self._gpu or self._section):
            above = (f"GPU {self._gpu}" if self._gpu else "", self._section, text)
            return " > ".join(filter(None, above))
        return text

    def alone(self) -> None:
        """Take a line that is none of a table's."""
        self._flush()

    def _headed(self, text: str) -> bool:
        """Take the line as a heading, and say whether it is one."""
        if head := HEAD.match(text):
            self._gpu, self._section = head["gpu"], ""
        elif counted := COUNTED.match(text):
            self._index = counted["index"]
        elif section := SECTION.match(text):
            self._section = section["name"]
        elif kept := KEPT.match(text):
            self._kept = kept["name"]
        else:
            return False
        return True

    def _gpus(self, gpus: re.Match[str], text: str) -> str:
        if self._kept == "Capacity":
            self._capacity = gpus["count"]
        elif self._kept == "Allocatable" and self._capacity:
            return f"Capacity {self._capacity} > Allocatable > {text}"
        return text

    def _link(self, line: Line) -> None:
        hit = LINK.match(line.text)
        if hit and hit["state"] != "<inactive>":
            self._any_active = True
        elif self._index and len(self._links) < MOST:
            self._links.append(Told(line, f"GPU {self._index} > {line.text}"))

    def _row(self, line: Line) -> None:
        """Put the rows of one cell together; a row without a label continues the one before."""
        row = ROW.match(line.text)
        if row is None or row["label"].strip():
            self._flush()
        if row is None:
            return
        if self._cell is None and row["label"].strip():
            self._cell, self._rows = Told(line, row["cell"]), 1
        elif self._cell is not None and self._rows < MOST_ROWS:
            self._cell = Told(self._cell.line, self._cell.text + row["cell"])
            self._rows += 1

    def _flush(self) -> None:
        if self._cell is not None and len(self._cells) < MOST:
            self._cells.append(self._cell)
        self._cell = None

    def late(self) -> Iterator[Told]:
        """Yield what can be said only at the end: whole cells, and links where others work."""
        self._flush()
        yield from self._cells
        if self._any_active:
            yield from self._links
