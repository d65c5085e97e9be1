"""What was told of an incident last, kept as long as its life is: `explain` asks for it later."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agent.daemon import state
from diagnostics.document import Document, Incident, plain
from diagnostics.incidents.life import Life

NAME = "incidents.json"
# With eight findings each they stay far below what a file of state may have.
MOST, MOST_FINDINGS, MOST_EVIDENCE = 64, 8, 6


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The file: by fingerprint the diagnosis that told an incident last, cut down to it."""

    schema: Literal["gpudiag.incidents/1"] = "gpudiag.incidents/1"
    told: dict[str, Document] = {}


class Stories:
    """The last word on each incident that is over; made before the loop, because it reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: state.Writer | None = None
        kept, self._damage = state.load(folder / NAME, Told)
        self._told = kept.told if kept else {}
        self._open: Mapping[str, Incident] = {}
        self._last: Document | None = None

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the file, or was when it was read."""
        return (self._writer.problem if self._writer else None) or self._damage

    def walked(self, document: Document, lives: Mapping[str, Life]) -> None:
        """Keep what was told of each incident that is not there any more."""
        now = {one.fingerprint: one for one in document.incidents}
        self._keep(self._open.keys() - now.keys(), lives)
        self._open, self._last = now, document

    def end(self, lives: Mapping[str, Life]) -> None:
        """Keep all: what is over by the next start was told for the last time."""
        self._keep(self._open, lives)

    def of(self, name: str, life: Life) -> Document | None:
        """Return the diagnosis that told it last, with the state that it has now."""
        told = self._told.get(name)
        if told is None:
            return None
        incidents = tuple(msgspec.structs.replace(one, state=life.state) for one in told.incidents)
        return msgspec.structs.replace(told, incidents=incidents)

    def _keep(self, names: Iterable[str], lives: Mapping[str, Life]) -> None:
        new = {name: cut(self._last, self._open[name]) for name in names if self._last}
        known = {name: one for name, one in {**self._told, **new}.items() if name in lives}
        if not new and len(known) == len(self._told):
            return
        self._told = dict(list(known.items())[-MOST:])
        if self._writer is None:
            self._writer = state.Writer(self._folder, partial(state.write, name=NAME), NAME)
        self._writer.put(Told(told=self._told))

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what waits; return whether that was done in time. Not for the loop: it waits."""
        return self._writer is None or self._writer.close(patience_s)


def cut(document: Document, incident: Incident) -> Document:
    """Return a diagnosis with one incident, its first findings and its plan, and no more."""
    follows = incident.consequences[: MOST_FINDINGS - 1]
    ids = {incident.root, *follows}
    findings = tuple(
        {**one, "evidence": one["evidence"][:MOST_EVIDENCE]}
        for one in plain(document.findings)
        if one["id"] in ids
    )
    return msgspec.structs.replace(
        document,
        stages=(),
        findings=findings,
        root_causes=(incident.root,),
        incidents=(msgspec.structs.replace(incident, consequences=follows),),
        jobs=(),
        plan=tuple(line for line in document.plan if line.incident == incident.id),
    )
