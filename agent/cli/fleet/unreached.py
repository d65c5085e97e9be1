"""Why no answer came from the aggregator, in one line, and what to do."""

import os
from typing import Any

import aiohttp

from agent.cli.errors import Mistake

ELSEWHERE = "is gpudiag-aggregator running there? --aggregator names another one"
UNKNOWN_AUTHORITY = "name its authority with --ca, and the aggregator as its certificate does"
# In this order: the later ones are what the earlier ones are a kind of.
REASONS: tuple[tuple[type[Exception], str, str], ...] = (
    (TimeoutError, "no answer in time", ELSEWHERE),
    (
        aiohttp.ClientConnectorCertificateError,
        "its certificate is not trusted: {why}",
        UNKNOWN_AUTHORITY,
    ),
    (
        aiohttp.ClientConnectorSSLError,
        "no TLS with it: {why}",
        "try http:// instead of https://; or give certificate and key, if it asks for them",
    ),
    (
        aiohttp.ClientConnectorDNSError,
        "there is no host of this name",
        "--aggregator names another one",
    ),
    (
        aiohttp.ServerDisconnectedError,
        "it hangs up without an answer",
        "try https:// instead of http://; with https, it may ask for your certificate and key",
    ),
)


def unreached(where: str, problem: Exception) -> Mistake:
    """Return the mistake for a request that got no answer."""
    for kind, what, hint in REASONS:
        if isinstance(problem, kind):
            return Mistake(f"{where}: {what.format(why=_said(problem))}", hint)
    return Mistake(f"{where}: {_said(problem)}", ELSEWHERE)


def _said(problem: Any) -> str:  # noqa: ANN401 - each kind of aiohttp's has another inner one
    inner = getattr(problem, "certificate_error", getattr(problem, "os_error", problem))
    if isinstance(inner, ConnectionError) and inner.errno:
        # asyncio's own text repeats the address: Connect call failed ('127.0.0.1', 9837)
        return os.strerror(inner.errno)
    said = getattr(inner, "verify_message", None) or getattr(inner, "strerror", None)
    return str(said or problem)[:200] or type(problem).__name__
