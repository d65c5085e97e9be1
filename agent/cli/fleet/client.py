"""Ask the aggregator: each failure becomes one line that says what to do about it."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import msgspec

from agent.cli.errors import Mistake
from agent.cli.fleet.access import ROLES, Access, Options, access
from agent.cli.fleet.unreached import unreached

DEADLINE_S = 30.0
CONNECT_S = 10.0
ANSWER_CAP = 64 << 20
PAGE = 1000
NO_ANSWER = "is a proxy between, or something else at this address?"


class Refusal(msgspec.Struct, frozen=True):
    """What is read of a problem document."""

    detail: str = ""


def segment(name: str) -> str:
    """Return *name* as one segment of a path, whatever is in it."""
    return quote(name, safe="")


def ask(options: Options, method: str, path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
    """Return the document that is answered, None where the answer is empty; raises Mistake."""

    async def once() -> Any:  # noqa: ANN401 - JSON
        async with _session(whom) as session:
            return await _ask(session, whom, method, path, body)

    whom = access(options)
    return asyncio.run(once())


def pages(options: Options, path: str) -> list[dict[str, Any]]:
    """Return the items of all pages of a list; raises Mistake."""

    async def every() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        query: dict[str, Any] = {"limit": PAGE}
        async with _session(whom) as session:
            while True:
                page = await _ask(session, whom, "GET", f"{path}?{urlencode(query)}")
                items += page["items"]
                if not page["next"]:
                    return items
                query["cursor"] = page["next"]

    whom = access(options)
    return asyncio.run(every())


@asynccontextmanager
async def _session(whom: Access) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=_tls(whom))
    limits = aiohttp.ClientTimeout(total=DEADLINE_S, sock_connect=CONNECT_S)
    async with aiohttp.ClientSession(
        connector=connector, timeout=limits, headers={"Authorization": f"Bearer {whom.token}"}
    ) as session:
        yield session


def _tls(whom: Access) -> ssl.SSLContext | bool:
    if not whom.aggregator.startswith("https:"):
        return True
    try:
        context = ssl.create_default_context(cafile=whom.ca)
        if whom.certificate is not None:
            context.load_cert_chain(whom.certificate, whom.key)
    except (OSError, ssl.SSLError) as problem:
        files = ", ".join(f for f in (whom.ca, whom.certificate, whom.key) if f)
        why = problem.strerror or str(problem)
        raise Mistake(f"{files}: {why}", "give PEM files that belong together") from None
    return context


async def _ask(
    session: aiohttp.ClientSession,
    whom: Access,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - JSON
    try:
        async with session.request(
            method, whom.aggregator + path, json=body, allow_redirects=False
        ) as answer:
            text = await _read(answer)
    except (aiohttp.ClientError, OSError, TimeoutError) as problem:
        raise unreached(whom.aggregator, problem) from None
    if not 200 <= answer.status < 300:  # noqa: PLR2004 - the statuses of success
        raise _refused(whom, answer.status, text)
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Mistake(f"{whom.aggregator} answers what is no JSON", NO_ANSWER) from None


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """Return the body, of one that never ends no more than the bound."""
    text = bytearray()
    async for part in answer.content.iter_any():
        text += part
        if len(text) > ANSWER_CAP:
            break
    return bytes(text)


def _refused(whom: Access, status: int, text: bytes) -> Mistake:
    try:
        detail = msgspec.json.decode(text, type=Refusal).detail
    except (msgspec.DecodeError, RecursionError):
        detail = ""
    hints = {
        HTTPStatus.UNAUTHORIZED: ROLES,
        HTTPStatus.FORBIDDEN: "use a credential of such a role: gpudiag-aggregator token create",
        HTTPStatus.NOT_FOUND: "gpudiag fleet nodes and gpudiag fleet enroll list what there is",
        HTTPStatus.CONFLICT: "look at it first: gpudiag fleet --help lists the commands",
        HTTPStatus.SERVICE_UNAVAILABLE: "repeat it in a minute; its log says what it waits for",
        HTTPStatus.INTERNAL_SERVER_ERROR: "look at its log: journalctl -u gpudiag-aggregator",
    }
    hint = (
        hints.get(HTTPStatus(status), "correct it and repeat the command") if detail else NO_ANSWER
    )
    return Mistake(
        f"{whom.aggregator} answers {status}" + (f": {detail[:400]}" if detail else ""), hint
    )
