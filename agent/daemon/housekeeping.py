"""Once a minute: what do we cost, which helper has nothing to do, is a release over."""

from agent.daemon.cost import PERIOD_S, Cost, Meter
from agent.daemon.releasing import Releasing
from collectors.node.live import Live
from collectors.node.protocol import Node

IDLE_S = 300.0


class Housekeeping:
    """Looks after our own processes; `cost` is what they cost at the last look."""

    def __init__(self, node: Node, releasing: Releasing) -> None:
        self.cost = Cost()
        self._node = node
        self._live = node if isinstance(node, Live) else None
        self._releasing = releasing

    async def run(self) -> None:
        """Do it for ever."""
        meter = Meter(self._node)
        while True:
            self.cost = await meter.measure(self.pids())
            if self._live is not None:
                self._live.rest(IDLE_S)
            await self._releasing.look()
            await self._node.sleep(PERIOD_S)

    def pids(self) -> list[int]:
        """Return every process that works for us now."""
        return [] if self._live is None else self._live.pids()

    def stuck(self) -> int:
        """Return how many helpers were let go of and are still there."""
        return 0 if self._live is None else sum(one.stuck for one in self._live.helpers())
