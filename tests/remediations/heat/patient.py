"""A GPU on which orders are carried out, for tests of the machine that gives them."""

from typing import Any

from remediations.heat import lease
from remediations.heat.throttle import Held, Order, Pace, Seen, State, step

DEFAULT, LEAST = 700_000, 200_000
PACE = Pace()


class Patient:
    """One GPU: its limit, the cap on it, and all orders with the time of each."""

    def __init__(self, default: int = DEFAULT, least: int = LEAST) -> None:
        self.default, self.least = default, least
        self.limit = default
        self.state = State()
        self.stepped_s: float | None = None
        self.now_s = 1000.0
        self.orders: list[tuple[float, Order]] = []
        self.before = default

    @property
    def held(self) -> bool:
        """Whether a cap is on."""
        return self.stepped_s is not None

    def seen(self, **said: Any) -> Seen:
        """Return what is seen of it now."""
        held = None
        if self.stepped_s is not None:
            ago = self.now_s - self.stepped_s
            held = Held(limit=self.limit, before=self.before, stepped_s_ago=ago)
        facts = {"limit": self.limit, "default": self.default, "least": self.least, "held": held}
        return Seen(at_s=self.now_s, **{**facts, **said})

    def sample(self, seconds: float = 30.0, **said: Any) -> Order:
        """Let *seconds* pass, then look once and do as ordered."""
        self.now_s += seconds
        self.state, order = step(self.state, self.seen(**said), PACE)
        if order.kind == "down":
            self.stepped_s = self.now_s
        if order.kind == "lift":
            self.stepped_s, self.limit = None, self.before
        elif order.limit is not None:
            self.limit = order.limit
        if order.kind != "keep":
            self.orders.append((self.now_s, order))
        return order

    def samples(self, many: int, **said: Any) -> list[str]:
        """Look so many times, and return the kinds of the orders that change something."""
        kinds = [self.sample(**said).kind for _ in range(many)]
        return [kind for kind in kinds if kind != "keep"]

    def restart(self) -> None:
        """Forget all that an agent forgets when it is killed."""
        self.state = State()

    @property
    def floor(self) -> int:
        """The lowest limit that may ever be set."""
        return lease.floor(self.least, self.default)
