"""The first minutes after a boot: what is still coming up is no fault yet."""

import msgspec

from diagnostics.check import Result
from diagnostics.finding import RANK, Finding, Verdict

# NVSwitch fabrics, links and the services of a node take some minutes to come up.
BOOT_GRACE_S = 300.0
SETTLING = frozenset(
    {
        *("driver_not_loaded", "nvml_no_devices", "gpu_count_mismatch", "fabric_manager_not_ready"),
        *("nvlink_down", "peermem_not_loaded", "gpu_topology_degraded", "bmc_unreachable"),
        *("ib_module_missing", "ib_device_missing", "ib_port_down", "ib_subnet_manager_missing"),
        *("ipoib_down", "nic_link_down", "bond_degraded", "clock_skew"),
        *("slurmd_not_responding", "k8s_node_not_ready", "k8s_device_plugin_unhealthy"),
    }
)
VERDICT: tuple[Verdict, ...] = ("ok", "warning", "fault")


def settled(result: Result, uptime_s: float | None) -> Result:
    """Return a result in which what may still come up is a note; *uptime_s* is since the boot."""
    if uptime_s is None or uptime_s >= BOOT_GRACE_S:
        return result
    findings = tuple(_noted(finding, uptime_s) for finding in result.findings)
    if findings == result.findings:
        return result
    worst = max(RANK[finding.severity] for finding in findings)
    told = next(f.message for f in findings if RANK[f.severity] == worst)
    verdict = "unknown" if not worst and result.missing else VERDICT[worst]
    return msgspec.structs.replace(result, findings=findings, verdict=verdict, message=told)


def _noted(finding: Finding, uptime_s: float) -> Finding:
    if finding.fault not in SETTLING or finding.kind != "condition" or finding.severity == "info":
        return finding
    said = f"{finding.message}; the node started {uptime_s:.0f} s ago, and it may still come up"
    return msgspec.structs.replace(finding, severity="info", message=said)
