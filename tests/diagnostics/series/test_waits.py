"""What a rank does is told by its state and its place in the kernel; the odd ones out are named."""

import pytest

from collectors.gpu.health import GpuReading
from collectors.jobs.places import Place, RankPlaces
from collectors.jobs.ranks import Rank
from diagnostics.series.waits import odd, why


def rank(number: int, state: str = "S", gpus: tuple[int, ...] = ()) -> Rank:
    """Return a rank whose pid is 500 above its number."""
    return Rank(pid=500 + number, comm="python", state=state, start_s=1.0, rank=number, gpus=gpus)


@pytest.mark.parametrize(
    ("state", "wchan", "kind"),
    [
        ("S", "futex_wait_queue", "waits"),
        ("S", "ep_poll", "waits"),
        ("R", None, "waits"),
        ("S", "hrtimer_nanosleep", "sleep"),
        ("S", "anon_pipe_read", "data"),
        ("S", "unix_stream_data_wait", "data"),
        ("S", "do_wait", "child"),
        ("S", "nfs_wait_bit_killable", "storage"),
        ("D", "rpc_wait_bit_killable", "storage"),
        ("D", "os_acquire_rwlock_write", "driver"),
        ("T", "do_signal_stop", "stopped"),
        ("Z", None, "dead"),
    ],
)
def test_each_place_has_its_class(state: str, wchan: str | None, kind: str) -> None:
    """Functions of the kernel, as Linux 5.4 to 6.18 name them."""
    place = Place(pid=500, wchan=wchan) if wchan else None
    assert kind == why(rank(0, state), place).kind


def places(*wchans: str) -> RankPlaces:
    """Return the place of each rank in their order."""
    return RankPlaces(places=tuple(Place(pid=500 + n, wchan=w) for n, w in enumerate(wchans)))


def test_the_one_that_does_something_else_is_named() -> None:
    """Three wait in a collective, one for its data loader."""
    ranks = {number: rank(number) for number in range(4)}
    seen = places("futex_wait_queue", "ep_poll", "pipe_read", "futex_wait_queue")
    assert {2: "data"} == {number: one.kind for number, one in odd(ranks, seen, {}).items()}


def test_nobody_is_named_where_most_do_it() -> None:
    """All wait for their loaders: the data is slow, and no rank is missing."""
    ranks = {number: rank(number) for number in range(4)}
    assert {} == odd(ranks, places("pipe_read", "pipe_read", "pipe_read", "ep_poll"), {})


def test_an_idle_gpu_among_spinning_ones_is_named() -> None:
    """NCCL spins at 100 % where a rank waits; the rank that did not come leaves its GPU idle."""
    ranks = {number: rank(number, "R", (number,)) for number in range(4)}
    gpus = {
        number: GpuReading(
            index=number, minor=number, utilisation_percent=0 if number == 3 else 100
        )
        for number in range(4)
    }
    assert {3: "gpu idle"} == {n: one.kind for n, one in odd(ranks, RankPlaces(), gpus).items()}
