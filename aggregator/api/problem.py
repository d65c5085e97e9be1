"""Refusals as RFC 9457 problem documents, whatever refused."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from aiohttp import web
from pydantic import ValidationError

from aggregator.store.protocol import OverloadError, StoreError

MEDIA_TYPE = "application/problem+json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
log = structlog.get_logger()


class Problem(Exception):  # noqa: N818 - the name of the document
    """A refusal: what is wrong in `detail`, more members of the document in `more`."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: object,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}
        self.more = more


def response(problem: Problem, instance: str) -> web.Response:
    """Return the document; `type` is about:blank, so that `title` is the status's own phrase."""
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": problem.status.phrase,
        "status": int(problem.status),
        "detail": problem.detail,
        "instance": instance,
        **problem.more,
    }
    return web.Response(
        status=problem.status,
        body=msgspec.json.encode(document),
        content_type=MEDIA_TYPE,
        headers=problem.headers,
    )


def invalid(error: ValidationError) -> Problem:
    """Return 422 with each field that is wrong; the values themselves are not repeated."""
    errors = [
        {"field": ".".join(str(part) for part in one["loc"]) or "body", "problem": one["msg"]}
        for one in error.errors(include_input=False, include_url=False)[:20]
    ]
    first = errors[0]
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY, f"{first['field']}: {first['problem']}", errors=errors
    )


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every failure into its document; one of our own is logged, never shown."""
    try:
        return await handler(request)
    except Problem as problem:
        found = problem
    except ValidationError as error:
        found = invalid(error)
    except web.HTTPException as error:
        found = _of_http(error, request)
    except OverloadError as error:
        found = Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), headers={"Retry-After": "5"})
    except StoreError as error:
        log.error("store failed", path=request.path, error=str(error))  # noqa: TRY400 - the sentence is enough
        found = Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "the store could not keep or read it; nothing was accepted",
            headers={"Retry-After": "30"},
        )
    except ConnectionError:
        raise
    except Exception:
        log.exception("request failed", path=request.path)
        found = Problem(
            HTTPStatus.INTERNAL_SERVER_ERROR, "the aggregator itself failed; see its log"
        )
    return response(found, request.path)


def _of_http(error: web.HTTPException, request: web.Request) -> Problem:
    headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
    status = HTTPStatus(error.status)
    detail = {
        HTTPStatus.NOT_FOUND: "there is nothing of this name",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} is not for this path",
    }.get(status, status.phrase)
    return Problem(status, detail, headers=headers)
