"""Which fault can cause which: declared, so that one can read and argue about it."""

from collections.abc import Iterator

from diagnostics.incidents.edge import Edge
from diagnostics.incidents.training import of_training
from diagnostics.knowledge.aliases import WISH, XID
from diagnostics.knowledge.codes.events import ECHO_S
from diagnostics.knowledge.codes.tables import xids

# An Xid 45 is the driver's clearing up after what stands before it on the same GPU; 43 stops the
# channel of a program that failed.
CLEARED, STOPPED = "xid_45", "xid_43"
# What a program sees when its memory, its link or its GPU fails under it.
SEEN_BY_PROGRAM = ("xid_13", "xid_31", "xid_32", STOPPED)
UNDER_IT = ("gpu_fell_off_bus", "ecc_uncorrectable", "nvlink_error", "gsp_timeout")


def of_codes() -> Iterator[Edge]:
    """Yield what follows from an Xid, by what the table says of it."""
    named = dict.fromkeys(XID.values())
    yield from (edge for cause in named for edge in _cleared(cause))
    yield from (Edge(cause, WISH, "subject") for cause in named)
    yield from (Edge(cause, seen, "subject") for cause in UNDER_IT for seen in SEEN_BY_PROGRAM)
    for number, row in xids().items():
        fault = f"xid_{number}"
        if number in XID or fault in (CLEARED, WISH):
            continue
        yield from _cleared(fault)
        if row.severity != "info":
            yield Edge(fault, WISH, "subject")
            yield Edge(fault, "gpu_reset_required", "subject")
            yield Edge(fault, "nccl_collective_timeout", "node")
        elif row.recovery == "restart_job" and fault != STOPPED:
            yield Edge(fault, STOPPED, "subject")


def _cleared(cause: str) -> Iterator[Edge]:
    """Yield how a process's channels end: on the GPU that failed, and on its other ones."""
    yield Edge(cause, CLEARED, "subject", ECHO_S)
    yield Edge(cause, CLEARED, "pid", ECHO_S)


EDGES: tuple[Edge, ...] = (
    Edge("nvme_missing", "raid_degraded", "node"),
    Edge("nvme_failing", "raid_degraded", "node"),
    Edge("nvme_missing", "storage_io_error", "node"),
    Edge("raid_degraded", "storage_io_error", "node"),
    Edge("storage_io_error", "read_only_filesystem", "node"),
    Edge("storage_hang", "task_blocked_d_state", "node"),
    Edge("storage_hang", "checkpoint_slow", "node"),
    Edge("storage_hang", "data_loading_slow", "node"),
    Edge("disk_latency_high", "data_loading_slow", "node"),
    Edge("stale_file_handle", "checkpoint_write_failed", "node"),
    Edge("read_only_filesystem", "checkpoint_write_failed", "node"),
    Edge("storage_io_error", "checkpoint_write_failed", "node"),
    Edge("disk_full", "checkpoint_write_failed", "node"),
    Edge("shm_exhausted", "nccl_shm_attach_failed", "node"),
    Edge("host_memory_pressure", "process_oom_killed", "node"),
    Edge("host_memory_pressure", "data_loading_slow", "node"),
    # Two ways of seeing one mismatch: file names, and the driver's refusal.
    Edge("driver_library_mismatch", "driver_library_mismatch", "node"),
    Edge("gpu_lost", "driver_hung", "node"),
    Edge("gpu_lost", "task_blocked_d_state", "node"),
    Edge("gpu_handle_undetermined", "task_blocked_d_state", "node"),
    Edge("driver_hung", "task_blocked_d_state", "node"),
    Edge("task_blocked_d_state", "gpu_process_orphaned", "pid"),
    Edge("task_blocked_d_state", "gpu_process_zombie", "job"),
    Edge("gpu_process_orphaned", "gpu_memory_held_by_other_process", "node"),
    Edge("gpu_process_foreign", "gpu_memory_held_by_other_process", "node"),
    Edge("gpu_lost", "gpu_utilization_imbalance", "subject"),
    Edge("gpu_lost", "gpu_idle_while_allocated", "node"),
    Edge("driver_hung", "gpu_idle_while_allocated", "node"),
    Edge("storage_hang", "gpu_idle_while_allocated", "node"),
    Edge("gpu_process_orphaned", "gpu_memory_high", "node"),
    # The kernel's own lines come first; what the driver, a check or a job says follows from them.
    # The port's "Link Down" is how the host sees that the GPU left: one event, named by the GPU.
    # A port with one GPU below it is told by that GPU; another GPU's has nothing to do with it.
    Edge("gpu_fell_off_bus", "pcie_error", "subject"),
    Edge("gpu_fell_off_bus", "pcie_error", "whole"),
    Edge("pcie_error", "gpu_lost", "subject"),
    Edge("gpu_fell_off_bus", "gpu_lost", "subject"),
    Edge("gpu_fell_off_bus", "gpu_handle_undetermined", "subject"),
    Edge("gpu_fell_off_bus", "gpu_init_failed", "subject"),
    Edge("gpu_fell_off_bus", "gpu_count_mismatch", "node"),
    Edge("gpu_fell_off_bus", "nvlink_error", "node"),
    Edge("gpu_fell_off_bus", "driver_hung", "node"),
    Edge("gpu_fell_off_bus", "task_blocked_d_state", "node"),
    Edge("gpu_fell_off_bus", "gsp_timeout", "subject"),
    Edge("gpu_fell_off_bus", "gpu_reset_required", "subject"),
    # The driver's line that it kept a dump of the GPU, which names none.
    Edge("gpu_fell_off_bus", "gpu_fell_off_bus", "whole"),
    # The switch's end of a link whose GPU left.
    Edge("gpu_fell_off_bus", "nvswitch_sxid_fatal", "node"),
    Edge("gpu_fell_off_bus", "nvswitch_sxid_nonfatal", "node"),
    Edge("nvlink_error", "nvswitch_sxid_nonfatal", "node"),
    Edge("nvswitch_sxid_fatal", "nvlink_error", "node"),
    Edge("nvswitch_sxid_fatal", "nvswitch_sxid_nonfatal", "subject"),
    Edge("gsp_timeout", "driver_hung", "node"),
    Edge("gsp_timeout", "task_blocked_d_state", "node"),
    Edge("gsp_timeout", "gpu_reset_required", "subject"),
    Edge("ecc_uncorrectable", "row_remap_pending", "subject"),
    Edge("ecc_uncorrectable", "row_remap_failed", "subject"),
    Edge("ecc_uncorrectable", "gpu_reset_required", "subject"),
    Edge("row_remap_pending", "gpu_reset_required", "subject"),
    Edge("gpu_inforom_corrupted", "row_remap_failed", "subject"),
    # Two ways of seeing one fault of one GPU: the kernel's line, and the driver's own state.
    Edge("ecc_uncorrectable", "ecc_uncorrectable", "subject"),
    Edge("row_remap_pending", "row_remap_pending", "subject"),
    Edge("row_remap_failed", "row_remap_failed", "subject"),
    Edge("gpu_reset_required", "gpu_reset_required", "subject"),
    Edge("nvlink_error", "nvlink_error", "subject"),
    Edge("nvlink_error", "nvlink_down", "subject"),
    Edge("nvlink_error", "gpu_reset_required", "subject"),
    # The other end of the link: its GPU wants a reset too, without an Xid of its own.
    Edge("nvlink_error", WISH, "node", ECHO_S),
    # The driver's state of now, and the line with which it began.
    Edge("gpu_reset_required", WISH, "subject"),
    Edge("nvlink_error", "nccl_collective_timeout", "node"),
    Edge("cpu_machine_check", "kernel_panic", "node"),
    Edge("host_memory_uncorrectable", "kernel_panic", "node"),
    Edge("kernel_panic", "unexpected_reboot", "node"),
    # One error is told by the processor, by its memory controller, and by who takes the page away.
    Edge("host_memory_uncorrectable", "host_memory_uncorrectable", "node"),
    # The kernel's line, and the check that knows whose process it was.
    Edge("process_oom_killed", "process_oom_killed", "pid"),
    # What tools and schedulers say of a node whose kernel told why.
    Edge("gpu_init_failed", "nvml_no_devices", "node"),
    Edge("gpu_init_failed", "gpu_count_mismatch", "node"),
    Edge("gpu_fell_off_bus", "k8s_device_plugin_unhealthy", "node"),
    Edge("ecc_uncorrectable", "k8s_device_plugin_unhealthy", "node"),
    Edge("gpu_lost", "k8s_device_plugin_unhealthy", "node"),
    Edge("k8s_node_not_ready", "k8s_pod_evicted", "node"),
    Edge("host_memory_pressure", "k8s_pod_evicted", "node"),
    Edge("disk_full", "k8s_pod_evicted", "node"),
    Edge("gsp_timeout", "slurm_kill_task_failed", "node"),
    Edge("gpu_fell_off_bus", "slurm_kill_task_failed", "node"),
    Edge("driver_hung", "slurm_kill_task_failed", "node"),
    Edge("storage_hang", "slurm_kill_task_failed", "node"),
    Edge("task_blocked_d_state", "slurm_kill_task_failed", "node"),
    Edge("kernel_panic", "slurmd_not_responding", "node"),
    Edge("storage_hang", "slurmd_not_responding", "node"),
    # Two ways of seeing one boot: this node's own journal, and the controller's reason.
    Edge("unexpected_reboot", "unexpected_reboot", "node"),
    Edge("host_memory_missing", "process_oom_killed", "node"),
    Edge("cpu_soft_lockup", "task_blocked_d_state", "node"),
    Edge("ib_hca_fatal", "nic_link_down", "node"),
    Edge("ib_hca_fatal", "nic_errors_rate", "node"),
    Edge("ib_hca_fatal", "ib_port_flapping", "node"),
    Edge("ib_cable_overheat", "ib_port_flapping", "node"),
    Edge("ib_cable_overheat", "nic_link_flapping", "node"),
    Edge("ib_hca_fatal", "nccl_collective_timeout", "node"),
    Edge("ib_port_flapping", "nccl_collective_timeout", "node"),
    Edge("nic_link_flapping", "nccl_collective_timeout", "node"),
    Edge("iommu_p2p_fault", "nccl_collective_timeout", "node"),
    Edge("nccl_heartbeat_timeout", "nccl_collective_timeout", "node"),
    # The kernel's line that names no mount, and the mount that a check found.
    Edge("storage_io_error", "storage_io_error", "whole"),
    Edge("read_only_filesystem", "read_only_filesystem", "whole"),
    Edge("storage_hang", "storage_hang", "whole"),
    Edge("ib_hca_fatal", "ib_port_down", "node"),
    Edge("ib_cable_overheat", "ib_port_down", "node"),
    Edge("process_oom_killed", "worker_sigkill", "node"),
    Edge("process_oom_killed", "dataloader_worker_killed", "node"),
    # A log does not say which job wrote it: what its ranks waited for is looked for on the node.
    Edge("process_oom_killed", "nccl_remote_peer_closed", "node"),
    Edge("process_oom_killed", "nccl_collective_timeout", "node"),
    Edge("gpu_fell_off_bus", "nccl_collective_timeout", "node"),
    Edge("gpu_lost", "nccl_collective_timeout", "node"),
    Edge("gsp_timeout", "nccl_collective_timeout", "node"),
    Edge("driver_hung", "nccl_collective_timeout", "node"),
    Edge("storage_hang", "nccl_collective_timeout", "node"),
    Edge("task_blocked_d_state", "nccl_collective_timeout", "node"),
    Edge("ib_port_down", "nccl_collective_timeout", "node"),
    Edge("driver_not_loaded", "nvml_no_devices", "node"),
    Edge("driver_not_loaded", "gpu_init_failed", "node"),
    Edge("driver_library_mismatch", "gpu_init_failed", "node"),
    Edge("gpu_device_denied", "gpu_init_failed", "node"),
    Edge("gpu_device_denied", "nvml_no_devices", "node"),
    Edge("ib_module_missing", "ib_device_missing", "node"),
    Edge("ib_port_down", "ipoib_down", "node"),
    Edge("ib_subnet_manager_missing", "ipoib_down", "node"),
    Edge("ib_port_down", "ib_ping_unreachable", "node"),
    Edge("ib_subnet_manager_missing", "ib_ping_unreachable", "node"),
    # Until the subnet manager has led all ways around a dead port, others lose packets too.
    Edge("ib_port_down", "ib_ping_loss", "node"),
    Edge("nic_link_down", "ping_unreachable", "node"),
    Edge("psu_failed", "psu_redundancy_lost", "node"),
    Edge("psu_failed", "node_power_near_capacity", "node"),
    Edge("psu_failed", "gpu_power_brake", "node"),
    Edge("psu_failed", "bmc_event", "subject"),
    Edge("coolant_leak_detected", "coolant_flow_low", "node"),
    Edge("coolant_flow_low", "chassis_temperature_high", "node"),
    Edge("coolant_flow_low", "gpu_thermal_throttle", "node"),
    Edge("coolant_temperature_high", "chassis_temperature_high", "node"),
    Edge("coolant_temperature_high", "gpu_thermal_throttle", "node"),
    Edge("inlet_temperature_high", "chassis_temperature_high", "node"),
    Edge("inlet_temperature_high", "gpu_thermal_throttle", "node"),
    Edge("inlet_temperature_high", "bmc_event", "subject"),
    Edge("fan_failed", "chassis_temperature_high", "node"),
    Edge("fan_failed", "gpu_thermal_throttle", "node"),
    Edge("chassis_temperature_high", "bmc_event", "subject"),
    # What the settings expect of the node, and the one thing that is not as expected.
    Edge("ib_port_down", "ib_port_down", "whole"),
    Edge("ib_device_missing", "ib_device_missing", "whole"),
    Edge("ib_subnet_manager_missing", "ib_port_down", "whole"),
    Edge("nvme_missing", "nvme_missing", "whole"),
    # Counted against the scheduler, against /dev, and GPU by GPU.
    Edge("gpu_count_mismatch", "gpu_count_mismatch", "node"),
    # A GPU that is gone takes its links and its place in the topology with it.
    Edge("gpu_lost", "gpu_count_mismatch", "node"),
    Edge("gpu_handle_undetermined", "gpu_count_mismatch", "node"),
    Edge("gpu_count_mismatch", "gpu_topology_degraded", "node"),
    Edge("ib_device_missing", "gpu_topology_degraded", "node"),
    Edge("gpu_lost", "nvlink_down", "node"),
    Edge("gpu_fell_off_bus", "nvlink_down", "node"),
    Edge("gpu_lost", "fabric_manager_not_ready", "node"),
    Edge("nvswitch_sxid_fatal", "fabric_manager_not_ready", "node"),
    Edge("nvswitch_sxid_fatal", "nvlink_down", "node"),
    Edge("fabric_manager_not_ready", "nvlink_down", "node"),
    Edge("inlet_temperature_high", "gpu_thermal_margin_low", "node"),
    Edge("coolant_temperature_high", "gpu_thermal_margin_low", "node"),
    Edge("coolant_flow_low", "gpu_thermal_margin_low", "node"),
    Edge("fan_failed", "gpu_thermal_margin_low", "node"),
    Edge("gpu_thermal_throttle", "gpu_clock_low", "subject"),
    Edge("gpu_power_brake", "gpu_clock_low", "subject"),
    Edge("gpu_power_cap_low", "gpu_clock_low", "subject"),
    Edge("pcie_link_degraded", "data_loading_slow", "node"),
    # A synchronous step takes as long as on the slowest GPU.
    Edge("gpu_thermal_throttle", "slow_step", "node"),
    Edge("gpu_power_brake", "slow_step", "node"),
    Edge("gpu_power_cap_low", "slow_step", "node"),
    Edge("gpu_clock_low", "slow_step", "node"),
    Edge("pcie_link_degraded", "gradient_sync_slow", "node"),
    Edge("nvlink_down", "gradient_sync_slow", "node"),
    Edge("peermem_not_loaded", "gradient_sync_slow", "node"),
    # A rank that ended in an error of its GPU does not arrive; the others wait until their timeout.
    Edge("ecc_uncorrectable", "nccl_collective_timeout", "node"),
    Edge("cuda_oom", "nccl_collective_timeout", "node"),
    Edge("cuda_device_assert", "nccl_collective_timeout", "node"),
    Edge("cuda_illegal_memory_access", "nccl_collective_timeout", "node"),
    *of_codes(),
    *of_training(),
)
