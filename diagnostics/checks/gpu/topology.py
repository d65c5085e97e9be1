"""Whether a GPU is farther from the others, or from a network card, than its siblings are."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.pci import function
from collectors.gpu.health import GpuHealth, GpuReading, Pair
from collectors.gpu.pcie import PciDevice, PciTree
from diagnostics.check import Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

# nvml.h's levels, for pairs of GPUs as for a GPU and a card.
SWITCH, SWITCHES, BRIDGE, NUMA, SYSTEM = 10, 20, 30, 40, 50
WORDS = {
    0: "the same board",
    SWITCH: "one PCIe switch",
    SWITCHES: "several PCIe switches",
    BRIDGE: "the processor's PCIe bridge",
    NUMA: "bridges of one NUMA node",
    SYSTEM: "the link between processors",
}
# One pair that cannot stands against so many that can.
PAIRS_AGAINST = 3


class TopologyLimits(Limits, frozen=True, kw_only=True):
    """When the siblings make a pattern."""

    siblings: Annotated[
        int, msgspec.Meta(ge=2, description="GPUs alike that make the odd one out a finding")
    ] = 5


@check("gpu.topology", stage="driver", faults=("gpu_topology_degraded",), proved="documented")
def topology(
    health: GpuHealth, tree: PciTree | Missing, limits: TopologyLimits
) -> Iterator[Statement]:
    """No GPU alone is farther from the other GPUs, or from its network card, than all others are.

    NCCL builds its rings from this. Servers differ in their pattern, so that only one GPU against
    a whole row of equal ones is told; what is uneven by design has no such row.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    gpus = [gpu for gpu in health.answering() if gpu.pci and not gpu.modes.mig]
    if len(gpus) <= limits.siblings:
        yield NotApplicable(why=f"{len(gpus)} GPUs make no pattern to compare with")
        return
    findings = [
        *_far_from_card(gpus, tree, limits),
        *_far_from_gpus(gpus, health.pairs, limits),
        *_no_peer(gpus, health.pairs),
    ]
    yield from findings
    if not findings:
        yield Well(message=f"{asked.some(health, gpus)} make an even pattern")


def _far_from_card(
    gpus: Sequence[GpuReading], tree: PciTree | Missing, limits: TopologyLimits
) -> Iterator[Finding]:
    places = {} if isinstance(tree, Missing) else {d.address: d for d in tree.devices}
    cards = [device for device in places.values() if device.kind == "nic"]
    near = {
        gpu.key: min(level(places[asked.address(gpu)], card) for card in cards)
        for gpu in gpus
        if cards and asked.address(gpu) in places
    }
    for gpu in gpus:
        others = {level for key, level in near.items() if key != gpu.key}
        if gpu.key not in near or len(near) <= limits.siblings or len(others) != 1:
            continue
        usual = others.pop()
        if near[gpu.key] > usual:
            yield _farther(gpu, "card", near[gpu.key], usual, len(near) - 1)


def level(one: PciDevice, other: PciDevice) -> int:
    """Return how far apart two devices are, by nvml.h's levels."""
    shared = 0
    for here, there in zip(one.above, other.above, strict=False):
        if here != there:
            break
        shared += 1
    if shared > 1:
        # Below the switch's upper side each has a port of its own.
        return SWITCH if max(len(one.above), len(other.above)) - shared <= 1 else SWITCHES
    if shared:
        return BRIDGE
    return NUMA if one.numa is not None and one.numa == other.numa else SYSTEM


def _far_from_gpus(
    gpus: Sequence[GpuReading], pairs: Sequence[Pair], limits: TopologyLimits
) -> Iterator[Finding]:
    """Yield the GPU that is equally far from all others, where these are nearer to each other."""
    levels = _by_gpu(pairs)
    for gpu in gpus:
        mine = levels.get(asked.address(gpu), [])
        rest = [
            pair.ancestor
            for pair in pairs
            if asked.address(gpu) not in (function(pair.one), function(pair.other))
        ]
        if len(mine) < limits.siblings or len(set(mine)) != 1 or None in rest or not rest:
            continue
        farthest = max(value for value in rest if value is not None)
        if mine[0] > farthest:
            yield _farther(gpu, "gpus", mine[0], farthest, len(mine))


def _by_gpu(pairs: Sequence[Pair]) -> Mapping[str, list[int]]:
    levels: dict[str, list[int]] = {}
    for pair in pairs:
        for end in (pair.one, pair.other):
            if pair.ancestor is not None:
                levels.setdefault(function(end), []).append(pair.ancestor)
    return levels


def _farther(gpu: GpuReading, variant: str, mine: int, usual: int, others: int) -> Finding:
    whom = "the nearest network card" if variant == "card" else "the other GPUs"
    return found(
        "gpu_topology_degraded",
        "warning",
        asked.subject(gpu),
        "GPU {gpu} reaches {whom} over {mine}, the {others} others over {usual}",
        Evidence(
            source="/sys/devices" if variant == "card" else asked.WHAT,
            values={"level": mine, "usual": usual, "others": others},
        ),
        variant=variant,
        confidence=0.7,
        gpu=asked.named(gpu),
        whom=whom,
        mine=WORDS.get(mine, f"level {mine}"),
        others=others,
        usual=WORDS.get(usual, f"level {usual}"),
    )


def _no_peer(gpus: Sequence[GpuReading], pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield the GPUs that cannot read each other's memory, where nearly all others can."""
    names = {asked.address(gpu): gpu for gpu in gpus}
    judged = [
        pair
        for pair in pairs
        if pair.peer_read is not None and {function(pair.one), function(pair.other)} <= set(names)
    ]
    bad = [pair for pair in judged if pair.peer_read]
    if not bad or len(judged) - len(bad) < PAIRS_AGAINST * len(bad):
        return
    ends = Counter(function(end) for pair in bad for end in (pair.one, pair.other))
    worst, count = ends.most_common(1)[0]
    yield found(
        "gpu_topology_degraded",
        "warning",
        asked.subject(names[worst]),
        "GPU {gpu} and {count} of the others cannot read each other's memory (code {code}); "
        "{good} other pairs can",
        Evidence(source=asked.WHAT, values={"pairs": [[p.one, p.other, p.peer_read] for p in bad]}),
        variant="peer",
        gpu=asked.named(names[worst]),
        count=count,
        code=bad[0].peer_read,
        good=len(judged) - len(bad),
    )
