"""The web application: routes with what stands before each of them."""

from http import HTTPStatus

import msgspec
from aiohttp import web

from aggregator import BUILD
from aggregator.api import bounds, openapi, probes, unparsed
from aggregator.api.asking import AGGREGATOR
from aggregator.api.problem import Handler, problems
from aggregator.api.routes import ROUTES
from aggregator.service import Aggregator

IDLE_S = 75.0
LINGER_S = 5.0


@web.middleware
async def counted(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count answers by route and status; the route's pattern bounds the labels."""
    response = await handler(request)
    resource = request.match_info.route.resource
    route = f"{request.method} {resource.canonical}" if resource is not None else "unknown"
    request.app[AGGREGATOR].tallies.requests[route, response.status] += 1
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def build(aggregator: Aggregator) -> web.Application:
    """Return the application around *aggregator*."""
    app = web.Application(middlewares=[counted, problems, bounds.bounded])
    app[AGGREGATOR] = aggregator
    for route in ROUTES:
        app.router.add_route(
            route.method, route.path, route.handle, expect_handler=unparsed.expectation
        )
    app.router.add_get("/healthz", probes.healthz)
    app.router.add_get("/readyz", probes.readyz)
    app.router.add_get("/metrics", probes.metrics)
    described = msgspec.json.encode(openapi.document(BUILD.partition(" ")[2]))

    async def describe(request: web.Request) -> web.Response:
        del request
        return web.Response(status=HTTPStatus.OK, body=described, content_type="application/json")

    app.router.add_get("/openapi.json", describe)
    return app


def runner(aggregator: Aggregator, *, idle_s: float = IDLE_S) -> web.AppRunner:
    """Return what serves it; bodies are unpacked by the routes, within their bounds."""
    return unparsed.Runner(
        build(aggregator),
        access_log=None,
        auto_decompress=False,
        handler_cancellation=False,
        keepalive_timeout=idle_s,
        lingering_time=LINGER_S,
        max_line_size=bounds.PARSER_LINE,
        max_field_size=bounds.PARSER_LINE,
        shutdown_timeout=5.0,
    )
