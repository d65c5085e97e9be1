"""What matters of Kubernetes' objects, of whatever shape they come in."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from remediations.plan.actions import KubeNode, KubePod

KEY = "gpudiag/out"
ANNOTATION = "gpudiag/reason"
GPU = "nvidia.com/"
MIRROR = "kubernetes.io/config.mirror"
# By the rules of names in Kubernetes; they become part of a path.
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
UID = re.compile(r"[0-9a-f-]{8,64}")
OVER = frozenset({"Succeeded", "Failed"})
Body = Mapping[str, Any]


def kube_node(name: str, node: Body, pods: tuple[KubePod, ...] = ()) -> KubeNode:
    """Return how a node stands; ours is what has our taint and our annotation."""
    note = _table(node, "metadata", "annotations").get(ANNOTATION)
    tainted = any(one.get("key") == KEY for one in taints(node))
    reason = "".join(c for c in note if c.isprintable())[:200] if isinstance(note, str) else None
    return KubeNode(
        name=name,
        unschedulable=_table(node, "spec").get("unschedulable") is True,
        ours=tainted and reason is not None,
        reason=reason,
        pods=pods,
    )


def taints(node: Body) -> list[Body]:
    """Return the taints of a node, whoever set them."""
    return _list(_table(node, "spec").get("taints"))


def kube_pod(pod: Body) -> KubePod | None:
    """Return a pod that has a GPU and could be evicted; None for any other."""
    meta, spec, status = (_table(pod, part) for part in ("metadata", "spec", "status"))
    name, namespace, uid = (str(meta.get(key, "")) for key in ("name", "namespace", "uid"))
    if not (NAME.fullmatch(name) and NAME.fullmatch(namespace) and UID.fullmatch(uid)):
        return None
    owners = [str(one.get("kind")) for one in _list(meta.get("ownerReferences"))]
    stays = MIRROR in _table(meta, "annotations") or "DaemonSet" in owners
    over = status.get("phase") in OVER or "deletionTimestamp" in meta
    if stays or over or not any(_has_gpu(one) for one in _list(spec.get("containers"))):
        return None
    dead = _dead(_list(status.get("containerStatuses")))
    return KubePod(name=f"{namespace}/{name}", uid=uid, dead=dead)


def _has_gpu(container: Body) -> bool:
    return any(str(key).startswith(GPU) for key in _table(container, "resources", "limits"))


def _dead(statuses: Sequence[Body]) -> bool:
    """Return whether no container runs, and one has ended: the kubelet only tries it again."""
    states = [(_table(one, "state"), _table(one, "lastState")) for one in statuses]
    ended = any("terminated" in state or "terminated" in last for state, last in states)
    return ended and not any("running" in state for state, _ in states)


def _table(body: Any, *path: str) -> Body:  # noqa: ANN401 - JSON
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else {}


def _list(value: Any) -> list[Body]:  # noqa: ANN401 - JSON
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
