"""One step of a run, and what one line adds to it: the type that all forms are read into."""

import msgspec


class Point(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step as a log prints it, None where it does not; times in milliseconds.

    `step_ms` is the whole step, `sync_ms` its gradient synchronisation (the slowest rank's where
    the log gives two, `sync_least_ms` the fastest's), `gather_ms` the gathering of parameters,
    `data_ms` the wait for a batch. `rate` is what the log counts a second: tokens, samples or
    images. `skipped` counts steps that the optimizer left out. `lost` is True where a line that
    has the loss otherwise has none and no step was skipped: it was NaN. `rewarded` marks
    reinforcement learning, whose loss is 0 by right. `bus_gb_s` is the bus
    bandwidth of a collective in GB/s, `batch` then its size in bytes. `served` are the tokens a
    second that a server of a model generates. `line` and `text` are the
    line that began the point, counted from 1 in its log.
    """

    step: int | None = None
    loss: float | None = None
    grad_norm: float | None = None
    loss_scale: float | None = None
    lr: float | None = None
    skipped: int | None = None
    step_ms: float | None = None
    rate: float | None = None
    forward_ms: float | None = None
    backward_ms: float | None = None
    data_ms: float | None = None
    sync_ms: float | None = None
    sync_least_ms: float | None = None
    gather_ms: float | None = None
    bus_gb_s: float | None = None
    served: float | None = None
    batch: int | None = None
    lost: bool = False
    rewarded: bool = False
    line: int | None = None
    text: str | None = None


class Numbers(Point, frozen=True, kw_only=True, omit_defaults=True):
    """What one line says.

    `micro` is one of several passes of a step. `elapsed_s` is the clock of a progress bar, from
    which step times are taken. `scale_from` and `scale_to` are a loss scale that an overflow
    lowers. `slowest` is the rank that a report names, with its time and that of the fastest. A
    line without step and step time belongs to the step printed before it, and one with `more`
    whatever it has. `listed` is the timer whose times follow, a line for each rank: `of_rank`.
    """

    micro: bool = False
    elapsed_s: float | None = None
    scale_from: float | None = None
    scale_to: float | None = None
    slowest: int | None = None
    slow_ms: float | None = None
    fast_ms: float | None = None
    more: bool = False
    listed: str | None = None
    of_rank: int | None = None
    of_rank_ms: float | None = None
