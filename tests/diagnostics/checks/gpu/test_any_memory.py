"""Checks of memory, InfoROM, recovery, modes and firmware on readings of any kind."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Ecc, EccCounts, Modes, Remap, Retired
from collectors.network.ports import Port, Ports
from diagnostics.check import Check
from diagnostics.checks.gpu import firmware, identity, memory_errors, modes, recovery

CHECKS: tuple[Check, ...] = (
    memory_errors.memory_errors,
    identity.identity,
    recovery.recovery,
    modes.modes,
    firmware.firmware,
)
COUNT = st.none() | st.integers(0, 5) | st.integers(-1, 1 << 64)
YES = st.none() | st.booleans()
CODES = st.dictionaries(
    st.sampled_from(["recovery_action", "inforom_state", "modes.persistence", "memory"]),
    st.none() | st.sampled_from([2, 3, 13, 15, 16, 999]),
)
COUNTS = st.builds(EccCounts, corrected=COUNT, uncorrected=COUNT)
VERSION = st.sampled_from([None, "", "1.0", "{0}", "2.0 {gpu}"])
READING = st.builds(
    GpuReading,
    index=st.integers(0, 7),
    pci=st.sampled_from([None, "0000:18:00.0", "0000:2a:00.0", "odd"]),
    name=VERSION,
    vbios=VERSION,
    inforom=VERSION,
    board_part=VERSION,
    inforom_state=st.sampled_from([None, "valid", "corrupted"]),
    recovery_action=st.none() | st.integers(0, 9),
    ecc=st.builds(Ecc, volatile=COUNTS, sram_threshold_exceeded=YES),
    remap=st.builds(Remap, corrected=COUNT, pending=YES, failed=YES),
    retired=st.builds(Retired, single_bit=COUNT, pending=YES),
    modes=st.builds(Modes, persistence=YES, compute=COUNT, mig=YES, mig_after_reset=YES, gsp=YES),
    error=st.sampled_from([None, None, 15, 16]),
    failed=CODES,
)
READINGS = st.lists(READING, max_size=6).map(tuple)
PORT = st.builds(
    Port,
    device=st.sampled_from(["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]),
    port=st.just(1),
    hca_type=VERSION,
    board_id=VERSION,
    fw_ver=VERSION,
    virtual=st.booleans(),
)


@given(
    st.builds(GpuHealth, gpus=READINGS, before=READINGS, watched_s=st.floats(0, 10)),
    st.lists(PORT, max_size=8).map(lambda ports: Ports(ports=tuple(ports))),
)
def test_no_reading_breaks_a_check(health: GpuHealth, ports: Ports) -> None:
    """GPUs twice, without address, with braces in their names: a verdict comes out all the same."""
    seen: dict[type[Any], Any] = {
        GpuHealth: health,
        Ports: ports,
        Bios: Bios(bios_version="{x}"),
    }
    results = [check.run(seen) for check in CHECKS]

    assert [] == [m.detail for r in results for m in r.missing if m.what == r.check]


@given(st.integers(0, 9))
def test_only_actions_that_all_releases_mean_alike_are_named(action: int) -> None:
    """From 5 on the number is all that is said, and that a person decides."""
    gpu = GpuReading(index=0, pci="0000:18:00.0", recovery_action=action)
    result = recovery.recovery.run({GpuHealth: GpuHealth(count=1, driver="580.1", gpus=(gpu,))})
    variants = [finding.text.key.partition(".")[2] for finding in result.findings]

    names = {0: [], 1: ["reset"], 2: ["reboot"], 3: ["drain_p2p"], 4: ["drain_and_reset"]}
    assert names.get(action, ["other"]) == variants
