"""Enrolment of nodes, and the credentials of everybody."""

import hashlib
from http import HTTPStatus
from typing import Literal

from aiohttp import web

from aggregator import credentials
from aggregator.api import documents
from aggregator.api.asking import AGGREGATOR, answer, document
from aggregator.api.documents import moment
from aggregator.api.problem import Problem
from aggregator.fleet.enrolling import Asked, Enrolment
from aggregator.store import records


async def enrol(request: web.Request, caller: records.Token) -> web.Response:
    """Give a node a credential of its own for a join token, or let it wait for a person."""
    asked = await document(request, documents.EnrolRequest)
    aggregator = request.app[AGGREGATOR]
    now = aggregator.clock()
    token, text = credentials.make(
        "node", asked.node, now, credentials.NODE_S, node=asked.node, machine=asked.machine
    )
    wanted = Asked(
        node=asked.node,
        machine=asked.machine,
        nonce=hashlib.sha256(asked.nonce.encode()).digest(),
        join=caller.id,
        uses_per_node=caller.uses_per_node,
    )
    outcome = await aggregator.store.enrol(wanted, token, now)
    aggregator.forget(node=asked.node)
    if outcome.state == "pending":
        return answer(documents.Waiting(reason=outcome.reason), HTTPStatus.ACCEPTED)
    return answer(_credential(token, text), HTTPStatus.CREATED)


async def rotate(request: web.Request, caller: records.Token) -> web.Response:
    """Give a node a new credential; the old one ends after the first use of the new one."""
    aggregator = request.app[AGGREGATOR]
    token, text = credentials.make(
        "node",
        caller.name,
        aggregator.clock(),
        credentials.NODE_S,
        node=caller.node,
        machine=caller.machine,
        supersedes=caller.id,
    )
    await aggregator.store.put_token(token)
    return answer(_credential(token, text), HTTPStatus.CREATED)


def _credential(token: records.Token, text: str) -> documents.Credential:
    return documents.Credential(
        id=token.id,
        role=token.role,
        name=token.name,
        node=token.node,
        expires=moment(token.expires),
        rotate_after=moment((token.created + token.expires) / 2),
        credential=text,
    )


async def enrollments(request: web.Request, caller: records.Token) -> web.Response:
    """List names with the machines that have them or wait."""
    del caller
    found = await request.app[AGGREGATOR].store.enrolments()
    return answer(documents.Enrollments(items=tuple(_enrollment(one) for one in found)))


async def approve(request: web.Request, caller: records.Token) -> web.Response:
    """Let the machine that waits under a name have it; what had it loses its credential then."""
    del caller
    node = request.match_info["node"]
    found = await request.app[AGGREGATOR].store.approve(node)
    if found is None:
        raise Problem(HTTPStatus.CONFLICT, f"no machine waits to be enrolled as {node}")
    return answer(_enrollment(found))


async def revoke_node(request: web.Request, caller: records.Token) -> web.Response:
    """Revoke all credentials of a node; to come back it has to be approved."""
    del caller
    node = request.match_info["node"]
    aggregator = request.app[AGGREGATOR]
    revoked = await aggregator.store.revoke_tokens(node=node)
    aggregator.forget(node=node)
    if not revoked:
        raise web.HTTPNotFound
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _enrollment(one: Enrolment) -> documents.Enrollment:
    since = one.pending_since
    return documents.Enrollment(
        node=one.node,
        state=_state(one),
        machine=one.machine,
        enrolled=moment(one.enrolled),
        pending_machine=one.pending,
        pending_since=None if since is None else moment(since),
    )


def _state(one: Enrolment) -> Literal["enrolled", "pending", "approved", "revoked"]:
    if one.pending is not None:
        return "approved" if one.approved else "pending"
    return "revoked" if one.revoked else "enrolled"


async def tokens(request: web.Request, caller: records.Token) -> web.Response:
    """List credentials without their secrets."""
    del caller
    found = await request.app[AGGREGATOR].store.tokens()
    return answer(documents.Tokens(items=tuple(_token(token) for token in found)))


async def make_token(request: web.Request, caller: records.Token) -> web.Response:
    """Make a credential; its text is in this answer and nowhere else."""
    del caller
    asked = await document(request, documents.TokenRequest)
    aggregator = request.app[AGGREGATOR]
    token, text = credentials.make(
        asked.role,
        asked.name,
        aggregator.clock(),
        asked.hours * 3600,
        uses_per_node=asked.uses_per_node,
    )
    await aggregator.store.put_token(token)
    return answer(_credential(token, text), HTTPStatus.CREATED)


async def revoke_token(request: web.Request, caller: records.Token) -> web.Response:
    """Revoke one credential."""
    del caller
    aggregator = request.app[AGGREGATOR]
    token_id = request.match_info["id"]
    revoked = await aggregator.store.revoke_tokens(token_id=token_id)
    aggregator.forget(token_id=token_id)
    if not revoked:
        raise web.HTTPNotFound
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _token(token: records.Token) -> documents.Token:
    return documents.Token(
        id=token.id,
        role=token.role,
        name=token.name,
        node=token.node,
        created=moment(token.created),
        expires=moment(token.expires),
        used=token.used,
        revoked=token.revoked,
    )
