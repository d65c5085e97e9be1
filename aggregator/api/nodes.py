"""Nodes: their states with age, what they said last, what they said before."""

from typing import Any

import msgspec
from aiohttp import web

from aggregator.api import documents
from aggregator.api.asking import AGGREGATOR, answer, cursor, query, to_cursor, wrong_cursor
from aggregator.api.documents import moment
from aggregator.fleet.states import state
from aggregator.service import Aggregator
from aggregator.store.records import NodeRecord, Past, Token

NEWEST = 2**63 - 1


async def page(request: web.Request, caller: Token) -> web.Response:
    """List nodes by name."""
    del caller
    asked = query(request, documents.NodesQuery)
    aggregator = request.app[AGGREGATOR]
    now = aggregator.clock()
    found = await aggregator.store.nodes(cursor(asked.cursor) or "", asked.limit + 1, now)
    shown = found[: asked.limit]
    behind = to_cursor(shown[-1].node) if len(found) > len(shown) else None
    items = tuple(documents.Node(**_node(aggregator, record, now)) for record in shown)
    return answer(documents.NodePage(items=items, next=behind))


async def one(request: web.Request, caller: Token) -> web.Response:
    """Show a node with its findings, parts, versions and events."""
    del caller
    aggregator = request.app[AGGREGATOR]
    now = aggregator.clock()
    found = await aggregator.store.node(request.match_info["node"], now)
    if found is None:
        raise web.HTTPNotFound
    detail = documents.NodeDetail(
        **_node(aggregator, found.record, now),
        clock_offset_s=round(found.record.sent - found.record.received, 3),
        stages_s=aggregator.stages_of(found.record.node, now),
        findings=found.findings,
        parts=tuple(documents.Part(**msgspec.structs.asdict(part)) for part in found.parts),
        versions=dict(found.versions),
        events=tuple(
            documents.Event(kind=event.kind, time=moment(event.time), text=event.text)
            for event in found.events
        ),
    )
    return answer(detail)


def _node(aggregator: Aggregator, record: NodeRecord, now: float) -> dict[str, Any]:
    """Return the fields of a node's document."""
    until, snapshot = record.maintenance_until, record.snapshot_received
    return {
        "node": record.node,
        "state": state(
            record.received,
            now,
            listening_since=aggregator.listening_since,
            maintenance_until=until,
        ),
        "verdict": record.verdict,
        "age_s": round(max(0.0, now - record.received), 3),
        "received": moment(record.received),
        "first_seen": moment(record.first_seen),
        "snapshot_age_s": None if snapshot is None else round(max(0.0, now - snapshot), 3),
        "boot_id": record.boot_id,
        "machine": record.machine,
        "product": record.product,
        "simulated": record.simulated,
        "dropped": record.dropped,
        "maintenance_until": None if until is None else moment(until),
        "maintenance_reason": record.maintenance_reason,
        "places": aggregator.places_of(record.node),
    }


async def history(request: web.Request, caller: Token) -> web.Response:
    """List the stored reports of a node, newest first."""
    del caller
    asked = query(request, documents.HistoryQuery)
    store = request.app[AGGREGATOR].store
    before = number(cursor(asked.cursor), NEWEST)
    found = await store.history(request.match_info["node"], before, asked.limit)
    behind = to_cursor(str(found.items[-1].id)) if found.more else None
    return answer(documents.History(items=tuple(_past(one) for one in found.items), next=behind))


def number(text: str | None, otherwise: int) -> int:
    """Return the number that a cursor holds."""
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 19):  # noqa: PLR2004 - digits of 2**63
        raise wrong_cursor()
    return int(text)


def _past(past: Past) -> documents.Past:
    return documents.Past(
        boot_id=past.boot_id,
        sequence=past.sequence,
        kind=past.kind,
        sent=moment(past.sent),
        received=moment(past.received),
        verdict=past.verdict,
        report=msgspec.json.decode(past.body),
    )
