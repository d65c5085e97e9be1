"""Which fault of a run's numbers follows from which."""

from collections.abc import Iterator

from diagnostics.incidents.edge import Edge

# One rank that is late makes all others wait where gradients meet, and so does a slow link.
SLOWS = ("straggler_rank", "gradient_sync_slow", "data_loading_slow", "allreduce_bandwidth_low")
# A loss that is gone is told once, by its loudest word.
GONE = ("nonfinite_grad_norm", "loss_zero")


def of_numbers() -> Iterator[Edge]:
    """Yield the causes of slow steps, and of numbers that are gone."""
    yield from (Edge(cause, "slow_step", "log") for cause in SLOWS)
    yield Edge("straggler_rank", "gradient_sync_slow", "log")
    yield Edge("allreduce_bandwidth_low", "gradient_sync_slow", "log")
    yield from (Edge("nan_loss", word, "log") for word in GONE)
    yield Edge("loss_scale_collapse", "loss_scale_floor", "log")
    yield Edge("loss_spike", "grad_norm_exploding", "log")
