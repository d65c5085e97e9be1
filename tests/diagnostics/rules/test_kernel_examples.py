"""Real lines of kernels and tools, read in place where GPUDIAG_FACTS names their folder."""

import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from diagnostics.checks.kernel.log import KernelLogLimits, findings
from diagnostics.checks.text.tools import tools
from diagnostics.finding import Finding
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import load as pages
from diagnostics.rules import kernel, rule
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import TrainingLogs

FACTS = os.environ.get("GPUDIAG_FACTS")
SHARE = 0.98
CODE = re.compile(r"\bS?Xid \([^)]{1,40}\): (\d{1,6})")
# What a program writes stands in a file as it is; the kernel's lines stand as dmesg prints them.
WRITTEN_BY_PROGRAMS = re.compile(r"^(?:smi_|fm_|gpu_reset_log|sel_|smart|power_brake)")
STAMP = "[  219.470994] "
SYSLOG = re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
# Nothing is wrong: identity, what came back, full speed, what monitoring itself causes.
NORMAL = re.compile(
    r"GPU at PCI:|successfully reset|GPU reset executed|nfs: server \S+ OK|Link up"
    r"|speed normal|Gb/s available PCIe bandwidth \(|mlx5_cmd_out_err|detected invalid context"
    r"|: 45, |DRM: VRAM"
)

pytestmark = pytest.mark.skipif(not FACTS, reason="GPUDIAG_FACTS names no folder of examples")


def told(example: dict[str, Any], known: Knowledge) -> list[Finding]:
    """Return what `logs` says of the lines of one example."""
    plain = WRITTEN_BY_PROGRAMS.match(example["id"])
    stamps = ("" if plain or SYSLOG.match(line) else STAMP for line in example["lines"])
    text = "".join(f"{s}{line}\n" for s, line in zip(stamps, example["lines"], strict=True))
    reading = Reading(known, "example.log")
    reading.feed(text.encode())
    seen = reading.seen()
    by_tools = tools.run({TrainingLogs: TrainingLogs(logs=(seen,))}).findings
    by_kernel = findings(seen.kernel, KernelLogLimits()) if seen.kernel else ()
    return [*by_tools, *by_kernel]


def right(example: dict[str, Any], found: list[Finding]) -> bool:
    """Say whether a normal line alarms nobody, a code is told, and the rest has a known fault."""
    first = example["lines"][0]
    if NORMAL.search(first):
        return all(finding.severity == "info" for finding in found)
    if code := CODE.search(first):
        values = [evidence.values for finding in found for evidence in finding.evidence]
        return int(code[1]) in {value.get(name) for value in values for name in ("xid", "sxid")}
    return bool(found) and all(named(finding.fault) in pages() for finding in found)


def test_real_lines_are_understood() -> None:
    """At least 98 of 100 real lines: the right code, a known fault, no alarm for what is normal."""
    lines = (Path(FACTS or "") / "kernel_examples.jsonl").read_bytes().splitlines()
    examples = [msgspec.json.decode(line) for line in lines]
    known = Knowledge.of((*rule.load(), *kernel.load()))
    wrong = [
        example["lines"][0] for example in examples if not right(example, told(example, known))
    ]

    assert wrong[: int(len(examples) * (1 - SHARE))] == wrong
