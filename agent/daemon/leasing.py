"""The fleet's leave, asked of the aggregator, and what was done, told to it."""

import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import msgspec

from agent.exchange import Exchange, Unanswered, Waits
from remediations.act.means import Lease, Refusal
from remediations.plan.actions import Action, Remedy

OK, CREATED, CONFLICT = 200, 201, 409
WAITS = Waits(total_s=20.0, connect_s=5.0)
ANSWER_CAP = 64 << 10
# A lease outlives the action by this: so long an agent that was killed has to come back.
MORE_S = 3600.0
LONGEST_S = 86_400.0
# A node that is out asks anew each ten minutes: so long it may be unheard before it counts as back.
RENEWED_S = 7200.0


class Given(msgspec.Struct, frozen=True):
    """What matters of a lease."""

    id: str


class Problem(msgspec.Struct, frozen=True):
    """Why it is refused."""

    detail: str = ""


class FleetLeases:
    """Asks with the node's own credential; whatever does not answer gives no leave."""

    def __init__(
        self, url: str, node: Callable[[], str], credential: Callable[[], str],
        tls: ssl.SSLContext | None,
    ) -> None:  # fmt: skip # one line a pair
        self._url = url.rstrip("/")
        self._node = node
        self._credential = credential
        self._tls = tls

    async def ask(self, action: Action, remedy: Remedy) -> Lease | Refusal:
        """Return the lease, or why there is none."""
        asked = {
            "node": self._node(),
            "remedy": action.remedy,
            "seconds": min(remedy.deadline_s + MORE_S, LONGEST_S),
            "serial": action.serial,
            "signature": action.signature,
            "fault": action.fault,
        }
        status, text = await self._call("POST", "/v1/leases", asked)
        try:
            if status in (OK, CREATED):
                return Lease(msgspec.json.decode(text, type=Given).id, held=status == OK)
            if status == CONFLICT:
                return Refusal(msgspec.json.decode(text, type=Problem).detail[:400])
        except msgspec.DecodeError:
            pass
        return Refusal(f"the aggregator gave no leave: {_why(status, text)}")

    async def give_back(self, lease: str) -> None:
        """Give it back; one that is not taken back runs out by itself."""
        if lease and not lease.startswith("person:"):
            await self._call("DELETE", f"/v1/leases/{lease}")

    async def renew(self, remedy: str) -> None:
        """Have the lease of a node that is out hold for longer; a node has one at most."""
        asked = {"node": self._node(), "remedy": remedy, "seconds": RENEWED_S}
        await self._call("POST", "/v1/leases", asked)

    async def tell(self, line: Mapping[str, Any]) -> bool:
        """Return whether the aggregator has this line of what was done."""
        status, _ = await self._call("POST", "/v1/actions", line)
        # What it will never take is not told for ever.
        refused = status in range(400, 500) and status not in (401, 403, 404, 429)
        return status == CREATED or refused

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """Return status and body; 0 and why, where there is no answer."""
        headers = {"Authorization": f"Bearer {self._credential()}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        text = b"" if body is None else msgspec.json.encode(body)
        try:
            with closing(Exchange(self._url, self._tls)) as aggregator:
                reply = await aggregator.ask(
                    method, path, text, headers, cap=ANSWER_CAP, waits=WAITS
                )
        except Unanswered as problem:
            return 0, str(problem).encode()
        return reply.status, reply.body


def _why(status: int, text: bytes) -> str:
    return f"it answers {status}" if status else text.decode("utf-8", "replace")
