"""An API server of our own: one node and its pods, with versions, budgets, and bad manners."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

NODE = "gpu-017"
TOKEN = "eyJhbGciOi.a-test.token"  # noqa: S105 - of the test
UID = "5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11"


def failure(status: int, message: str, **headers: str) -> web.Response:
    said = {"kind": "Status", "status": "Failure", "code": status, "message": message}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response(said, status=status, headers=names)


class Kube:
    """The server; `next` are what the next questions of a kind are answered before it is itself."""

    def __init__(self) -> None:
        self.version = 100
        self.spec: dict[str, Any] = {"taints": [{"key": "rack", "effect": "PreferNoSchedule"}]}
        self.notes: dict[str, str] = {"volumes": "attached"}
        self.conditions: list[dict[str, Any]] = []
        self.pods: dict[str, dict[str, Any]] = {}
        self.events: dict[str, dict[str, Any]] = {}
        self.evictions: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.next: dict[str, list[Any]] = {}
        self.page = 200

    def pod(self, name: str, state: str, **changed: Any) -> None:
        """Add a pod with a GPU, whose container is in this state."""
        last = {"lastState": {"terminated": {"exitCode": 139}}} if state == "waiting" else {}
        self.pods[name] = {
            "metadata": {"name": name, "namespace": "train", "uid": UID, **changed},
            "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
            "status": {"phase": "Running", "containerStatuses": [{"state": {state: {}}, **last}]},
        }

    def node(self) -> dict[str, Any]:
        meta = {"name": NODE, "resourceVersion": str(self.version), "annotations": self.notes}
        return {"kind": "Node", "metadata": meta, "spec": self.spec}

    def others_change(self) -> None:
        """Let somebody else change the node meanwhile."""
        self.version += 1

    async def answer(self, request: web.Request) -> web.StreamResponse:
        kind = f"{request.method} {request.path.rpartition('/')[2].split('-')[0]}"
        self.asked.append(kind)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return failure(401, "Unauthorized")
        for first in self.next.get(kind, [])[:1]:
            self.next[kind].pop(0)
            answer = await first(self, request) if callable(first) else first
            if answer is not None:
                return answer  # type: ignore[no-any-return]  # JSON
        return await self._itself(request, await request.json() if request.can_read_body else {})

    async def _itself(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        path = request.path
        if path == f"/api/v1/nodes/{NODE}":
            return self._patched(body) if request.method == "PATCH" else self._said(self.node())
        if path == f"/api/v1/nodes/{NODE}/status":
            self.conditions = body["status"]["conditions"]
            return self._said(self.node())
        if path == "/api/v1/pods":
            return self._list(request)
        if path.endswith("/events"):
            name = body["metadata"]["name"]
            if name in self.events:
                return failure(409, f'events "{name}" already exists')
            self.events[name] = body
            return web.json_response(body, status=201)
        return self._pod(request, body)

    def _said(self, body: dict[str, Any]) -> web.Response:
        return web.json_response(body)

    def _patched(self, body: dict[str, Any]) -> web.Response:
        if body["metadata"].get("resourceVersion") != str(self.version):
            return failure(409, "the object has been modified; please apply your changes")
        self.version += 1
        for table, news in (
            (self.notes, body["metadata"]["annotations"]),
            (self.spec, body["spec"]),
        ):
            for key, value in news.items():
                table[key] = value
                if value is None:
                    del table[key]
        return self._said(self.node())

    def _list(self, request: web.Request) -> web.Response:
        assert request.query["fieldSelector"] == f"spec.nodeName={NODE}"
        start = int(request.query.get("continue", "p0+/=")[1:].removesuffix("+/="))
        names = sorted(self.pods)
        meta = {"continue": f"p{start + self.page}+/="} if start + self.page < len(names) else {}
        items = [self.pods[name] for name in names[start : start + self.page]]
        return self._said({"items": items, "metadata": meta})

    def _pod(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        name = request.path.split("/")[6]
        if name not in self.pods:
            return failure(404, f'pods "{name}" not found')
        if request.method == "GET":
            return self._said(self.pods[name])
        self.evictions.append(body)
        del self.pods[name]
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)


@asynccontextmanager
async def served(kube: Kube) -> AsyncIterator[str]:
    """Yield its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", kube.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def torn(kube: Kube, request: web.Request) -> web.StreamResponse:
    """Begin an answer that is promised to be longer, and hang up."""
    del kube
    answer = web.StreamResponse(headers={"Content-Length": "4000"})
    await answer.prepare(request)
    await answer.write(b'{"kind": "Node", "metadata": {"resourceVer')
    assert request.transport is not None
    request.transport.close()
    return answer


async def garbled(kube: Kube, request: web.Request) -> web.StreamResponse:
    """Answer with a page of some proxy."""
    del kube, request
    return web.Response(text="<html>bad gateway</html>", content_type="text/html")


async def done_and_torn(kube: Kube, request: web.Request) -> web.StreamResponse:
    """Do it, and lose the answer."""
    await kube._itself(request, await request.json())
    return await torn(kube, request)


async def slow(kube: Kube, request: web.Request) -> None:
    """Take longer than the client waits."""
    del kube, request
    await asyncio.sleep(2.0)


async def conflict(kube: Kube, request: web.Request) -> None:
    """Let somebody else be faster."""
    del request
    kube.others_change()
