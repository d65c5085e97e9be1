"""The shapes in which the door to the machine answers."""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool printed and how it left; `seconds` is its duration, streams are capped."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str = ""
    seconds: float = 0.0


PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?")


@lru_cache(maxsize=256)
def _segments(pattern: str) -> re.Pattern[str]:
    """Compile a path pattern whose `*` stays inside one segment and is captured."""
    parts = ["/".join(f"({p})" if p != re.escape(s) else p for s, p in _translated(pattern))]
    return re.compile(parts[0] + r"\Z")


def _translated(pattern: str) -> Iterator[tuple[str, str]]:
    for segment in pattern.split("/"):
        if any(c in segment for c in "*?["):
            inner = fnmatch.translate(segment)
            yield segment, inner.removeprefix("(?s:").removesuffix(r")\Z").replace(".*", "[^/]*")
        else:
            yield segment, re.escape(segment)


class Files(msgspec.Struct, frozen=True, kw_only=True):
    r"""Small files read in one go: path to text, and path to errno name where reading failed.

    A path in neither is absent. Texts are decoded from UTF-8 with invalid bytes shown as `\\xff`,
    and cut at the cap that was asked for. Paths whose presence alone was asked for map to "".
    """

    texts: Mapping[str, str]
    errors: Mapping[str, str] = {}

    def get(self, path: str) -> str | None:
        """Return one file's text without the line end, or None where it is absent or unreadable."""
        text = self.texts.get(path)
        return None if text is None else text.rstrip("\n")

    def match(self, pattern: str) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield (what the wildcards stand for, text) for each path, in natural order."""
        compiled = _segments(pattern)
        found = [
            (hit.groups(), text)
            for path, text in self.texts.items()
            if (hit := compiled.match(path))
        ]
        yield from sorted(found, key=lambda item: tuple(map(natural, item[0])))

    def names(self, pattern: str) -> list[str]:
        """Return what the first wildcard of *pattern* stands for, each once, in natural order."""
        return list(dict.fromkeys(groups[0] for groups, _ in self.match(pattern)))


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts `mlx5_10` after `mlx5_9`, and PCI address 3a after 18."""
    # All processes are sorted by their numbers twice a minute.
    if text.isdecimal():
        return ((1, int(text), ""),)
    if PCI.fullmatch(text):
        return ((0, 0, text),)
    return tuple(
        (1, int(part), "") if part.isdecimal() else (0, 0, part)
        for part in re.split(r"(\d+)", text)
        if part
    )
