"""Whatever a driver tells, each check judges it or says that it cannot; none breaks."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Observation
from collectors.gpu.health import GpuHealth, GpuReading, Pair
from collectors.gpu.health_parts import (
    Clocks,
    Fabric,
    Heat,
    Link,
    Modes,
    Nvlink,
    Part,
    Pcie,
    Power,
)
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.gpu.pcie import PciDevice, PciTree
from collectors.jobs.expected import Expected, Stated
from diagnostics.checks.gpu import clocks, count, fabric, heat, nvlink, pcie, power, topology

CHECKS = (heat.heat, power.power, clocks.clocks, pcie.pcie, nvlink.nvlink, fabric.fabric)
PCI = st.sampled_from(["0000:18:00.0", "00000000:2A:00.0", "0000:3a:00.0", "odd", None])
NUMBERS = st.none() | st.integers(0, 4) | st.integers(-300, 1 << 20)
BITS = st.none() | st.integers(0, 0xFFFF)
COUNTS = st.dictionaries(st.sampled_from(["replays", "crc_flits", "odd"]), st.integers(0, 500))


def part(kind: type[Part]) -> st.SearchStrategy[Part]:
    """Return any numbers of one kind; bits are never negative, as the driver's are unsigned."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    bits = {"reasons", "health_mask"}
    return st.builds(kind, **{name: BITS if name in bits else NUMBERS for name in names})


LINKS = st.lists(
    st.builds(Link, link=st.integers(0, 17), active=st.none() | st.booleans(), errors=COUNTS),
    max_size=4,
).map(tuple)
READING = st.builds(
    GpuReading,
    index=st.integers(0, 7),
    pci=PCI,
    name=st.sampled_from([None, "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "Q9"]),
    utilisation_percent=st.none() | st.integers(0, 100),
    heat=part(Heat),
    power=part(Power),
    clocks=part(Clocks),
    pcie=part(Pcie),
    fabric=part(Fabric).map(lambda made: msgspec.structs.replace(made, cluster=None)),
    modes=st.builds(Modes, mig=st.none() | st.booleans()),
    nvlink=st.builds(Nvlink, count=NUMBERS, replays=NUMBERS, links=LINKS),
    error=st.sampled_from([None, None, None, 15]),
)
READINGS = st.lists(READING, max_size=8).map(tuple)
PAIR = st.builds(
    Pair,
    one=PCI.map(str),
    other=PCI.map(str),
    ancestor=st.none() | st.sampled_from([0, 10, 20, 30, 40, 50, 7]),
    peer_read=st.none() | st.integers(0, 6),
)
HEALTH = st.builds(
    GpuHealth,
    loaded=st.booleans() | st.just(value=True),
    driver=st.sampled_from([None, "580.105.08"]),
    count=st.none() | st.integers(0, 8),
    gpus=READINGS,
    before=READINGS,
    watched_s=st.floats(0, 10),
    pairs=st.lists(PAIR, max_size=20).map(tuple),
)
DEVICE = st.builds(
    PciDevice,
    address=PCI.map(str),
    kind=st.sampled_from(["gpu", "nic", "nvme"]),
    above=st.lists(st.sampled_from(["pci0000:15", "0000:15:01.0", "x"]), max_size=4).map(tuple),
    numa=st.none() | st.integers(0, 1),
)
TREE = st.builds(PciTree, devices=st.lists(DEVICE, max_size=8).map(tuple))


@given(HEALTH, TREE)
def test_no_check_of_health_breaks(health: GpuHealth, tree: PciTree) -> None:
    """Numbers that no GPU has, GPUs twice, links of no use: a verdict comes out all the same."""
    seen: dict[type[Observation], Observation] = {GpuHealth: health, PciTree: tree}
    results = [check.run(seen) for check in (*CHECKS, topology.topology)]
    broken = [m.detail for r in results for m in r.missing if m.what == r.check]
    assert [] == broken


@given(
    st.builds(
        Expected,
        gpus=st.none()
        | st.builds(
            Stated,
            number=st.integers(0, 16).map(float),
            by=st.sampled_from(["settings", "slurm", "kubernetes", "fleet", "past"]),
            source=st.just("somewhere"),
            line=st.none() | st.integers(1, 99),
        ),
        product=st.sampled_from([None, "H100"]),
        confined=st.booleans(),
    ),
    st.builds(
        GpuSnapshot,
        count=st.none() | st.integers(0, 8),
        gpus=st.lists(
            st.builds(Gpu, index=st.integers(0, 7), error=st.sampled_from([None, 15, 4])),
            max_size=8,
        ).map(tuple),
    ),
)
def test_a_missing_gpu_is_a_fault_by_settings_or_slurm_alone(
    expected: Expected, gpus: GpuSnapshot
) -> None:
    """Without a number nothing is loud; one that was learnt or may be old warns at most."""
    result = count.count.run({Expected: expected, GpuSnapshot: gpus})
    loud = {f.severity for f in result.findings if f.severity != "info"}
    stated = expected.gpus
    allowed = {"critical"} if stated and stated.binding else {"warning"} if stated else set()
    crashed = [m for m in result.missing if m.cause is Cause.CRASHED]
    assert (set(), []) == (loud - allowed, crashed)
