"""Replay a recorded node in this process, and sum up its diagnosis as expected.json holds it."""

import asyncio
import json
from pathlib import Path
from typing import Any

from agent.cli.run import diagnose, open_node
from agent.settings.load import Settings
from agent.walk.walk import Selection
from diagnostics.document import STATUS, Document

NODES = Path(__file__).parent
NAMES = tuple(sorted(path.parent.name for path in NODES.glob("*/meta.toml")))


def replay(name: str) -> Document:
    """Return the diagnosis of one recorded node, by the functions that `gpudiag run` calls."""
    return replay_at(NODES / name)


def replay_at(folder: Path) -> Document:
    """Return the diagnosis of the recording in *folder*."""
    node, settings, logs = open_node(str(folder), None, Settings(), ())
    return asyncio.run(diagnose(node, settings, Selection(), logs, strict=False))


def summary(document: Document) -> dict[str, Any]:
    """Return what is compared: everything but sentences, numbers and what does not apply.

    Checks that do not apply are left out, so that a new check changes no old recording.
    """
    said = {
        f["id"]: f"{f['fault']} of {f['subject']['kind']} {f['subject']['name']}"
        for f in document.findings
    }
    roots = {incident.id: said[incident.root] for incident in document.incidents}
    return {
        "verdict": document.verdict,
        "status": STATUS[document.verdict],
        "stages": {stage.name: stage.verdict for stage in document.stages},
        "held_back": {s.name: said[s.held_back_by] for s in document.stages if s.held_back_by},
        "checks": {
            check.check: check.verdict
            for stage in document.stages
            for check in stage.checks
            if check.verdict != "not_applicable"
        },
        "findings": [
            {
                "fault": f["fault"],
                "severity": f["severity"],
                "subject": f"{f['subject']['kind']} {f['subject']['name']}",
                "check": f["check"],
                "explained_by": said.get(f["explained_by"]),
            }
            for f in document.findings
        ],
        "root_causes": [said[name] for name in document.root_causes],
        "incidents": [
            {"root": roots[i.id], "consequences": [said[name] for name in i.consequences]}
            for i in document.incidents
        ],
        "plan": [
            {"remedy": line.remedy, "decision": line.decision, "incident": roots[line.incident]}
            for line in document.plan
        ],
    }


def expected(name: str) -> dict[str, Any] | None:
    """Return what expected.json holds, None where the node has none yet."""
    path = NODES / name / "expected.json"
    if not path.exists():
        return None
    held: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return held
