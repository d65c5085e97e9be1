"""Why no answer came from the aggregator, in one line, and what to do."""

import errno
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
)
HUNG_UP = (
    "it hangs up without an answer",
    "try https:// instead of http://; with https, it may ask for your certificate and key",
)
# Which of these comes, or a plain end, depends on how far the request was by then.
RESET = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)


def unreached(where: str, problem: Exception) -> Mistake:
    """Return the mistake for a request that got no answer."""
    if _hung_up(problem):
        return Mistake(f"{where}: {HUNG_UP[0]}", HUNG_UP[1])
    for kind, what, hint in REASONS:
        if isinstance(problem, kind):
            return Mistake(f"{where}: {what.format(why=_said(problem))}", hint)
    return Mistake(f"{where}: {_said(problem)}", ELSEWHERE)


def _hung_up(problem: Exception) -> bool:
    """Return whether the other end closed the connection; TLS says more where it is the reason."""
    return isinstance(problem, (aiohttp.ServerDisconnectedError, ConnectionResetError)) or (
        isinstance(problem, OSError)
        and not isinstance(problem, aiohttp.ClientSSLError)
        and problem.errno in RESET
    )


def _said(problem: Any) -> str:  # noqa: ANN401 - each kind of aiohttp's has another inner one
    inner = getattr(problem, "certificate_error", getattr(problem, "os_error", problem))
    if isinstance(inner, ConnectionError) and inner.errno:
        # asyncio's own text repeats the address: Connect call failed ('127.0.0.1', 9837)
        return os.strerror(inner.errno)
    said = getattr(inner, "verify_message", None) or getattr(inner, "strerror", None)
    return str(said or problem)[:200] or type(problem).__name__
