"""The verbs on this node's objects in Kubernetes; only a cordon of ours is ever taken back.

A change carries the version that it was made of, so that nobody else's is overwritten, and it is
done when the server shows it: a conflict, a lost answer or a busy server is asked again by that.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remediations.act.api_server import CONFLICT, NOT_FOUND, PASSING, STATUS, ApiServer, Reply
from remediations.act.hand import ASK_S, Done, Objection
from remediations.act.kube_shapes import ANNOTATION, KEY, kube_node, kube_pod, taints
from remediations.plan.actions import KubeNode, KubePod

CONDITION = "GpudiagOut"
MOST_TRIES = 20
HINTS = {
    401: "the token is not taken: see docs/how-to-kubernetes.md",
    403: "the service account lacks a right: see docs/how-to-kubernetes.md",
}
Body = Mapping[str, Any]
# What to change of a node as it is: a patch, None where all is as wanted, or why not.
Change = Callable[[Body], Body | Objection | None]


class KubernetesHand:
    """Does the verbs whose name begins with `kubernetes`."""

    def __init__(self, api: ApiServer, node: str) -> None:
        self._api = api
        self._node = node
        self._path = f"/api/v1/nodes/{node}"

    async def ask(
        self, verb: str, args: Mapping[str, Any], *, deadline_s: float = ASK_S
    ) -> Done | Objection:
        """Return what came of it; never raises for what the other side does."""
        until = asyncio.get_running_loop().time() + deadline_s
        reason = str(args.get("reason", ""))
        match verb:
            case "kubernetes_cordon":
                return await self._out(reason, until)
            case "kubernetes_uncordon":
                return await self._back(reason, until)
            case "kubernetes_evict":
                return await self._evict(args.get("pods", ()), args.get("running") is True, until)
            case "kubernetes_cordoned" | "kubernetes_uncordoned":
                return await self._stands(reason, verb == "kubernetes_cordoned", until)
            case "kubernetes_evicted":
                return await self._evicted(args.get("pods", ()), until)
        return Objection(f"{verb} is no verb of Kubernetes'")

    async def look(self, deadline_s: float = ASK_S) -> KubeNode | Objection:
        """Return how the node stands, with its pods that have a GPU."""
        until = asyncio.get_running_loop().time() + deadline_s
        reply = await self._api.get(self._path, until)
        if not reply.ok:
            return _no(reply)
        selected = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self._node}"
        pods = await self._api.listed(selected, until)
        if isinstance(pods, Reply):
            return _no(pods)
        found = tuple(pod for one in pods if (pod := kube_pod(one)) is not None)
        return kube_node(self._node, reply.body, found)

    async def tell(self, name: str, reason: str, message: str) -> bool:
        """Add an event to the node, once for each *name*; return whether it is there."""
        now = _now()
        event = {
            "metadata": {"name": f"gpudiag.{name}", "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": self._node, "uid": self._node},
            "reason": reason,
            "message": message[:1000],
            "type": "Warning",
            "source": {"component": "gpudiag", "host": self._node},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        reply = await self._api.once("POST", "/api/v1/namespaces/default/events", event)
        return reply.ok or reply.status == CONFLICT

    async def _out(self, reason: str, until: float) -> Done | Objection:
        def change(node: Body) -> Body | Objection | None:
            known = kube_node(self._node, node)
            if known.ours and known.unschedulable:
                return None if known.reason == reason else Objection(f"out by us: {known.reason}")
            if known.unschedulable:
                return Objection("somebody else has cordoned it")
            others = [one for one in taints(node) if one.get("key") != KEY]
            ours = {"key": KEY, "value": "incident", "effect": "NoSchedule"}
            spec = {"unschedulable": True, "taints": [*others, ours]}
            return _patch(node, {ANNOTATION: reason}, spec)

        return await self._change(change, until, "True", reason)

    async def _back(self, reason: str, until: float) -> Done | Objection:
        def change(node: Body) -> Body | Objection | None:
            known = kube_node(self._node, node)
            if not known.ours:
                return Objection("somebody else has cordoned it") if known.unschedulable else None
            if known.reason != reason:
                return Objection(f"it is out by us for something else: {known.reason}")
            others = [one for one in taints(node) if one.get("key") != KEY]
            return _patch(node, {ANNOTATION: None}, {"unschedulable": None, "taints": others})

        return await self._change(change, until, "False", reason)

    async def _change(
        self, change: Change, until: float, status: str, reason: str
    ) -> Done | Objection:
        """Look, change, and look again, until it is as wanted."""
        loop = asyncio.get_running_loop()
        sent = False
        for _ in range(MOST_TRIES):
            reply = await self._api.get(self._path, until)
            if not reply.ok:
                return _no(reply, lost=sent)
            patch = change(reply.body)
            if isinstance(patch, Objection):
                return patch
            if patch is None:
                await self._condition(status, reason)
                return Done("as wanted")
            reply = await self._api.once("PATCH", self._path, patch)
            sent = sent or reply.status == 0
            passes = reply.ok or reply.status in (0, CONFLICT, *PASSING)
            if not passes:
                return _no(reply)
            if loop.time() + reply.wait_s >= until:
                return _no(reply, lost=sent or reply.ok)
            if not reply.ok:
                await self._api.sleep(reply.wait_s)
        return Objection("the node is changed by others all the time", lost=sent)

    async def _condition(self, status: str, reason: str) -> None:
        """Say it in the node's conditions as well; nothing depends on it."""
        one = {"type": CONDITION, "status": status, "reason": "Incident", "message": reason}
        when = dict.fromkeys(("lastHeartbeatTime", "lastTransitionTime"), _now())
        body = {"status": {"conditions": [one | when]}}
        await self._api.once("PATCH", f"{self._path}/status", body, STATUS)

    async def _stands(self, reason: str, cordoned: bool, until: float) -> Done | Objection:  # noqa: FBT001 - which of both questions
        reply = await self._api.get(self._path, until)
        if not reply.ok:
            return _no(reply)
        known = kube_node(self._node, reply.body)
        out = known.unschedulable and known.ours and known.reason == reason
        return Done(out if cordoned else not known.ours)

    async def _evict(self, pods: Sequence[str], running: bool, until: float) -> Done | Objection:  # noqa: FBT001 - the policy's word
        for name in pods:
            if (no := await self._evict_one(name, running, until)) is not None:
                return no
        return Done(f"{len(pods)} evicted")

    async def _evict_one(self, named: str, running: bool, until: float) -> Objection | None:  # noqa: FBT001 - the policy's word
        loop = asyncio.get_running_loop()
        while True:
            pod = await self._pod(named, until)
            if pod is None or isinstance(pod, Objection):
                return pod
            if not pod.dead and not running:
                return Objection(f"pod {pod.name} runs: its job is not dead")
            namespace, _, name = pod.name.partition("/")
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": namespace},
                "deleteOptions": {"preconditions": {"uid": pod.uid}},
            }
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
            reply = await self._api.once("POST", path, eviction)
            passes = reply.ok or reply.status in (0, CONFLICT, NOT_FOUND, *PASSING)
            if not passes or loop.time() + reply.wait_s >= until:
                return _no(reply, lost=reply.status == 0 or reply.ok)
            # After 429 a disruption budget may have room again: its pods come up elsewhere.
            await self._api.sleep(reply.wait_s)

    async def _pod(self, named: str, until: float) -> KubePod | Objection | None:
        """Return the pod `namespace/name/uid`; None where that very one is gone or on its way."""
        namespace, name, uid = named.split("/")
        reply = await self._api.get(f"/api/v1/namespaces/{namespace}/pods/{name}", until)
        if reply.status == NOT_FOUND:
            return None
        if not reply.ok:
            return _no(reply)
        pod = kube_pod(reply.body)
        return pod if pod is not None and pod.uid == uid else None

    async def _evicted(self, pods: Sequence[str], until: float) -> Done | Objection:
        for name in pods:
            pod = await self._pod(name, until)
            if isinstance(pod, Objection):
                return pod
            if pod is not None:
                return Done(value=False)
        return Done(value=True)


def _patch(node: Body, notes: Mapping[str, str | None], spec: Body) -> Body:
    """Return the change, bound to the version that was looked at."""
    meta = node.get("metadata")
    version = meta.get("resourceVersion") if isinstance(meta, dict) else None
    return {"metadata": {"resourceVersion": version, "annotations": notes}, "spec": spec}


def _no(reply: Reply, *, lost: bool = False) -> Objection:
    hint = HINTS.get(reply.status)
    return Objection(f"Kubernetes: {reply.why}" + (f"; {hint}" if hint else ""), lost=lost)


def _now() -> str:
    return dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
