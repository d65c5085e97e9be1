"""The runs of some logs as the document holds them, with what was found on their curves."""

from collections.abc import Iterable
from typing import Any

import msgspec

from diagnostics.check import Result
from diagnostics.checks.training.given import heard
from diagnostics.rules.seen import TrainingLogs
from diagnostics.series.job import MOST, job

# In a walk a curve has no more points than a page can show: each report carries them.
IN_WALK = 200


def jobs(
    seen: TrainingLogs, results: Iterable[Result], most: int = MOST
) -> tuple[dict[str, Any], ...]:
    """Return one run for each log that has numbers; findings that quote it are marked."""
    findings = [finding for result in results for finding in result.findings]
    runs: list[dict[str, Any]] = []
    for log in seen.logs:
        told = [
            (finding.fault, finding.severity, evidence.line)
            for finding in findings
            for evidence in finding.evidence[:1]
            if evidence.source == log.name and evidence.line is not None
        ]
        if log.curve.points:
            runs.append(msgspec.to_builtins(job(log.name, log.curve, told, most, heard(log))))
    return tuple(runs)
