"""How slow this processor is now: bounds in seconds are of a machine, and tests run on any."""

import re
import time
from collections.abc import Callable

# What `_work` takes where 10,000 findings join in 0.6 s: a twentieth, wherever both were timed.
USUAL_S = 0.03
WORD = re.compile(r"(?P<key>[a-z]+)_(?P<number>\d+)")


def within(seconds: float, work: Callable[[], object], *, turns: int = 3) -> tuple[bool, str]:
    """Return whether the best of so many turns kept a bound of processor time, and a word of it.

    Beside each turn a known piece of work is timed: a processor that takes longer for that, for
    it is old or shared, may take as much longer for this.
    """
    pairs = [(_spent(_work), _spent(work)) for _ in range(turns)]
    slower = max(min(known for known, _ in pairs) / USUAL_S, 1.0)
    took = min(own for _, own in pairs)
    return took < seconds * slower, f"{took:.3f} s, {slower:.2f} times as slow as usual"


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _work() -> int:
    """Make, match and count small things, as diagnosis does."""
    counts: dict[str, int] = {}
    for number in range(40_000):
        hit = WORD.match(f"gpu_{number}")
        if hit is not None:
            key = f"{hit['key']}{int(hit['number']) % 64}"
            counts[key] = counts.get(key, 0) + 1
    return len(counts)
