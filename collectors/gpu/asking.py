"""The driver's helper, asked around what must not be asked: a GPU off the bus, one that hangs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu import bus
from collectors.gpu.breaker import Breaker, breaker
from collectors.node.protocol import Node

# /dev/nvidiactl proves nothing (the library makes it when root asks); this file is the driver's.
DRIVER = "/proc/driver/nvidia/version"
WHAT = "NVML"
# Without persistence the first contact takes seconds a GPU; a stage has 20 s in all.
FIRST_S, NEXT_S = 15.0, 5.0
# What was read longer ago is not what was just before: counters began anew, a job ended.
LONGEST_S = 60.0

# nvmlDeviceGetPowerUsage of GPU 0000:4e:00.0; pid 4711, state S, in hrtimer_nanosleep
STUCK = re.compile(
    r"(?P<call>nvml[A-Za-z0-9_]{1,80}) of GPU (?P<gpu>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
)

T = TypeVar("T")


class Driver:
    """The driver of a node; `held_back` GPUs are not asked from the start, `stuck` ones no more.

    The order of NVML's own indices is not promised: whom to ask is said by address.
    """

    def __init__(self, node: Node, wanted: Wanted, held_back: Sequence[str] = ()) -> None:
        self._node = node
        self._wanted = wanted
        self._only: list[str] = []
        self.held_back = tuple(held_back)
        self.stuck: dict[str, str] = {}

    async def ask(
        self,
        shape: type[T],
        kind: str,
        *,
        deadline_s: float,
        **args: Any,  # noqa: ANN401 - JSON
    ) -> T | Missing:
        """Ask, and once more without the GPU of which a call did not return."""
        got = await self._ask(kind, deadline_s, args)
        if isinstance(got, Missing) and (hit := STUCK.search(got.stuck or "")):
            if await self.leave_out(hit["gpu"]) is not None:
                return got
            self.stuck[hit["gpu"]] = hit["call"]
            got = await self._ask(kind, deadline_s, args)
        return got if isinstance(got, Missing) else converted(got, shape)

    async def _ask(self, kind: str, deadline_s: float, args: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        only = {"only": self._only} if self._only else {}
        got = await self._node.ask(kind, deadline_s=deadline_s, **only, **args)
        return msgspec.structs.replace(got, what=WHAT) if isinstance(got, Missing) else got

    async def go_on_without(self, stuck: Mapping[str, str]) -> Missing | None:
        """Leave out GPUs that hung for somebody else; return why that cannot be."""
        if not stuck:
            return None
        self.stuck.update(stuck)
        return await self.leave_out(*stuck)

    async def leave_out(self, *lost: str) -> Missing | None:
        """Ask the driver's other GPUs from now on; return why that cannot be."""
        known = self._only
        if not known:
            seen = await bus.collect(self._node, self._wanted)
            if isinstance(seen, Missing):
                return seen
            known = [gpu.address for gpu in seen.gpus if gpu.driver == "nvidia"]
        self._only = [address for address in known if address not in lost]
        if self._only:
            return None
        detail = (
            "the driver has no GPU that is neither off the bus nor stuck in a call; "
            "a person can have it asked with --ask-driver"
        )
        return Missing(what=WHAT, cause=Cause.HELD_BACK, detail=detail)


async def driver(
    node: Node, wanted: Wanted, log: KernelLog | Missing, *, loaded: bool = False
) -> Driver | Missing | None:
    """Return the driver to ask, None on a node without one, or why it must not be asked.

    Where it is *loaded*, as who asked before knows, that is not looked at: the helper itself looks
    right before it opens NVML, which would load the module.
    """
    if not loaded:
        seen = await node.files(names=(DRIVER,))
        if isinstance(seen, Missing):
            return seen
        if seen.get(DRIVER) is None:
            return None
    forbidden = Breaker() if wanted.ask_driver else breaker(log)
    if not isinstance(log, Missing) and (held := forbidden.held_back(WHAT, log)):
        return held
    asked = Driver(node, wanted, forbidden.lost)
    if forbidden.lost and (refused := await asked.leave_out(*forbidden.lost)):
        return refused
    return asked


def converted(answer: object, shape: type[T]) -> T | Missing:
    """Return the helper's answer in its shape."""
    try:
        return msgspec.convert(answer, shape)
    except msgspec.ValidationError as problem:
        return Missing(what=WHAT, cause=Cause.GARBLED, detail=str(problem))
