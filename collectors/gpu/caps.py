"""The power limits that gpudiag itself holds down, as its actor shows them to those who look."""

from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# Written by the actor alone, in a directory of root's; absent where it never capped anything.
PATH = "/run/gpudiag-actor/caps.json"
FILE_CAP = 1 << 18
MOST = 64

Text = Annotated[str, msgspec.Meta(max_length=600)]


class Cap(msgspec.Struct, frozen=True, kw_only=True):
    """One cap: a GPU's address, or `dcmi` or `redfish` for the node's own limit by its BMC.

    Limits are in `unit`: mW for a GPU's power, MHz for its clocks, W for the node. `since` is epoch
    seconds.
    """

    subject: Text
    limit: int
    before: int
    unit: Text = "mW"
    since: float
    why: Text


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a cap ended, because of what, and when (epoch seconds)."""

    subject: Text
    how: Text
    because: Text
    at: float


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a person's hands: heat that may not or cannot be held, and why.

    `phase` is the controller's word: braked, blind, foreign or floor; `since` is epoch seconds.
    """

    subject: Text
    phase: Text
    why: Text
    since: float = 0.0


class PowerCaps(Observation, frozen=True, kw_only=True):
    """The caps that are on, and how the last ones ended; `now` is when it was looked.

    `handed_over` is known to the agent that holds heat, and to nobody else.
    """

    held: Annotated[tuple[Cap, ...], msgspec.Meta(max_length=MOST)] = ()
    ended: Annotated[tuple[Ended, ...], msgspec.Meta(max_length=MOST)] = ()
    handed_over: tuple[HandedOver, ...] = ()
    now: float = 0.0


async def collect(node: Node, wanted: Wanted) -> PowerCaps | Missing:
    """Read what the actor shows."""
    del wanted
    files = await node.files(PATH, cap=FILE_CAP)
    if isinstance(files, Missing):
        return files
    if PATH in files.errors:
        return Missing(what="PowerCaps", cause=Cause.DENIED, detail=f"{PATH}: {files.errors[PATH]}")
    text = files.get(PATH)
    return parse(text, node.now()) if text is not None else PowerCaps(now=node.now())


def parse(text: str, now: float) -> PowerCaps | Missing:
    """Return the caps in the actor's file, or Missing where it is none."""
    try:
        told = msgspec.json.decode(text, type=PowerCaps)
    except (msgspec.MsgspecError, RecursionError) as problem:
        detail = f"{PATH}: {problem}"[:200]
        return Missing(what="PowerCaps", cause=Cause.GARBLED, detail=detail)
    return msgspec.structs.replace(told, handed_over=(), now=now)
