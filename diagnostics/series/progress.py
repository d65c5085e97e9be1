"""Whether a job goes on: when its log and its ranks moved last, and for how long none did."""

from collections.abc import Mapping, Sequence

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.jobs.activity import Work

# Nothing is suspected sooner, whatever the job's own pace.
LEAST_S = 30.0
TIMES = 3.0
# The first step compiles, loads and connects.
FIRST_STEP_S = 600.0
# How long the ranks are looked at once something is suspected, before one of them is named.
SETTLED_S = 60.0

# A rank that waits writes less than this, and takes less of a processor: heartbeats and polls.
IDLE_BYTES_S = 65_536.0
IDLE_SHARE = 0.05
TICKS_S = 100.0
MOST_GAPS = 512


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a job at *at* seconds of a clock that is never set.

    `steps` is how many steps its logs had so far, `log_s` for how long none of them has grown,
    both None without a log. `work` are the counters of its ranks on this node; `still_s` is for
    how long none of them has run, where the kernel says so. `devices` are the pids with a GPU:
    those spin while they wait. `usual_s` is the 99th percentile of the time between two steps as
    the log has it.
    """

    at: float
    steps: int | None = None
    log_s: float | None = None
    work: Mapping[int, Work] = {}
    still_s: float | None = None
    devices: frozenset[int] = frozenset()
    usual_s: float | None = None


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a job from all looks so far; times are of that clock.

    `log_at` and `ranks_at` are when each moved last, None where it cannot be seen. `gaps` are the
    times between steps as they were seen here.
    """

    last: Sample
    log_at: float | None
    ranks_at: float | None
    gaps: tuple[float, ...] = ()
    busy: Mapping[int, float] = {}

    def wait_s(self) -> float:
        """Return how long it may stand still: three times its own slow step, 30 s at least."""
        if not self.last.steps:
            return FIRST_STEP_S
        usual = max(self.last.usual_s or 0.0, percentile(self.gaps, 0.99) if self.gaps else 0.0)
        return max(LEAST_S, TIMES * usual)

    def stopped_s(self) -> float | None:
        """Return for how long both the log and the ranks have stood still; None without both."""
        if self.log_at is None or self.ranks_at is None:
            return None
        return max(self.last.at - max(self.log_at, self.ranks_at), 0.0)

    def suspected(self) -> bool:
        """Return whether both agree that it has stopped for too long."""
        stopped = self.stopped_s()
        return stopped is not None and stopped >= self.wait_s()

    def settled(self) -> bool:
        """Return whether that has been so for long enough to name a rank."""
        stopped = self.stopped_s()
        return stopped is not None and stopped >= self.wait_s() + SETTLED_S


def advance(before: Followed | None, now: Sample) -> Followed:
    """Return what is known after one more look; after the first, what the kernel keeps."""
    if before is None or now.at <= before.last.at:
        log_at = None if now.log_s is None else now.at - now.log_s
        ranks_at = None if not now.work else now.at - (now.still_s or 0.0)
        return Followed(last=now, log_at=log_at, ranks_at=ranks_at)
    gaps, log_at = before.gaps, _log(before, now)
    stepped = bool(now.steps) and now.steps != before.last.steps
    if stepped and before.last.steps and before.log_at is not None:
        each = (now.at - before.log_at) / max((now.steps or 0) - before.last.steps, 1)
        gaps = (*gaps, each)[-MOST_GAPS:]
    busy = _busy(before.last, now)
    return Followed(
        last=now, log_at=log_at, ranks_at=_ranks(before, now, busy), gaps=gaps, busy=busy
    )


def _log(before: Followed, now: Sample) -> float | None:
    if now.steps is None or now.log_s is None:
        return None
    # Warnings and heartbeats are no progress once there were steps.
    moved = now.steps != before.last.steps if now.steps else now.log_s < now.at - before.last.at
    return now.at if moved or before.log_at is None else before.log_at


def _busy(before: Sample, now: Sample) -> dict[int, float]:
    """Return the share of a processor that each rank took since."""
    seconds = now.at - before.at
    return {
        pid: max(work.ticks - before.work[pid].ticks, 0) / TICKS_S / seconds
        for pid, work in now.work.items()
        if pid in before.work
    }


def _ranks(before: Followed, now: Sample, busy: Mapping[int, float]) -> float | None:
    if not now.work:
        return None
    seconds = now.at - before.last.at
    for pid, work in now.work.items():
        was = before.last.work.get(pid)
        if was is None or abs(work.bytes - was.bytes) / seconds > IDLE_BYTES_S:
            return now.at
        if pid not in now.devices and busy.get(pid, 0.0) > IDLE_SHARE:
            return now.at
    # A rank that has gone leaves the others waiting: that is no progress.
    return now.at if before.ranks_at is None else before.ranks_at


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which *share* of them lie."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


class JobStand(msgspec.Struct, frozen=True, kw_only=True):
    """How one job of this node stands; `stopped_s` is None where less than two sources tell.

    `wait_s` is how long it may stand still, `busy` the share of a processor that each pid
    took last. `log` is what its steps were read from. `gone` are ranks that were here before.
    """

    job: str
    pids: tuple[int, ...]
    log: str | None = None
    steps: int | None = None
    last_step: int | None = None
    wait_s: float = FIRST_STEP_S
    stopped_s: float | None = None
    suspected: bool = False
    settled: bool = False
    busy: Mapping[str, float] = {}
    gone: tuple[int, ...] = ()


class JobProgress(Observation, frozen=True, kw_only=True):
    """Every job that has ranks here; `unseen` says what could not be asked of them."""

    jobs: tuple[JobStand, ...] = ()
    unseen: tuple[Missing, ...] = ()

    def suspects(self) -> tuple[JobStand, ...]:
        """Return the jobs that stand still."""
        return tuple(job for job in self.jobs if job.suspected)


def stand(
    job: str,
    followed: Followed,
    *,
    log: str | None,
    last_step: int | None,
    gone: tuple[int, ...] = (),
) -> JobStand:
    """Return how a job stands as an observation."""
    return JobStand(
        job=job,
        pids=tuple(followed.last.work),
        log=log,
        steps=followed.last.steps,
        last_step=last_step,
        wait_s=followed.wait_s(),
        stopped_s=followed.stopped_s(),
        suspected=followed.suspected(),
        settled=followed.settled(),
        busy={str(pid): round(share, 3) for pid, share in followed.busy.items()},
        gone=gone,
    )
