"""The node's power limit by its BMC over Redfish: PowerControl of the chassis' Power resource.

    {"PowerControl": [{"PowerConsumedWatts": 5210, "PowerLimit": {"LimitInWatts": 6000,
                       "LimitException": "NoAction", "CorrectionInMs": 50}}]}

A change carries the ETag of what was read, so that another's change in between is not overwritten.
"""

import base64
import hashlib
import http.client
import ipaddress
import json
import os
import signal
import ssl
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from remediations.actor.registry import Refused
from remediations.actor.target import Reading, another

ASK_S = 10.0
MOST_BYTES = 1 << 20
MOST_WATTS = 100_000
MOST_SECRET = 512
PRECONDITION = 412
OK, BEYOND = 200, 300


class Power(NamedTuple):
    """What the BMC says: the limit (None: no limit), what is drawn, and how to change it."""

    limit: int | None
    exception: str | None
    drawn: int | None
    etag: str | None
    controls: int


class Redfish:
    """The node's limit in W. Without one, the limit is *base*: what the node drew at the start.

    *way* holds the `url` of the Power resource, the path of `credentials` (a file of root's that
    holds USER:PASSWORD), and the `sha256` of the BMC's certificate where it is of its own making.
    """

    unit = "W"
    found: Mapping[str, str] = {}

    def __init__(self, way: Mapping[str, str], base: int | None) -> None:
        self._way = way
        self._base = base

    def read(self) -> Reading:
        """Return the limit in force, beside what the node draws without one."""
        now = self._get()
        if now.limit is not None and self._base is None:
            # What is drawn under it cannot be told from the limit itself.
            raise Refused("denied", another(now.limit))
        base = now.drawn if self._base is None else self._base
        if not base:
            raise Refused("crashed", "the BMC does not measure what the node draws")
        return Reading(base if now.limit is None else now.limit, base, 0)

    def put(self, limit: int) -> int:
        """Set the limit; return what is in force then."""
        back = self._patch(limit)
        if back.limit != limit or back.exception not in (None, "NoAction"):
            self._patch(None)
            said = f"{back.limit} W with {back.exception}"
            raise Refused("denied", f"the BMC made {said} of {limit} W: taken back")
        return limit

    def restore(self, before: int) -> None:
        """Take the limit away: what was before is none."""
        del before
        if self._patch(None).limit is not None:
            raise Refused("denied", "the BMC does not take its power limit away")

    def _get(self) -> Power:
        return power(*ask(self._way, "GET"))

    def _patch(self, limit: int | None) -> Power:
        now = self._get()
        wanted: dict[str, Any] = {"LimitInWatts": limit}
        if limit is not None:
            wanted["LimitException"] = "NoAction"
        # The first control is the node's; an empty object leaves another as it is.
        controls = [{"PowerLimit": wanted}, *({} for _ in range(now.controls - 1))]
        ask(self._way, "PATCH", json.dumps({"PowerControl": controls}).encode(), now.etag)
        return self._get()


def power(body: bytes, etag: str | None) -> Power:
    """Return what a Power resource says; Refused where it is none."""
    try:
        said = json.loads(body)
        controls = said["PowerControl"]
        first = controls[0]
        limit = first.get("PowerLimit") or {}
        return Power(
            limit=_watts(limit.get("LimitInWatts")),
            exception=_text(limit.get("LimitException")),
            drawn=_watts(first.get("PowerConsumedWatts")),
            etag=etag or _text(said.get("@odata.etag")),
            controls=len(controls),
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise Refused("garbled", "the BMC's answer is no Power resource of Redfish") from None


def _watts(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MOST_WATTS:
        raise ValueError(value)
    return round(value)


def _text(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value.isprintable() else None


def ask(
    way: Mapping[str, str], method: str, body: bytes | None = None, etag: str | None = None
) -> tuple[bytes, str | None]:
    """Return body and ETag of one answer within 10 s; Refused with the reason where there is none.

    Nothing is followed elsewhere: credentials go to where the site says and nowhere else.
    """
    url = urlsplit(way.get("url", ""))
    headers = {"Accept": "application/json", "Authorization": _basic(way.get("credentials", ""))}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if etag is not None:
        headers["If-Match"] = etag
    try:
        with _within(ASK_S), _connected(url, way.get("sha256", "")) as link:
            link.request(method, url.path or "/", body, headers)
            answer = link.getresponse()
            text = answer.read(MOST_BYTES + 1)
            if answer.length and len(text) <= MOST_BYTES:
                # A bounded read does not say by itself that the rest never came.
                raise http.client.IncompleteRead(text, answer.length)
    except (TimeoutError, OSError, http.client.HTTPException) as problem:
        why = f"no answer in {ASK_S:g} s" if isinstance(problem, TimeoutError) else repr(problem)
        raise Refused("timeout", f"the BMC at {url.netloc:.80}: {why:.200}") from None
    if len(text) > MOST_BYTES:
        raise Refused("garbled", f"the BMC answers more than {MOST_BYTES} bytes")
    if answer.status == PRECONDITION:
        raise Refused("denied", "another changed the BMC's power settings at the same time")
    if not OK <= answer.status < BEYOND:
        raise Refused("denied", f"the BMC answers {method} with {answer.status}{_said(text)}")
    return text, answer.getheader("ETag")


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so long, however slowly bytes come; the process does only this."""

    def late(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _connected(url: SplitResult, sha256: str) -> Iterator[http.client.HTTPConnection]:
    host = url.hostname or ""
    if url.scheme == "https":
        link: http.client.HTTPConnection = _secured(host, url.port, sha256)
    elif url.scheme == "http" and _beside(host):
        link = http.client.HTTPConnection(host, url.port, timeout=ASK_S)
    else:
        raise Refused("denied", f"{url.geturl():.80} is neither https nor this node's own BMC")
    try:
        link.connect()
        _pinned(link, sha256)
        yield link
    finally:
        link.close()


def _secured(host: str, port: int | None, sha256: str) -> http.client.HTTPSConnection:
    context = ssl.create_default_context()
    if sha256:
        # A BMC's certificate is of its own making: it is known by its print, and by nothing else.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=ASK_S, context=context)


def _pinned(link: http.client.HTTPConnection, sha256: str) -> None:
    """Refuse another certificate than the site's before anything is said."""
    if not sha256 or not isinstance(link.sock, ssl.SSLSocket):
        return
    shown = link.sock.getpeercert(binary_form=True) or b""
    if hashlib.sha256(shown).hexdigest() != sha256.lower().replace(":", ""):
        raise Refused("denied", "the BMC shows another certificate than redfish_sha256 names")


def _beside(host: str) -> bool:
    """Return whether only this node can be meant: its loopback, or the link to its own BMC."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_link_local


def _basic(path: str) -> str:
    """Return the header for what stands in *path*; Refused where others can read or write it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise Refused("denied", f"{path:.80}: {problem.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid != 0 or seen.st_mode & 0o077:
            raise Refused("denied", f"{path} is refused: chown root {path}; chmod 600 {path}")
        secret = file.read(MOST_SECRET).strip()
    if b":" not in secret or b"\n" in secret:
        raise Refused("denied", f"{path} must hold USER:PASSWORD in one line")
    return f"Basic {base64.b64encode(secret).decode()}"


def _said(text: bytes) -> str:
    """Return the BMC's own words of an error, where it has some."""
    try:
        error = json.loads(text)["error"]
        words = str((error.get("@Message.ExtendedInfo") or [error])[0].get("Message") or "")
        words = words or str(error.get("message", ""))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return ""
    shown = "".join(c for c in words[:200] if c.isprintable())
    return f": {shown}" if shown else ""
