"""What PyTorch's flight recorder wrote: of each process group, where this rank stands in it.

A dump is a pickle or JSON with `version`, `pg_config`, `pg_status` and `entries`, one for each
collective that is still in its ring (torch/csrc/distributed/c10d/FlightRecorder.hpp). Only the
few values that tell where a rank stands are handed on.
"""

import json
from collections.abc import Iterator
from typing import Any

from collectors.helpers.children import pickled
from collectors.helpers.children.loop import Refused

CAP = 32 << 20
MOST_ENTRIES = 100_000
MOST_GROUPS = 512
MOST_RANKS = 65_536
MOST_CALLS = 16
TEXT_CAP = 200
PICKLES = b"\x80"
# Beyond what a counter of operations reaches.
MOST = 1 << 62


def summary(data: bytes) -> dict[str, Any]:
    """Return `version` and `groups` of one rank's dump; raises Refused where it is none."""
    dump = _loaded(data)
    if not isinstance(dump, dict) or not isinstance(dump.get("entries"), list | tuple):
        raise Refused("garbled", "it is no dump of the flight recorder: it has no entries")
    config = _dict(dump.get("pg_config"))
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    ids: dict[str, tuple[str, str]] = {}
    for entry in dump["entries"][:MOST_ENTRIES]:
        if (key := _key(entry)) is None:
            continue
        if key not in groups and len(groups) < MOST_GROUPS:
            groups[key] = _group(key, config)
        ids.setdefault(str(entry.get("pg_id"))[:TEXT_CAP], key)
        if key in groups and entry.get("is_p2p"):
            groups[key]["p2p"] = True
        elif key in groups:
            _add(groups[key], entry)
    status = _dict(dump.get("pg_status"))
    for name, key in _statuses(status, config, ids, groups):
        _close(groups.setdefault(key, _group(key, config)), _dict(status[name]))
    for group in groups.values():
        group["calls"] = _kept(group["calls"])
    return {"version": _text(dump.get("version")), "groups": list(groups.values())[:MOST_GROUPS]}


def _loaded(data: bytes) -> Any:  # noqa: ANN401 - whatever the dump holds
    if len(data) > CAP:
        raise Refused("garbled", f"it is larger than {CAP >> 20} MiB")
    try:
        return pickled.loads(data) if data[:1] == PICKLES else json.loads(data)
    except pickled.NotPlainError as problem:
        raise Refused(
            "garbled", f"the pickle was refused, nothing of it was run: {problem}"
        ) from None
    except (ValueError, RecursionError):
        raise Refused("garbled", "it is neither a pickle nor JSON") from None


def _key(entry: Any) -> tuple[str, str] | None:  # noqa: ANN401 - whatever the dump holds
    """Return name and description of an entry's group: ("35", "TENSOR_MODEL_PARALLEL_GROUP")."""
    named = entry.get("process_group") if isinstance(entry, dict) else None
    if not isinstance(named, list | tuple) or not named:
        return None
    return _text(named[0]), _text(named[1]) if len(named) > 1 else ""


def _group(key: tuple[str, str], config: dict[Any, Any]) -> dict[str, Any]:
    # Gloo's only group is "0" in the entries and "" in pg_config.
    known = config.get(key[0]) or (config.get("") if len(config) == 1 else None)
    return {
        "name": key[0],
        "desc": key[1] or _text(_dict(known).get("desc")),
        "ranks": _ranks(_dict(known).get("ranks")),
        "pending": None,
        "last": None,
        "ends_known": False,
        "p2p": False,
        "calls": [],
    }


def _ranks(said: Any) -> list[int]:  # noqa: ANN401 - whatever the dump holds
    """Return the ranks of "[0, 4, 8, 12]"; not JSON, whose numbers may take for ever."""
    text = said if isinstance(said, str) else ""
    parts = (part.strip() for part in text.strip("[] ").split(",", MOST_RANKS)[:MOST_RANKS])
    return [int(part) for part in parts if part.isascii() and part.isdecimal() and len(part) <= 7]  # noqa: PLR2004 - 7 digits are more ranks than there are


def _add(group: dict[str, Any], entry: dict[Any, Any]) -> None:
    """Take one collective: how far the rank came, and what it has not seen the end of."""
    sequence = _number(entry.get("collective_seq_id"))
    if sequence is None:
        return
    group["last"] = max(group["last"] or 0, sequence)
    pending = not entry.get("retired") and entry.get("state") != "completed"
    # Gloo says of no operation that it ended: all stay "scheduled", and are retired all the same.
    group["ends_known"] |= pending or entry.get("state") == "completed"
    if pending:
        first = group["pending"]
        group["pending"] = sequence if first is None else min(first, sequence)
    group["calls"].append(
        {
            "sequence": sequence,
            "op": _text(entry.get("profiling_name")),
            "sizes": _text(_sizes(entry.get("input_sizes"))),
            "created_ns": _number(entry.get("time_created_ns")),
            "pending": pending,
        }
    )
    # The first ones that wait say where it stands, the newest ones how far it came.
    if len(group["calls"]) > 2 * MOST_CALLS:
        group["calls"] = _kept(group["calls"])


def _kept(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    waiting = [call for call in calls if call["pending"]][: MOST_CALLS // 2]
    newest = [call for call in calls[-(MOST_CALLS - len(waiting)) :] if call not in waiting]
    return sorted(waiting + newest, key=lambda call: int(call["sequence"]))


def _sizes(said: Any) -> str:  # noqa: ANN401 - whatever the dump holds
    """Return "4096x1x5120" of [[4096, 1, 5120]]; the first operand tells enough."""
    if not isinstance(said, list | tuple) or not said or not isinstance(said[0], list | tuple):
        return ""
    return "x".join(str(n) for n in said[0][:8] if _number(n) is not None)


def _statuses(
    status: dict[Any, Any],
    config: dict[Any, Any],
    ids: dict[str, tuple[str, str]],
    groups: dict[tuple[str, str], dict[str, Any]],
) -> Iterator[tuple[Any, tuple[str, str]]]:
    """Yield whose status each is: by the entries, else by the order in which groups were made.

    A rank that waits in no collective has no entry, and is the one that is looked for. Groups are
    named and counted in one order; this is believed only where the entries do not say otherwise.
    """
    known = {name: ids[text] for name in status if (text := str(name)[:TEXT_CAP]) in ids}
    named = [n for n in config if isinstance(n, str) and n.isascii() and n.isdecimal()]
    numbered = [n for n in status if str(n).isascii() and str(n).isdecimal()]
    ordered = dict(zip(sorted(numbered, key=int), sorted(named, key=int), strict=False))
    if len(named) != len(config) or len(numbered) != len(status) or len(named) != len(numbered):
        ordered = {}
    if any(ordered.get(name) != key[0] for name, key in known.items()):
        ordered = {}
    for name, group in ordered.items():
        known.setdefault(name, (group, _text(_dict(config[group]).get("desc"))))
    yield from ((name, key) for name, key in known.items() if len(groups) <= MOST_GROUPS)


def _close(group: dict[str, Any], status: dict[Any, Any]) -> None:
    # Counts of collectives and of sends in one number, so that it can only add what is not known.
    enqueued = _number(status.get("last_enqueued_collective"))
    if group["last"] is None and not group["p2p"] and enqueued is not None and enqueued >= 0:
        group["last"], group["ends_known"] = enqueued, True


def _dict(value: Any) -> dict[Any, Any]:  # noqa: ANN401 - whatever the dump holds
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:  # noqa: ANN401 - whatever the dump holds
    return value[:TEXT_CAP] if isinstance(value, str) else ""


def _number(value: Any) -> int | None:  # noqa: ANN401 - whatever the dump holds
    if isinstance(value, str) and value.lstrip("-").isascii() and len(value) <= 19:  # noqa: PLR2004 - digits of 2**62
        value = int(value) if value.lstrip("-").isdecimal() else None
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and abs(value) < MOST else None
