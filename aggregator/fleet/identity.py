"""Which machine speaks under a name: serial numbers tell, names and disks are exchanged."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

EventKind = Literal["renamed", "reimaged", "replaced", "name_shared", "part_moved"]


class Noticed(msgspec.Struct, frozen=True, kw_only=True):
    """What a report tells of the identity of its node; `key` makes the same news one event."""

    kind: EventKind
    text: str
    key: str


def of_machine(
    node: str,
    machine: tuple[str | None, str | None],
    before: Iterable[str],
    after: Iterable[str],
    elsewhere: Mapping[str, str],
) -> list[Noticed]:
    """Compare a snapshot with what was known.

    *machine* is the machine id before and now; *before* and *after* are the serials of this node;
    *elsewhere* maps serials of this snapshot to the other node that had them until now.
    """
    old, new = set(before), set(after)
    noticed = _renamed(node, new, elsewhere)
    if not noticed:
        noticed = _moved(node, elsewhere)
    if old and new and not old & new:
        text = f"{node} is another machine now: none of its {len(old)} known serial numbers is left"
        noticed.append(Noticed(kind="replaced", text=text, key=",".join(sorted(new))))
    elif _differs(machine) and old & new:
        text = f"{node} was installed anew or got another board: known parts, another machine id"
        noticed.append(Noticed(kind="reimaged", text=text, key=machine[1] or ""))
    return noticed


def _differs(machine: tuple[str | None, str | None]) -> bool:
    return None not in machine and machine[0] != machine[1]


def _renamed(node: str, serials: set[str], elsewhere: Mapping[str, str]) -> list[Noticed]:
    """Return a rename where most parts of this node were one other node's."""
    names = sorted(elsewhere.values())
    for other in sorted(set(names)):
        if names.count(other) * 2 > len(serials):
            text = (
                f"{node} was {other}: {names.count(other)} of its {len(serials)} parts were there"
            )
            return [Noticed(kind="renamed", text=text, key=other)]
    return []


def _moved(node: str, elsewhere: Mapping[str, str]) -> list[Noticed]:
    return [
        Noticed(
            kind="part_moved",
            text=f"the part with serial number {serial} moved from {other} to {node}",
            key=f"{serial} from {other}",
        )
        for serial, other in sorted(elsewhere.items())
    ]


def shared_name(node: str, older_boot: str, sent: float, current_since: float) -> Noticed | None:
    """Tell where a boot that should be over still reports: two machines use one name.

    A minute of difference is a clock that was set after the boot, no second machine.
    """
    if sent <= current_since + 60:
        return None
    text = f"two machines report as {node}: boot {older_boot} goes on after another one began"
    return Noticed(kind="name_shared", text=text, key=older_boot)
