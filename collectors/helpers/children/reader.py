"""The reader: what only root sees, by fixed verbs; a child of ours, or a unit on a socket."""

import json
import sys

from collectors.helpers.children import (
    acs,
    bmc,
    driver,
    files,
    host,
    job_logs,
    kernel,
    last_boot,
    links,
    loop,
    mlxlink,
    nccl_conf,
    network,
    optics,
    pod_logs,
    processes,
    ras,
    rdma,
    scheduled,
    storage,
    tcp,
    tools,
    unit,
)

# Asked only of a child with the caller's own rights, never over the socket: it takes paths.
OWN: loop.Verbs = {
    "files": files.files,
    "log_tail": files.log_tail,
    "device_nodes": driver.device_nodes,
    "clock": host.clock,
    "links": links.links,
    # Not for the agent: it loads the firmware, and only a person at root's prompt asks.
    "mlxlink": mlxlink.mlxlink,
    "rdma_nodes": rdma.rdma_nodes,
    "scheduled": scheduled.scheduled,
    "ras": ras.ras,
    "tcp": tcp.tcp,
    "statfs": storage.statfs,
    "statfs_local": storage.statfs_local,
}

# What the socket serves too; no argument is a command, nor a path but a mount point's.
PRIVILEGED: loop.Verbs = {
    "kernel_log": kernel.kernel_log,
    "pstore": last_boot.pstore,
    "boot_before": last_boot.boot_before,
    "holders": processes.holders,
    "environ": processes.environ,
    "blocked": processes.blocked,
    "open_files": processes.open_files,
    "job_logs": job_logs.job_logs,
    "job_log": job_logs.job_log,
    "dumps": job_logs.dumps,
    "pod_logs": pod_logs.pod_logs,
    "pod_log": pod_logs.pod_log,
    "activity": processes.activity,
    "nccl_conf": nccl_conf.nccl_conf,
    "ibping": network.ibping,
    "sminfo": network.sminfo,
    "neighbours": network.neighbours,
    "acs": acs.acs,
    "module": optics.module,
    "statfs_root": storage.statfs_root,
    "smart": storage.smart,
    "bmc_info": bmc.bmc_info,
    "bmc_sensors": bmc.bmc_sensors,
    "bmc_sel": bmc.bmc_sel,
}

VERBS: loop.Verbs = {**OWN, **PRIVILEGED}


def main() -> int:
    """Answer on standard input and output, or with `--unit` on a socket until ended."""
    if "--unit" not in sys.argv[1:]:
        tools.given = json.loads(_option("--tools") or "{}")
        loop.serve(VERBS, sys.stdin.buffer, sys.stdout.buffer)
        return 0
    path, policy = _option("--socket"), _option("--policy") or unit.POLICY
    try:
        unit.Unit(PRIVILEGED, unit.listener(path), unit.policy(policy)).serve()
    except (unit.PolicyError, OSError) as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _option(name: str) -> str | None:
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words[:-1] else None


if __name__ == "__main__":
    sys.exit(main())
