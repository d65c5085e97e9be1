"""The lines of POST /v1/reports: each becomes an arrival, or is refused with its reason."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from itertools import islice

import msgspec

from aggregator.api import strict
from aggregator.fleet import jobs, ways
from aggregator.fleet.ping_servers import named
from aggregator.store.bodies import pack
from aggregator.store.records import Arrival, PartSeen
from aggregator.wire import SCHEMA, Report

SLICE_S = 0.01
LARGE = 65_536
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}", re.ASCII)
ID = re.compile(r"[\x21-\x7e]{1,128}")
VERDICTS = frozenset(("ok", "warning", "fault", "unknown"))
PARTS = 1024
MOST_STAGES, STAGE = 16, 40
LATEST = 32_503_680_000.0
"""The year 3000: a clock can be wrong, a time stays printable."""

_decode = msgspec.json.Decoder(Report).decode


class Foreign(strict.Refused):
    """A report of another node than the credential's."""


class Taken(msgspec.Struct):
    """What became of a batch: `rejected` by number of the line, `foreign` how many of them."""

    arrivals: list[Arrival]
    rejected: dict[int, str]
    foreign: int = 0


async def take(lines: Sequence[memoryview], node: str, longest: int) -> Taken:
    """Judge lines; the loop goes on meanwhile."""
    taken = Taken([], {})
    loop = asyncio.get_running_loop()
    until = time.perf_counter() + SLICE_S
    for number, line in enumerate(lines):
        try:
            if len(line) > LARGE:
                # It would hold the loop for longer than anybody else should wait.
                found = await loop.run_in_executor(None, arrival, line, node, longest)
            else:
                found = arrival(line, node, longest)
            taken.arrivals.append(found)
        except Foreign as refused:
            taken.foreign += 1
            taken.rejected[number] = str(refused)
        except strict.Refused as refused:
            taken.rejected[number] = str(refused)
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE_S
    return taken


def arrival(line: memoryview, node: str, longest: int) -> Arrival:
    """Return one report of *node*, or raise Refused."""
    if len(line) > longest:
        raise strict.Refused(f"longer than {longest} bytes")
    report = _report(line)
    strict.check(line)
    _sane(report)
    if report.node != node:
        raise Foreign(f"it is of {report.node}, the credential of {node}")
    diagnosis = report.diagnosis or {}
    whole = report.kind == "snapshot"
    found = diagnosis.get("findings", ()) if whole else report.findings
    if not isinstance(found, list | tuple) or not all(isinstance(one, dict) for one in found):
        raise strict.Refused("diagnosis.findings: not a list of objects")
    return Arrival(
        node=report.node,
        boot_id=report.boot_id,
        sequence=report.sequence,
        kind=report.kind,
        sent=report.sent,
        verdict=report.verdict,
        product=report.product,
        machine=report.machine,
        simulated=report.simulated,
        dropped=report.dropped,
        body=None if report.kind == "heartbeat" else pack(report),
        changed=tuple(found),
        cleared=report.cleared,
        whole=whole,
        parts=tuple(
            PartSeen(
                kind=p.kind,
                serial=p.serial,
                slot=p.slot,
                model=p.model,
                firmware=p.firmware,
                rail=p.rail,
                switch=p.switch,
                switch_port=p.switch_port,
            )
            for p in report.parts
        ),
        versions=report.versions,
        stages_s=_stages(report.stages_s),
        gauges=report.gauges,
        peers=named(report.peers),
        silent=named(report.silent),
        worked=ways.usable(report.worked),
        jobs=jobs.usable(report.jobs),
    )


def _stages(told: Mapping[str, float]) -> dict[str, float]:
    """Return the ages that can be ones; a newer release may know other stages, and not many."""
    known = ((name, age) for name, age in told.items() if len(name) <= STAGE and age >= 0)
    return dict(islice(known, MOST_STAGES))


def _report(line: memoryview) -> Report:
    try:
        return _decode(line)
    except msgspec.ValidationError as error:
        raise strict.Refused(str(error)[:200]) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise strict.Refused(f"not JSON: {str(error)[:120]}") from None
    except RecursionError:
        raise strict.Refused(f"nested deeper than {strict.DEEPEST}") from None


def _sane(report: Report) -> None:
    """Refuse values that no agent sends; the field is named."""
    if report.schema != SCHEMA:
        raise strict.Refused(f"schema: {report.schema[:40]!r} is not {SCHEMA}")
    facts = {
        "node": NODE.fullmatch(report.node),
        "boot_id": ID.fullmatch(report.boot_id),
        "sequence": 0 <= report.sequence < 2**63,
        "sent": 0 <= report.sent < LATEST,
        "product": 0 < len(report.product) <= 128,  # noqa: PLR2004 - names with a version
        "verdict": report.verdict in VERDICTS,
        "machine": report.machine is None or ID.fullmatch(report.machine),
        "dropped": 0 <= report.dropped < 2**53,
        "parts": len(report.parts) <= PARTS,
    }
    wrong = [name for name, right in facts.items() if not right]
    if wrong:
        raise strict.Refused(f"{wrong[0]}: out of its bounds")
