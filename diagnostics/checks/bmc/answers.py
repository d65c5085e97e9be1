"""A BMC that is there answers."""

from collections.abc import Iterator

from collectors.bmc.controller import Bmc
from collectors.facts.observation import Cause
from collectors.facts.subject import Subject
from diagnostics.check import check
from diagnostics.checks.bmc.reading import NO_BMC
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found

# Asked and not answered; the other causes say that it was not asked.
SILENT = (Cause.TIMEOUT, Cause.CRASHED)


@check("bmc.answers", stage="driver", faults=("bmc_unreachable",), proved="real-tool")
def answers(seen: Bmc) -> Iterator[Statement]:
    """Every BMC that the kernel knows answers when it is asked.

    Without it nobody sees heat, fans and supplies, and a node that hangs cannot be switched off and
    on from afar.
    """
    if not seen.present:
        yield NotApplicable(why=NO_BMC)
        return
    missing = seen.missing
    if missing is None:
        yield Well(message=f"the BMC answers, firmware {seen.firmware or 'unknown'}")
        return
    if missing.cause not in SILENT:
        yield Unseen(missing=missing)
        return
    yield found(
        "bmc_unreachable",
        "warning",
        Subject(kind="bmc", name="bmc"),
        "the BMC does not answer in band: {why}",
        Evidence(source="ipmitool raw 0x06 0x01", values={"cause": missing.cause.value}),
        why=missing.detail,
    )
