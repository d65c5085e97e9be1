"""Refusals of what is no request, made before any route: problem documents, as all others."""

from http import HTTPStatus

import structlog
from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import LineTooLong

from aggregator.api import bounds
from aggregator.api.problem import Problem, response

log = structlog.get_logger()


class Connection(web.RequestHandler):
    """One connection; it ends with its refusal, because what follows cannot be told apart."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the refusal of what the parser could not read, or of what went wrong beside it."""
        del message
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request failed", path=request.path, exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer is under way already")
        refusal = response(_problem(status, exc), request.path)
        refusal.force_close()
        return refusal


def _problem(status: int, exc: BaseException | None) -> Problem:
    if isinstance(exc, LineTooLong):
        most = bounds.PARSER_LINE
        return Problem(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"a line of a request may have {most} bytes"
        )
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return Problem(HTTPStatus(status), "this is no HTTP/1.1 request")
    return Problem(HTTPStatus(status), "the aggregator itself failed; see its log")


class Server(web.Server):
    """Makes such connections."""

    def __call__(self) -> Connection:
        """Return what speaks on a new one."""
        return Connection(self, loop=self._loop, **self._kwargs)


class Runner(web.AppRunner):
    """Runs the application behind them."""

    async def _make_server(self) -> Server:
        made = await super()._make_server()
        return Server(
            made.request_handler,
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            loop=made._loop,  # noqa: SLF001 - there is no public way to another RequestHandler
            **made._kwargs,  # noqa: SLF001 - same
        )


async def expectation(request: web.Request) -> web.StreamResponse | None:
    """Say 100 to who waits for it, 417 to who expects anything else."""
    expected = request.headers.get("Expect", "").lower()
    if expected != "100-continue":
        problem = Problem(HTTPStatus.EXPECTATION_FAILED, "only 100-continue can be expected")
        return response(problem, request.path)
    if request.version == HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # That is no answer yet: a refusal may still come.
        request.writer.output_size = 0
    return None
