"""Every check, in the order in which an engineer walks a sick node.

Processes, then driver and firmware, then the network, then the training logs: a fault found early
is often the cause of those that a later stage would report.
"""

from diagnostics.check import Check
from diagnostics.checks.bmc import answers as bmc_answers
from diagnostics.checks.bmc import chassis, coolant, events, fans, inlet, power
from diagnostics.checks.driver import answers, bus, device_nodes, modules, versions
from diagnostics.checks.gpu import caps as gpu_caps
from diagnostics.checks.gpu import (
    clocks,
    count,
    fabric,
    firmware,
    heat,
    identity,
    memory_errors,
    modes,
    nvlink,
    pcie,
    peer_paths,
    peermem,
    recovery,
    topology,
)
from diagnostics.checks.gpu import power as gpu_power
from diagnostics.checks.host import changes, clock, descriptors, governor, memory, shm
from diagnostics.checks.jobs import maintenance, node_reason
from diagnostics.checks.kernel import last_boot, log
from diagnostics.checks.network import (
    adapters,
    bandwidth,
    counters,
    devices,
    ethernet,
    fec,
    flaps,
    full_mtu,
    ibping,
    interfaces,
    memlock,
    nccl_devices,
    nccl_gid,
    nccl_interface,
    nccl_settings,
    optics,
    ping,
    ports,
    roce,
    settings,
    ssh,
    subnet,
    traffic,
)
from diagnostics.checks.network import expected as expected_ports
from diagnostics.checks.processes import (
    blocked,
    gpu_memory,
    gpu_use,
    oom,
    orphaned,
    sharing,
    zombie,
)
from diagnostics.checks.storage import (
    clients,
    latency,
    lustre,
    mounts,
    network_files,
    nfs,
    nvme,
    raid,
)
from diagnostics.checks.storage import expected as expected_drives
from diagnostics.checks.text import tools
from diagnostics.checks.training import flight_recorder, hang, ranks, ras, utilization
from diagnostics.checks.training.of_text import OF_TEXT

PROCESSES: tuple[Check, ...] = (
    orphaned.orphaned,
    zombie.zombie,
    blocked.blocked,
    sharing.sharing,
    gpu_memory.gpu_memory,
    gpu_use.gpu_use,
    oom.oom,
    node_reason.node_reason,
    maintenance.maintenance,
    memory.memory,
    shm.shm,
    descriptors.file_descriptors,
    clock.clock,
    governor.governor,
    changes.changes,
    mounts.mounts,
    nfs.nfs,
    lustre.lustre,
    clients.clients,
    latency.latency,
    expected_drives.expected,
    nvme.nvme,
    raid.raid,
    network_files.network_files,
)
DRIVER: tuple[Check, ...] = (
    log.kernel_log,
    last_boot.last_boot,
    modules.modules,
    versions.versions,
    bus.bus,
    device_nodes.device_nodes,
    answers.answers,
    count.count,
    recovery.recovery,
    memory_errors.memory_errors,
    heat.heat,
    gpu_power.power,
    gpu_caps.caps,
    clocks.clocks,
    pcie.pcie,
    nvlink.nvlink,
    fabric.fabric,
    topology.topology,
    peer_paths.peer_paths,
    peermem.peermem,
    identity.identity,
    modes.modes,
    firmware.firmware,
    bmc_answers.answers,
    inlet.inlet,
    chassis.chassis,
    fans.fans,
    coolant.coolant,
    power.power,
    events.events,
    tools.tools,
)
NETWORK: tuple[Check, ...] = (
    devices.devices,
    expected_ports.expected,
    ports.ports,
    flaps.link_flaps,
    interfaces.interfaces,
    settings.settings,
    counters.counters,
    ethernet.ethernet,
    optics.optics,
    fec.fec,
    adapters.adapters,
    roce.roce,
    traffic.traffic,
    memlock.memlock,
    subnet.subnet,
    ibping.ibping,
    ping.ping,
    full_mtu.full_mtu,
    ssh.ssh,
    bandwidth.bandwidth,
    nccl_interface.nccl_interface,
    nccl_devices.nccl_devices,
    nccl_gid.nccl_gid,
    nccl_settings.nccl_settings,
)
TRAINING: tuple[Check, ...] = (
    *OF_TEXT,
    utilization.utilization,
    hang.hang,
    ranks.ranks,
    ras.ras,
    flight_recorder.flight_recorder,
)

WALK: tuple[Check, ...] = PROCESSES + DRIVER + NETWORK + TRAINING
