"""Find the incident that somebody names: in a recording, at the daemon, or by a walk of now."""

import asyncio
from typing import Any

import msgspec

from agent.cli.errors import Mistake
from agent.cli.local import Refused, Unanswered, ask
from agent.cli.run import SETTINGS, diagnose, in_turns, open_node
from agent.settings.load import Settings, load
from agent.walk.walk import Selection
from collectors.node.protocol import Node
from diagnostics.document import Document, Incident

DEADLINE_S = 5.0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An incident with the diagnosis that it is of."""

    document: Document
    incident: Incident


def find(name: str, replay: str | None, path: str) -> Found:
    """Return the incident of that id or fingerprint; raises Mistake where there is none."""
    document = replayed(replay) if replay else _of_daemon(path)
    for incident in document.incidents:
        if name in (incident.id, incident.fingerprint):
            return Found(document=document, incident=incident)
    over = None if replay else _over(name, path)
    if over is not None:
        return Found(document=over, incident=over.incidents[0])
    known = ", ".join(f"{one.id} ({one.fingerprint})" for one in document.incidents[:8])
    where = replay or document.node or "this node"
    hint = f"there is {known}" if known else "there is none: gpudiag run looks anew"
    raise Mistake(f"{where} has no incident {name}", hint)


def _over(name: str, path: str) -> Document | None:
    """Return what the agent told last of an incident that is over, None where it keeps none."""
    try:
        said = ask({"ask": "incident", "incident": name}, path=path, deadline_s=DEADLINE_S)
    except (Unanswered, Refused):
        return None
    return msgspec.convert(said, Document)


def acknowledged(found: Found, path: str) -> Found:
    """Have the agent note that a person knows of it; raises Mistake where it does not."""
    question = {"ask": "acknowledge", "incident": found.incident.fingerprint}
    try:
        life = ask(question, path=path, deadline_s=DEADLINE_S)
    except (Unanswered, Refused) as why:
        raise Mistake(str(why), "run it as root, or as a member of the group gpudiag") from None
    incident = msgspec.structs.replace(found.incident, state=life.get("state", "acknowledged"))
    return Found(document=found.document, incident=incident)


def opened(replay: str | None, path: str) -> tuple[Node, Settings]:
    """Return the way to see the node, in turns with its agent, and the settings that hold there."""
    node, settings, _ = open_node(replay, None, load(SETTINGS), ())
    if replay is None:
        in_turns(node, path)
    return node, settings


def replayed(folder: str) -> Document:
    """Return the diagnosis of a recording."""
    node, settings, logs = open_node(folder, None, load(SETTINGS), ())
    return asyncio.run(diagnose(node, settings, Selection(), logs, strict=False))


def _of_daemon(path: str) -> Document:
    try:
        said: dict[str, Any] = ask({"ask": "status"}, path=path, deadline_s=DEADLINE_S)
    except Unanswered as why:
        hint = "systemctl start gpudiag-agent starts it; --replay DIR looks at a recording"
        raise Mistake(f"{why} ({path})", hint) from None
    except Refused as why:
        raise Mistake(str(why), "use the gpudiag that belongs to the agent") from None
    if said["diagnosis"] is None:
        raise Mistake("the agent has not finished its first walk", "repeat this in a minute")
    return msgspec.convert(said["diagnosis"], Document)
