"""This node in Kubernetes: how it stands there, and what is told of it in events.

Whoever only advises changes nothing of the node: no condition, no taint, events alone.
"""

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.settings.load import Kubernetes
from remediations.act.hand import ASK_S, Done, Objection
from remediations.plan.actions import Decision, KubeNode

if TYPE_CHECKING:
    from remediations.act.kubernetes import KubernetesHand

# The API server is everybody's: a node asks twice a minute at most.
LOOK_S = 30.0
TOKEN_CAP = 16 << 10
MOST_TOLD = 1024
Ask = Callable[[Callable[[], Any]], Awaitable[Any]]


class Cluster(Protocol):
    """What acting needs of it."""

    async def ask(
        self, verb: str, args: Mapping[str, Any], *, deadline_s: float = ASK_S
    ) -> Done | Objection:
        """Do one verb."""
        ...

    async def look(self) -> KubeNode | None:
        """Return how the node stands; None where that is not known."""
        ...

    async def tell(self, decisions: Iterable[Decision]) -> None:
        """Tell what was decided, each decision once."""
        ...


class OfNode:
    """The API server that the settings name; *ask* runs what reads files."""

    def __init__(
        self, settings: Kubernetes, ask: Ask, hand: "KubernetesHand | None" = None
    ) -> None:
        self._settings = settings
        self._ask = ask
        self._hand = hand
        self._looked_at = float("-inf")
        self._seen: KubeNode | None = None
        self._told: set[str] = set()
        self.problem: str | None = None

    async def ask(
        self, verb: str, args: Mapping[str, Any], *, deadline_s: float = ASK_S
    ) -> Done | Objection:
        """Do one verb; what was seen before is looked at anew afterwards."""
        hand = await self._opened()
        if isinstance(hand, Objection):
            return hand
        self._looked_at = float("-inf")
        return await hand.ask(verb, args, deadline_s=deadline_s)

    async def look(self) -> KubeNode | None:
        """Return how the node stands; None where that is not known."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_at < LOOK_S:
            return self._seen
        self._looked_at = now
        hand = await self._opened()
        told = hand if isinstance(hand, Objection) else await hand.look()
        self._seen = None if isinstance(told, Objection) else told
        self.problem = told.why if isinstance(told, Objection) else None
        return self._seen

    async def tell(self, decisions: Iterable[Decision]) -> None:
        """Add an event for each decision that is new; one that is not taken is told again."""
        for one in decisions:
            key = f"{one.action.key}|{one.verdict}|{one.action.incident}"
            name = hashlib.sha256(key.encode()).hexdigest()[:20]
            if name in self._told or len(self._told) >= MOST_TOLD:
                continue
            hand = await self._opened()
            message = (
                f"{one.action.remedy} for {one.action.fault} on {one.action.subject}: {one.reason}"
            )
            if isinstance(hand, Objection) or not await hand.tell(name, _word(one), message):
                return
            self._told.add(name)

    async def _opened(self) -> "KubernetesHand | Objection":
        if self._hand is None:
            try:
                self._hand = await self._ask(self._open)
            except (OSError, ValueError) as problem:
                return Objection(f"Kubernetes: {problem}")
        return self._hand

    def _open(self) -> "KubernetesHand":
        # aiohttp's client is 15 MiB, for nodes of Kubernetes'.
        from remediations.act.api_server import ApiServer  # noqa: PLC0415 - see above
        from remediations.act.kubernetes import KubernetesHand  # noqa: PLC0415 - see above

        url = self._settings.api or ""
        tls = ssl.create_default_context(cafile=self._settings.ca) if _secure(url) else None
        name = self._settings.node or socket.gethostname().lower()
        return KubernetesHand(ApiServer(url, self._token, tls), name)

    async def _token(self) -> str:
        text: str = await self._ask(self._read)
        return text

    def _read(self) -> str:
        with Path(self._settings.token).open(encoding="ascii") as file:
            text = file.read(TOKEN_CAP).strip()
        if not text.isprintable() or " " in text or not text:
            raise ValueError(f"{self._settings.token} holds no token")
        return text


def _secure(url: str) -> bool:
    return url.startswith("https:")


def _word(decision: Decision) -> str:
    """Return the fault as events name reasons: gpu_fell_off_bus is GpuFellOffBus."""
    return "".join(part.capitalize() for part in decision.action.fault.split("_"))[:100]
