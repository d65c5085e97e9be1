"""Which caps are on, on the disk before they are set: they outlive whoever set them.

    {"0000:1b:00.0": {"before": 700000, "ours": [630000], "stepped_at": 812.4, "until": 1712.4,
                      "boot": "3f0c...", "since": 1700000000.0, "why": "0 C are left", "unit": "mW",
                      "way": {}}}

A copy for those who only look lies in the unit's runtime directory: what is held now, and how the
last caps ended.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remediations.actor.journal import Journal
from remediations.heat.lease import MOST_KEPT, Cap

NAME = "caps.json"
MOST_ENDED = MOST_KEPT
MOST_BYTES = 1 << 20


class Held(NamedTuple):
    """One cap, since when (epoch seconds), why, in which unit, by which way if not the usual."""

    cap: Cap
    since: float
    why: str
    unit: str
    way: Mapping[str, str] = {}


Caps = dict[str, Held]


def read(folder: Path) -> Caps:
    """Return all caps that are on or may be; a file that is none holds none."""
    try:
        with (folder / NAME).open("rb") as file:
            known = json.loads(file.read(MOST_BYTES))["held"]
        return {str(name): _held(entry) for name, entry in known.items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _held(entry: Mapping[str, Any]) -> Held:
    cap = Cap(
        before=int(entry["before"]),
        ours=tuple(int(one) for one in entry["ours"]),
        stepped_at=float(entry["stepped_at"]),
        until=float(entry["until"]),
        boot=str(entry["boot"]),
    )
    way = {str(key): str(value) for key, value in entry["way"].items()}
    return Held(cap, float(entry["since"]), str(entry["why"]), str(entry["unit"]), way)


def change(
    folder: Path, update: Callable[[Caps], Caps], ended: Mapping[str, Any] | None = None
) -> None:
    """Keep what *update* makes of the caps; others may change theirs at the same time.

    When this returns it is on the disk. *ended* is how one of them ended.
    """
    with Journal(folder).locked("caps"):
        _write(folder, update(read(folder)), ended)


def _write(folder: Path, caps: Caps, ended: Mapping[str, Any] | None = None) -> None:
    if len(caps) > MOST_KEPT:
        raise ValueError(f"{len(caps)} caps are more than a node has GPUs")
    past = [*_ended(folder), *([dict(ended)] if ended else [])][-MOST_ENDED:]
    known = {
        name: {**one.cap._asdict(), **_beside(one), "way": one.way} for name, one in caps.items()
    }
    _replace(folder / NAME, {"held": known, "ended": past}, 0o600)
    _replace(_public(folder) / NAME, _shown(caps, past), 0o644)


def stepped(folder: Path, name: str, boot: str) -> float | None:
    """Return when this was lowered last in this boot, by a cap that is on or has ended."""
    one = read(folder).get(name)
    if one is not None and one.cap.boot == boot:
        return one.cap.stepped_at
    times = [
        float(past["stepped_at"])
        for past in _ended(folder)
        if past.get("subject") == name and past.get("boot") == boot and "stepped_at" in past
    ]
    return max(times, default=None)


def _beside(one: Held) -> dict[str, Any]:
    return {"since": one.since, "why": one.why, "unit": one.unit}


def _ended(folder: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads((folder / NAME).read_bytes())["ended"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return []


def _shown(caps: Caps, ended: list[dict[str, Any]]) -> dict[str, Any]:
    held = [
        {"subject": name, "limit": one.cap.limit, "before": one.cap.before, **_beside(one)}
        for name, one in caps.items()
    ]
    return {"held": held, "ended": ended}


def _public(folder: Path) -> Path:
    """Return where others may look: systemd makes it for the unit, and keeps it over restarts."""
    named = os.environ.get("RUNTIME_DIRECTORY")
    public = Path(named.partition(":")[0]) if named else folder / "public"
    public.mkdir(mode=0o755, exist_ok=True)
    return public


def _replace(path: Path, content: Mapping[str, Any], mode: int) -> None:
    new = path.with_suffix(".new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), mode)
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
