"""Whether as many GPUs answer as this node should have."""

from collections.abc import Iterator, Sequence

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.bus import PciGpus
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.jobs.expected import Expected
from diagnostics.check import NODE, check
from diagnostics.checks.driver.owners import guests
from diagnostics.finding import (
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)
from diagnostics.knowledge.models import FILE, of_device

# A GPU that answers, or one that we may not ask, cannot ask or that is still starting: it is there.
NO_WORD = frozenset({None, 3, 4, 13, 27})
BUS = "/sys/bus/pci/devices"


class Should(msgspec.Struct, frozen=True):
    """How many GPUs there should be, who says so in words, and how sure that is."""

    number: int
    who: str
    evidence: Evidence
    binding: bool = False
    product: str | None = None
    provisional: bool = False

    @property
    def what(self) -> str:
        """Return what is counted: "GPUs", or those of one product."""
        return f"{self.product} GPUs" if self.product else "GPUs"


class Have(msgspec.Struct, frozen=True):
    """How many GPUs there are: on the bus, and answering; None where that was not seen."""

    on_bus: int | None
    answer: int | None

    @property
    def number(self) -> int | None:
        """Return how many can be used, as far as it is known."""
        return self.answer if self.answer is not None else self.on_bus


@check(
    "gpu.count",
    stage="driver",
    faults=("gpu_count_mismatch", "expectation_provisional"),
    proved="documented",
)
def count(
    expected: Expected | Missing, pci: PciGpus | Missing, gpus: GpuSnapshot | Missing
) -> Iterator[Statement]:
    """As many GPUs answer as the settings or the scheduler expect, and as are on the bus.

    A GPU that died at boot leaves no trace but its absence. The scheduler still places jobs by the
    old number, and each of them fails here. Where neither settings nor Slurm say a number, the
    NVSwitches of the baseboard do; what the node had before can only warn. Inside a job or
    container the driver shows a share, so that the bus alone counts.
    """
    said = None if isinstance(expected, Missing) else expected
    should = _should(said, pci, gpus)
    have = Have(_on_bus(said, pci), _answering(said, gpus))
    if isinstance(pci, Missing) and isinstance(gpus, Missing):
        yield Unseen(missing=gpus)
        return
    if not have.on_bus and not have.answer and (should is None or not should.number):
        yield NotApplicable(why="no NVIDIA GPU, and nobody expects one")
        return
    if should is not None and should.provisional:
        yield _provisional(should)
    confined = said is not None and said.confined
    findings = list(_judge(should, have, pci, None if confined else gpus))
    yield from findings
    if not findings and should is not None and isinstance(gpus, Missing):
        yield Unseen(missing=gpus)
    elif not findings:
        yield Well(message=_well(have, should))
        yield from _silent(said, should)


def _should(
    said: Expected | None, pci: PciGpus | Missing, gpus: GpuSnapshot | Missing
) -> Should | None:
    stated = said.gpus if said else None
    board = None if isinstance(pci, Missing) else _by_board(pci)
    if stated is None or (stated.provisional and board is not None):
        return board
    divided = not isinstance(gpus, Missing) and any(gpu.mig for gpu in gpus.gpus)
    # A scheduler counts the instances of divided GPUs, under whatever name the site gave them.
    if divided and stated.by not in ("settings", "past"):
        return board
    text = stated.text or f"{stated.number:g}"
    return Should(
        round(stated.number),
        stated.who,
        Evidence(source=stated.source, line=stated.line, text=text),
        binding=stated.binding,
        product=said.product if said else None,
        provisional=stated.provisional,
    )


def _by_board(pci: PciGpus) -> Should | None:
    """Return how many GPUs the baseboard carries on which so many NVSwitches are."""
    models = {gpu.model for gpu in pci.gpus}
    model = of_device(models.pop()) if len(models) == 1 else None
    number = model.switches.get(str(len(pci.switches))) if model else None
    if model is None or number is None:
        return None
    who = f"a baseboard of {model.names[0]} with {len(pci.switches)} NVSwitches"
    return Should(number, who, Evidence(source=FILE, values={"switches": len(pci.switches)}))


def _on_bus(said: Expected | None, pci: PciGpus | Missing) -> int | None:
    """Return how many GPUs are on the bus; which product they are is not known there."""
    if isinstance(pci, Missing) or (said and said.product):
        return None
    return len(pci.gpus)


def counted(
    said: Expected | Missing, pci: PciGpus | Missing, gpus: GpuSnapshot | Missing
) -> int | None:
    """Return how many GPUs answer or are a guest's, as they are counted here; None if unknown."""
    if isinstance(said, Missing) or isinstance(pci, Missing):
        return None
    answer = _answering(said, gpus)
    return None if answer is None else answer + len(guests(pci.gpus))


def _answering(said: Expected | None, gpus: GpuSnapshot | Missing) -> int | None:
    if isinstance(gpus, Missing) or not gpus.loaded or gpus.init_error is not None:
        return None
    if said and said.confined:
        return None
    return sum(1 for gpu in gpus.gpus if gpu.error in NO_WORD and _wanted(said, gpu))


def _wanted(said: Expected | None, gpu: Gpu) -> bool:
    product = said.product if said else None
    return product is None or product.lower() in (gpu.name or "").lower()


def _judge(
    should: Should | None, have: Have, pci: PciGpus | Missing, gpus: GpuSnapshot | Missing | None
) -> Iterator[Finding]:
    guest = 0 if isinstance(pci, Missing) else len(guests(pci.gpus))
    number = have.number
    if should is not None and number is not None and number + guest < should.number:
        yield _few(should, have, number)
    elif should is not None and number is not None and number > should.number:
        yield _many(should, number)
    elif not isinstance(pci, Missing) and isinstance(gpus, GpuSnapshot):
        yield from _unlisted(pci, gpus)


def _few(should: Should, have: Have, number: int) -> Finding:
    severity: Severity = "critical" if should.binding else "warning"
    answers = have.answer is not None
    bus = f"; on the PCI bus: {have.on_bus}" if answers and have.on_bus is not None else ""
    return found(
        "gpu_count_mismatch",
        severity,
        NODE,
        "{expected} {what} expected by {who}; {verb}: {number}{bus}",
        should.evidence,
        _seen(have),
        variant="expected",
        confidence=0.95 if should.binding else 0.6,
        expected=should.number,
        what=should.what,
        who=should.who,
        verb="answering" if answers else "on the PCI bus",
        number=number,
        bus=bus,
    )


def _many(should: Should, number: int) -> Finding:
    return found(
        "gpu_count_mismatch",
        "info",
        NODE,
        "{number} {what} are here, {expected} expected by {who}",
        should.evidence,
        variant="more",
        number=number,
        what=should.what,
        expected=should.number,
        who=should.who,
    )


def _unlisted(pci: PciGpus, gpus: GpuSnapshot) -> Iterator[Finding]:
    """Yield that the driver lists fewer GPUs than are bound to it, outside of a container.

    A container is given the nodes of its own GPUs alone; here each bound GPU has its node.
    """
    bound = sum(1 for gpu in pci.gpus if gpu.driver == "nvidia")
    listed = max(gpus.count or 0, len(gpus.gpus) + len(gpus.held_back) + len(gpus.stuck))
    asked = gpus.loaded and gpus.init_error is None and gpus.count is not None
    if not asked or not 0 < listed < bound or len(pci.minors) < bound:
        return
    yield found(
        "gpu_count_mismatch",
        "warning",
        NODE,
        "the driver lists {listed} of the {bound} GPUs that are bound to it on the PCI bus",
        Evidence(source="NVML", values={"count": gpus.count}),
        Evidence(source=BUS, values={"gpus": [gpu.address for gpu in pci.gpus]}),
        variant="unlisted",
        listed=listed,
        bound=bound,
    )


def _provisional(should: Should) -> Finding:
    return found(
        "expectation_provisional",
        "info",
        NODE,
        "{number} GPUs are expected only because this node had as many before",
        should.evidence,
        number=should.number,
    )


def _silent(said: Expected | None, should: Should | None) -> Sequence[Statement]:
    """Return the sources that could not be read, where nobody else says a number."""
    return [Unseen(missing=missing) for missing in said.silent] if said and not should else []


def _seen(have: Have) -> Evidence:
    values = {"answering": have.answer, "on_bus": have.on_bus}
    return Evidence(source=BUS if have.answer is None else "NVML", values=values)


def _well(have: Have, should: Should | None) -> str:
    number = have.number
    noun = "GPU" if number == 1 else "GPUs"
    verb = "on the PCI bus" if have.answer is None else "answering"
    return f"{number} {noun} {verb}" + (f", as {should.who} says" if should else "")
