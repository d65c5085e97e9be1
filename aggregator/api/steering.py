"""Leases, maintenance, and the two switches over all acting: pause and breaker."""

import secrets
from http import HTTPStatus

import msgspec
import structlog
from aiohttp import web

from aggregator.api import orders
from aggregator.api.asking import AGGREGATOR, answer, document
from aggregator.api.documents import moment
from aggregator.api.problem import Problem
from aggregator.fleet import leases as pure
from aggregator.store import records

log = structlog.get_logger()


async def ask_lease(request: web.Request, caller: records.Token) -> web.Response:
    """May I take this node away? 201, 200 where the node's own lease goes on, or 409 with why."""
    asked = await document(request, orders.LeaseRequest)
    if asked.node != caller.node:
        raise Problem(HTTPStatus.FORBIDDEN, f"node: the credential is of {caller.node}")
    aggregator = request.app[AGGREGATOR]
    wanted = pure.Wanted(
        id=secrets.token_hex(8),
        node=asked.node,
        remedy=asked.remedy,
        seconds=asked.seconds,
        places=aggregator.places_of(asked.node),
        serial=asked.serial,
        signature=asked.signature,
        fault=asked.fault,
    )
    decision = await aggregator.store.lease(
        wanted, aggregator.limits, aggregator.clock(), aggregator.shared_by
    )
    log.info(
        "lease", node=asked.node, remedy=asked.remedy,
        granted=decision.lease is not None, reason=decision.reason,
    )  # fmt: skip # one decision, one line of it
    if decision.lease is None:
        raise Problem(HTTPStatus.CONFLICT, decision.reason, headers={"Retry-After": "300"})
    status = HTTPStatus.OK if decision.renewed else HTTPStatus.CREATED
    return answer(_lease(decision.lease), status)


async def leases(request: web.Request, caller: records.Token) -> web.Response:
    """List the nodes that are out by us."""
    del caller
    aggregator = request.app[AGGREGATOR]
    held = await aggregator.store.leases(aggregator.clock())
    return answer(orders.Leases(items=tuple(_lease(one) for one in held)))


async def release(request: web.Request, caller: records.Token) -> web.Response:
    """Give a lease back: a node its own, an operator any."""
    own = caller.node if caller.role == "node" else None
    if not await request.app[AGGREGATOR].store.release(request.match_info["id"], own):
        raise web.HTTPNotFound
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _lease(lease: pure.Lease) -> orders.Lease:
    fields = msgspec.structs.asdict(lease)
    return orders.Lease(**(fields | {key: moment(fields[key]) for key in ("granted", "expires")}))


async def maintenances(request: web.Request, caller: records.Token) -> web.Response:
    """List the nodes that people work on."""
    del caller
    aggregator = request.app[AGGREGATOR]
    found = await aggregator.store.maintenances(aggregator.clock())
    return answer(orders.Maintenances(items=tuple(_maintenance(one) for one in found)))


async def maintain(request: web.Request, caller: records.Token) -> web.Response:
    """Begin, change or end the maintenance of a node."""
    asked = await document(request, orders.MaintenanceRequest)
    aggregator = request.app[AGGREGATOR]
    now = aggregator.clock()
    made = records.Maintenance(
        node=asked.node,
        until=now + asked.hours * 3600,
        reason=asked.reason,
        by=caller.name,
        created=now,
    )
    await aggregator.store.put_maintenance(made)
    aggregator.maintain(made)
    return answer(_maintenance(made))


def _maintenance(one: records.Maintenance) -> orders.Maintenance:
    return orders.Maintenance(
        node=one.node,
        until=moment(one.until),
        reason=one.reason,
        by=one.by,
        created=moment(one.created),
    )


async def pause(request: web.Request, caller: records.Token) -> web.Response:
    """Stop or allow all acting; every node hears it with the answer to its next report."""
    asked = await document(request, orders.PauseRequest)
    aggregator = request.app[AGGREGATOR]
    switch = records.Switch(
        name="pause", on=asked.paused, since=aggregator.clock(), by=caller.name, reason=asked.reason
    )
    await aggregator.store.put_switch(switch)
    aggregator.paused = asked.paused
    log.warning("pause", paused=asked.paused, by=caller.name, reason=asked.reason)
    return answer(_switch(switch))


async def paused(request: web.Request, caller: records.Token) -> web.Response:
    """Tell whether all acting is stopped, by whom and why."""
    del caller
    return answer(_switch(await request.app[AGGREGATOR].store.switch("pause")))


async def breaker(request: web.Request, caller: records.Token) -> web.Response:
    """Tell whether the breaker is open, and by what."""
    del caller
    return answer(_switch(await request.app[AGGREGATOR].store.switch("breaker")))


async def reset_breaker(request: web.Request, caller: records.Token) -> web.Response:
    """Close the breaker; requests are counted from now on."""
    asked = await document(request, orders.ResetRequest)
    aggregator = request.app[AGGREGATOR]
    switch = records.Switch(
        name="breaker", on=False, since=aggregator.clock(), by=caller.name, reason=asked.reason
    )
    await aggregator.store.put_switch(switch)
    log.warning("breaker reset", by=caller.name, reason=asked.reason)
    return answer(_switch(switch))


def _switch(switch: records.Switch | None) -> orders.Switch:
    if switch is None:
        return orders.Switch(on=False, since=None, by=None, reason=None)
    return orders.Switch(
        on=switch.on, since=moment(switch.since), by=switch.by, reason=switch.reason
    )
