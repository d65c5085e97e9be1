"""`gpudiag config check` on what may act: each remedy, its mode, and what could happen then."""

from collections.abc import Iterator
from pathlib import Path

from agent.cli.errors import Mistake
from collectors.helpers.children.loop import Refused
from remediations.actor import trust
from remediations.plan.actions import Remedy
from remediations.plan.catalog import REMEDIES
from remediations.policy import Policy

WIDTH = max(map(len, REMEDIES))


def told(path: str) -> Iterator[str]:
    """Yield the lines; raises Mistake where the actor would refuse the file."""
    try:
        policy = trust.policy(path)
    except Refused as no:
        hint = "correct it and check again; until then nothing acts"
        raise Mistake(no.detail, hint) from None
    if not Path(path).exists():
        yield f"there is no {path}: every remedy is advised, and nothing acts"
        return
    for name in policy.users:
        if trust.uid(name) is None:
            yield f"{path}: users: this node has no user {name}: nobody is let in by it"
    yield f"{path} is right; in the order of trust:"
    for row in REMEDIES.values():
        yield f"  {policy.of(row.name):<7}  {row.name:<{WIDTH}}  {could(row, policy)}"


def could(row: Remedy, policy: Policy) -> str:
    """Return in one sentence what could happen by this remedy under *policy*."""
    mode = policy.of(row.name)
    if mode == "observe":
        return "nothing: the plan only notes it"
    if mode == "advise":
        return f"nothing: a person is told; in act, gpudiag {row.does}"
    if not policy.proved(row.name):
        return f"nothing: it is only {row.proved}, and allow_unproved does not name it"
    return f"gpudiag {row.does}; {row.risk}"
