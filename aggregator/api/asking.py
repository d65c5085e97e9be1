"""Who asks, and what: credentials, query and body of a request."""

import base64
import binascii
from http import HTTPStatus
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel

from aggregator.api import bounds, strict
from aggregator.api.problem import Problem
from aggregator.service import Aggregator
from aggregator.store.records import Role, Token

Model = TypeVar("Model", bound=BaseModel)
AGGREGATOR = web.AppKey("aggregator", Aggregator)
SECONDS = 10.0


async def caller(request: web.Request, roles: frozenset[Role]) -> Token:
    """Return who asks; nothing of the body was read yet."""
    header = request.headers.get("Authorization", "")
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer":
        raise _unknown("give a credential: Authorization: Bearer gpudiag_...")
    token = await request.app[AGGREGATOR].caller(text.strip())
    if token is None:
        raise _unknown("the credential is unknown, expired or revoked")
    if token.role not in roles:
        asked = ", ".join(sorted(roles))
        raise Problem(HTTPStatus.FORBIDDEN, f"this is for {asked}; the credential is {token.role}")
    return token


def _unknown(detail: str) -> Problem:
    return Problem(
        HTTPStatus.UNAUTHORIZED, detail, headers={"WWW-Authenticate": 'Bearer realm="gpudiag"'}
    )


async def document(request: web.Request, model: type[Model]) -> Model:
    """Return the body as a document."""
    read = await bounds.body(
        request, sent=bounds.DOCUMENT, unpacked=bounds.DOCUMENT, seconds=SECONDS
    )
    try:
        found = strict.object_of(bytes(read))
    except strict.Refused as refused:
        raise Problem(HTTPStatus.BAD_REQUEST, f"body: {refused}") from None
    return model.model_validate(found)


def query(request: web.Request, model: type[Model]) -> Model:
    """Return the query as a document; a key that stands twice is refused."""
    names = [name for name, _ in request.query.items()]
    if len(names) != len(set(names)):
        raise Problem(HTTPStatus.BAD_REQUEST, "query: a key stands twice")
    return model.model_validate(dict(request.query))


def cursor(text: str | None) -> str | None:
    """Return what a cursor holds."""
    if text is None:
        return None
    try:
        return base64.urlsafe_b64decode(text.encode("ascii")).decode()
    except (binascii.Error, UnicodeError):
        raise wrong_cursor() from None


def wrong_cursor() -> Problem:
    """Return the refusal of a cursor that was not given out here."""
    return Problem(
        HTTPStatus.BAD_REQUEST,
        "cursor: take it from `next` of the page before",
        errors=[{"field": "cursor", "problem": "not a cursor of this list"}],
    )


def to_cursor(value: str) -> str:
    """Return a cursor that holds *value*."""
    return base64.urlsafe_b64encode(value.encode()).decode()


def answer(document: BaseModel, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """Return a document as the response."""
    return web.Response(
        status=status,
        body=document.model_dump_json().encode(),
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )
