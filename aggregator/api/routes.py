"""The table of the API: method, path, who, what it does, what it takes and answers."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import msgspec
from aiohttp import web
from pydantic import BaseModel

from aggregator.api import access, actions, asking, documents, nodes, orders, reports, steering
from aggregator.store.records import Role, Token

Call = Callable[[web.Request, Token], Awaitable[web.Response]]
NODE: frozenset[Role] = frozenset(("node",))
JOIN: frozenset[Role] = frozenset(("join",))
ADMIN: frozenset[Role] = frozenset(("admin",))
OPERATOR: frozenset[Role] = frozenset(("operator", "admin"))
VIEWER: frozenset[Role] = frozenset(("viewer", "operator", "admin"))


class Route(msgspec.Struct, frozen=True):
    """One row; `takes` is the body's model, `asks` the query's."""

    method: str
    path: str
    who: frozenset[Role]
    call: Call
    answers: type[BaseModel] | None
    status: HTTPStatus = HTTPStatus.OK
    takes: type[BaseModel] | None = None
    asks: type[BaseModel] | None = None

    @property
    def does(self) -> str:
        """The first line of its handler."""
        return (self.call.__doc__ or "").partition("\n")[0]

    async def handle(self, request: web.Request) -> web.Response:
        """Find out who asks, then do it."""
        return await self.call(request, await asking.caller(request, self.who))


OK, CREATED, GONE = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT
ROUTES = (
    Route("POST", "/v1/reports", NODE, reports.post, documents.Receipt),
    Route("GET", "/v1/nodes", VIEWER, nodes.page, documents.NodePage, asks=documents.NodesQuery),
    Route("GET", "/v1/nodes/{node}", VIEWER, nodes.one, documents.NodeDetail),
    Route(
        "GET",
        "/v1/nodes/{node}/history",
        VIEWER,
        nodes.history,
        documents.History,
        asks=documents.HistoryQuery,
    ),
    Route(
        "POST",
        "/v1/enroll",
        JOIN,
        access.enrol,
        documents.Credential,
        CREATED,
        takes=documents.EnrolRequest,
    ),
    Route("POST", "/v1/enroll/rotate", NODE, access.rotate, documents.Credential, CREATED),
    Route("GET", "/v1/enrollments", VIEWER, access.enrollments, documents.Enrollments),
    Route("POST", "/v1/enrollments/{node}/approve", OPERATOR, access.approve, documents.Enrollment),
    Route("DELETE", "/v1/enrollments/{node}", OPERATOR, access.revoke_node, None, GONE),
    Route("GET", "/v1/tokens", ADMIN, access.tokens, documents.Tokens),
    Route(
        "POST",
        "/v1/tokens",
        ADMIN,
        access.make_token,
        documents.Credential,
        CREATED,
        takes=documents.TokenRequest,
    ),
    Route("DELETE", "/v1/tokens/{id}", ADMIN, access.revoke_token, None, GONE),
    Route("GET", "/v1/facility", VIEWER, actions.hot, orders.Facility),
    Route("GET", "/v1/leases", VIEWER, steering.leases, orders.Leases),
    Route(
        "POST",
        "/v1/leases",
        NODE,
        steering.ask_lease,
        orders.Lease,
        CREATED,
        takes=orders.LeaseRequest,
    ),
    Route("DELETE", "/v1/leases/{id}", OPERATOR | NODE, steering.release, None, GONE),
    Route("GET", "/v1/actions", VIEWER, actions.listed, orders.Actions, asks=orders.ActionsQuery),
    Route(
        "POST",
        "/v1/actions",
        NODE,
        actions.tell,
        orders.Action,
        CREATED,
        takes=orders.ActionRequest,
    ),
    Route("GET", "/v1/maintenance", VIEWER, steering.maintenances, orders.Maintenances),
    Route(
        "POST",
        "/v1/maintenance",
        OPERATOR,
        steering.maintain,
        orders.Maintenance,
        takes=orders.MaintenanceRequest,
    ),
    Route("GET", "/v1/pause", VIEWER, steering.paused, orders.Switch),
    Route(
        "POST",
        "/v1/pause",
        OPERATOR,
        steering.pause,
        orders.Switch,
        takes=orders.PauseRequest,
    ),
    Route("GET", "/v1/breaker", VIEWER, steering.breaker, orders.Switch),
    Route(
        "POST",
        "/v1/breaker/reset",
        OPERATOR,
        steering.reset_breaker,
        orders.Switch,
        takes=orders.ResetRequest,
    ),
)
