"""The checks that the text of a log alone is judged by, in their order.

A list of its own: the whole catalogue would import every collector's shapes, 40 ms of each start.
"""

from diagnostics.check import Check
from diagnostics.checks.training import (
    bandwidth,
    collectives,
    configuration,
    data_loading,
    files,
    gradient_sync,
    gradients,
    loss,
    loss_scale,
    loss_spike,
    network,
    scheduler,
    site,
    step_time,
    stood,
    stragglers,
    symptoms,
    user_code,
    workers,
)

_SHIPPED: tuple[Check, ...] = (
    symptoms.symptoms,
    collectives.collectives,
    network.network,
    workers.workers,
    user_code.program,
    files.files,
    scheduler.scheduler,
    loss.loss,
    loss_spike.loss_spike,
    gradients.gradients,
    loss_scale.loss_scale,
    step_time.step_time,
    stood.stood,
    gradient_sync.gradient_sync,
    data_loading.data_loading,
    stragglers.stragglers,
    bandwidth.bandwidth,
    configuration.configuration,
)

OF_TEXT: tuple[Check, ...] = (*_SHIPPED, site.of_others(_SHIPPED))
