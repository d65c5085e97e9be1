"""Rotated files are one log: read as one text, quoted by file and line."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from diagnostics.check import Result
from diagnostics.finding import Evidence, Finding

LINE = re.compile(r"line (\d{1,12})")


class Joined(msgspec.Struct, frozen=True):
    """A log of several files: its name, and by file the number of lines that stand before it."""

    name: str
    parts: tuple[tuple[int, str], ...]

    def place(self, line: int) -> tuple[str, int]:
        """Return the file of a line of the whole text, and its number there."""
        before, file = max((part for part in self.parts if part[0] < line), default=self.parts[0])
        return file, line - before

    def told(self, line: int) -> str:
        """Return how a sentence names a line of the whole text."""
        file, number = self.place(line)
        return f"line {number} of {file}"


def by_file(results: Sequence[Result], logs: Sequence[Joined]) -> tuple[Result, ...]:
    """Return the results with each line by the file in which it stands."""
    several = {log.name: log for log in logs if len(log.parts) > 1}
    if not several:
        return tuple(results)
    return tuple(
        msgspec.structs.replace(
            result, findings=tuple(_finding(finding, several) for finding in result.findings)
        )
        for result in results
    )


def _finding(finding: Finding, logs: dict[str, Joined]) -> Finding:
    log = next((logs[e.source] for e in finding.evidence if e.source in logs), None)
    if log is None:
        return finding
    message, args = finding.message, dict(finding.text.args)
    for name, value in finding.text.args.items():
        if (number := _line(name, value)) is not None:
            message = message.replace(f"line {number}", log.told(number))
            args[name] = log.told(number).removeprefix("line " if name == "line" else "")
    return msgspec.structs.replace(
        finding,
        message=message,
        text=msgspec.structs.replace(finding.text, args=args),
        evidence=tuple(_evidence(one, logs) for one in finding.evidence),
    )


def _line(name: str, value: Any) -> int | None:  # noqa: ANN401 - an argument of any sentence
    if name == "line" and isinstance(value, int):
        return value
    hit = LINE.fullmatch(value) if isinstance(value, str) else None
    return int(hit[1]) if hit else None


def _evidence(evidence: Evidence, logs: dict[str, Joined]) -> Evidence:
    log = logs.get(evidence.source)
    if log is None or evidence.line is None:
        return evidence
    file, line = log.place(evidence.line)
    return msgspec.structs.replace(evidence, source=file, line=line)
