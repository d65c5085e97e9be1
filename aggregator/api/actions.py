"""What was done to nodes, and why not: told by the nodes, read by everybody, changed by nobody."""

from http import HTTPStatus

import msgspec
from aiohttp import web

from aggregator.api import orders
from aggregator.api.asking import AGGREGATOR, answer, cursor, document, query, to_cursor
from aggregator.api.documents import moment
from aggregator.api.nodes import NEWEST, number
from aggregator.api.problem import Problem
from aggregator.fleet import facility, mass
from aggregator.store.records import Acted, Token


async def tell(request: web.Request, caller: Token) -> web.Response:
    """Keep what became of an action of the caller's own node."""
    asked = await document(request, orders.ActionRequest)
    if asked.node != caller.node:
        raise Problem(HTTPStatus.FORBIDDEN, f"node: the credential is of {caller.node}")
    aggregator = request.app[AGGREGATOR]
    acted = Acted(id=0, time=aggregator.clock(), **asked.model_dump())
    await aggregator.store.put_action(acted)
    return answer(_action(acted), HTTPStatus.CREATED)


async def listed(request: web.Request, caller: Token) -> web.Response:
    """List what was done to nodes and what was refused, newest first."""
    del caller
    asked = query(request, orders.ActionsQuery)
    before = number(cursor(asked.cursor), NEWEST)
    store = request.app[AGGREGATOR].store
    found = await store.actions(asked.node, before, asked.limit + 1)
    shown = found[: asked.limit]
    behind = to_cursor(str(shown[-1].id)) if len(found) > len(shown) else None
    return answer(orders.Actions(items=tuple(_action(one) for one in shown), next=behind))


async def hot(request: web.Request, caller: Token) -> web.Response:
    """List the places in which many nodes get hot at once."""
    del caller
    aggregator = request.app[AGGREGATOR]
    cases = [
        mass.Case(node=node, since=since, shares=aggregator.shared_by(node))
        for node, since in await aggregator.store.standing(facility.FAULTS)
    ]
    items = tuple(
        orders.Rise(place=rise.place, since=moment(rise.since), nodes=rise.nodes, says=rise.says)
        for rise in facility.rises(cases)
    )
    return answer(orders.Facility(items=items))


def _action(acted: Acted) -> orders.Action:
    fields = msgspec.structs.asdict(acted)
    del fields["id"]
    return orders.Action(**(fields | {"time": moment(acted.time)}))
