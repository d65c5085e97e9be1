"""Errors that were corrected: one is nothing, many within some time are a part that fails."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from diagnostics.check import Limits
from diagnostics.checks.kernel.words import span
from diagnostics.rules.kernel import KernelHit

# By fault: the limit's name.
LIMIT_OF: Mapping[str, str] = {
    "pcie_correctable_errors": "corrected_pcie_errors",
    "host_memory_correctable": "corrected_memory_errors",
    "cpu_machine_check": "corrected_machine_checks",
}


class CorrectedLimits(Limits, frozen=True, kw_only=True):
    """How many corrected errors a part may have within the window of its rule.

    Memory: mcelog's shipped configuration acts at 10 of one DIMM in 24 h (ce-error-threshold) and
    at 100 of one socket (mem-ce-error-threshold), which is taken for machine checks of the node.
    PCIe: no vendor gives a number; operators reseat at tens a minute, here 30 a minute that last.
    """

    corrected_pcie_errors: Annotated[
        int, msgspec.Meta(ge=1, description="of one device in 10 min")
    ] = 300
    corrected_memory_errors: Annotated[
        int, msgspec.Meta(ge=1, description="of one memory module in 24 h")
    ] = 10
    corrected_machine_checks: Annotated[
        int, msgspec.Meta(ge=1, description="of the node in 24 h")
    ] = 100


def judged(hit: KernelHit, limits: CorrectedLimits) -> KernelHit:
    """Return the hit as a warning where too many came; what carries no time stays a note."""
    limit = getattr(limits, LIMIT_OF.get(hit.fault, ""), None)
    if limit is None or hit.peak is None or hit.peak <= limit:
        return hit
    return msgspec.structs.replace(
        hit,
        severity="warning",
        template=hit.template + ": {peak} within {window} (limit {allowed})",
        values={**hit.values, "peak": hit.peak, "window": span(hit.window_s), "allowed": limit},
    )
