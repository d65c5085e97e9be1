"""How slow this processor is now: bounds in seconds are of a machine, and tests run on any."""

import re
import time
from collections.abc import Callable

# What `_work` takes where 10,000 findings join in 0.6 s: a twentieth, wherever both were timed.
USUAL_S = 0.03
WORD = re.compile(r"(?P<key>[a-z]+)_(?P<number>\d+)")


def slower() -> float:
    """Return how many times as slow as where bounds were set a known piece of work is; 1 at least.

    A processor that takes longer for that, for it is old or shared, may take as much longer for
    what a test bounds.
    """
    return max(min(spent(_work) for _ in range(3)) / USUAL_S, 1.0)


def within(seconds: float, work: Callable[[], object], *, turns: int = 3) -> tuple[bool, str]:
    """Return whether the best of so many turns kept a bound of processor time, and a word of it."""
    pairs = [(slower(), spent(work)) for _ in range(turns)]
    times, took = (min(column) for column in zip(*pairs, strict=True))
    return took < seconds * times, f"{took:.3f} s, {times:.2f} times as slow as usual"


def spent(work: Callable[[], object]) -> float:
    """Return the seconds of this processor that it took."""
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
