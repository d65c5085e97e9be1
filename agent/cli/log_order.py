"""The order in which the files of one job are read: what was rotated away comes first."""

import re
from collections.abc import Iterable

# train.log.2.gz   train.log.1   train.log-20261129.zst   train.log
PACKED = re.compile(r"\.(?:gz|zst|xz)$")
NUMBER = re.compile(r"\.(\d{1,4})$")
DAY = re.compile(r"[-.](\d{4}-?\d\d-?\d\d)(?:[-T.]?\d{2,6})?$")
NEWEST = (1, "")


def ordered(files: Iterable[str]) -> list[list[str]]:
    """Return the files of each log once each, oldest first, logs in the order they came in."""
    groups: dict[str, list[tuple[tuple[int, str], str]]] = {}
    for file in dict.fromkeys(files):
        log, age = _rotated(file)
        groups.setdefault(log, []).append((age, file))
    return [
        [file for _, file in sorted(group, key=lambda one: one[0])] for group in groups.values()
    ]


def _rotated(file: str) -> tuple[str, tuple[int, str]]:
    """Return the log that a file was rotated from, and what orders the files of it."""
    name = PACKED.sub("", file)
    if hit := NUMBER.search(name):
        # The higher the number, the older the file.
        return name[: hit.start()], (0, f"{9_999 - int(hit[1]):04}")
    if hit := DAY.search(name):
        return name[: hit.start()], (0, hit[0])
    return name, NEWEST
