"""Whether as many NVMe drives are there as somebody expects."""

from collections.abc import Iterator

from collectors.host.nvme import NvmeDrives
from collectors.jobs.expected import Expected
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, NotApplicable, Statement, Well, found


@check("storage.expected", stage="processes", faults=("nvme_missing",), proved="documented")
def expected(should: Expected, seen: NvmeDrives) -> Iterator[Statement]:
    """As many NVMe drives are on the PCI bus as the settings expect.

    A drive that left the bus leaves no trace there, and a data cache that is striped over all of
    them does not come up. Where the settings say nothing, the agent compares with what the node had
    before, which can only warn.
    """
    stated, there = should.nvme, [drive.address for drive in seen.drives]
    if stated is None:
        yield NotApplicable(why="nobody expects a number of NVMe drives")
    elif len(there) >= stated.number:
        yield Well(message=f"NVMe drives: {len(there)}, {stated.number:g} expected by {stated.who}")
    else:
        yield found(
            "nvme_missing",
            "warning" if stated.provisional else "critical",
            NODE,
            "{number:g} NVMe drives expected by {who}; on the PCI bus: {there}",
            Evidence(source=stated.source, text=stated.text),
            Evidence(source="/sys/bus/pci/devices", values={"drives": there}),
            variant="expected",
            confidence=0.6 if stated.provisional else 0.95,
            number=stated.number,
            who=stated.who,
            there=len(there),
        )
