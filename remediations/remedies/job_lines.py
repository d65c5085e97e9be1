"""What the next start of a job could do differently, as lines for its script or its pod's spec.

Nothing of it is done to the node: whoever owns the job puts a line in, and takes it out again. No
file that holds for a whole node is ever written.
"""

import msgspec

from collectors.network.gids import Gids
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.ports import Port, Ports
from diagnostics.finding import Finding
from diagnostics.knowledge.aliases import named
from diagnostics.nccl import gid

IFNAME, GLOO, HCA = "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA"
LINK_LOCAL = ("fe80:", "169.254.")

MEET = frozenset({"nccl_wrong_interface", "nccl_no_socket_interface", "nccl_connect_no_route"})
RAILS = frozenset({"nccl_wrong_interface"})
ADDRESS = frozenset({"roce_gid_missing"})
# 4.096 us x 2^22 for each of 7 tries: some 2 min in all. It costs no speed, and later detection.
PATIENCE = {"NCCL_IB_TIMEOUT": "22", "NCCL_IB_RETRY_CNT": "7"}
# The flight recorder, by its names before and since PyTorch 2.9: it tells which rank was late.
RECORDER = {
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
    "TORCH_FR_BUFFER_SIZE": "2000",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
}
FIXED: dict[str, dict[str, str]] = {
    "ib_retry_exceeded": PATIENCE,
    "nccl_collective_timeout": RECORDER,
    "nccl_collective_desync": RECORDER,
    "nccl_heartbeat_timeout": RECORDER,
}
# Where a line belongs: it stands before it.
SCRIPT, POD = "in the job's script", "in the pod's spec"
CODE_PLACE, ONCE = "in the training code", "for one run alone"
PLACES = (SCRIPT, POD, CODE_PLACE, ONCE)
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # before optimizer.step()"
PRECISION = "torch.autocast('cuda', dtype=torch.bfloat16)  # not float16; A100 and newer"
CODE: dict[str, tuple[str, ...]] = {
    "nan_loss": (PRECISION, CLIP),
    "nonfinite_grad_norm": (PRECISION, CLIP),
    "loss_scale_collapse": (PRECISION, CLIP),
    "loss_scale_floor": (PRECISION, CLIP),
    "grad_norm_exploding": (CLIP,),
    "gradient_clipping_off": (CLIP,),
}
SHARED = ("docker run --shm-size=64g ...  # or --ipc=host",)
SHARED_POD = (
    "volumes: [{name: shm, emptyDir: {medium: Memory}}]",
    "volumeMounts: [{name: shm, mountPath: /dev/shm}]",
)
LOCKED = ("#SBATCH --propagate=NONE  # the node's own memlock limit, not the login node's",)
LOCKED_POD = ("securityContext: {capabilities: {add: [IPC_LOCK]}}",)
# By fault: for a script of Slurm's, for a pod.
LIMITS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "shm_exhausted": (SHARED, SHARED_POD),
    "nccl_shm_attach_failed": (SHARED, SHARED_POD),
    "ib_memlock_limit": (LOCKED, LOCKED_POD),
}
# It tells whether peer access is at fault, repairs nothing, and makes NVLink idle.
ONE_RUN = frozenset({"iommu_p2p_fault", "nccl_unhandled_cuda_error"})
DIAGNOSTIC = "NCCL_P2P_DISABLE=1 srun ..."
DIAGNOSTIC_POD = "env: {name: NCCL_P2P_DISABLE, value: '1'}"


class Compute(msgspec.Struct, frozen=True, kw_only=True):
    """The network of this node's jobs: an interface, RDMA ports (`mlx5_0:1`), their GID's index."""

    interface: str | None = None
    ports: tuple[str, ...] = ()
    gid: int | None = None


def compute(interfaces: Interfaces | None, ports: Ports | None, gids: Gids | None) -> Compute:
    """Return what of the node is for jobs: by the roles that the site gave, else the fastest."""
    chosen = _rdma(() if ports is None else ports.ports)
    ethernet = [port for port in chosen if not port.infiniband]
    tables = [gids.of(port.name) for port in ethernet] if gids is not None else []
    index = {gid.automatic(table.gids, {}) for table in tables if table is not None}
    agreed = len(index) == 1 and len(tables) == len(chosen) and None not in tables
    return Compute(
        interface=_socket(() if interfaces is None else interfaces.interfaces),
        ports=tuple(f"{port.device}:{port.port}" for port in chosen),
        gid=next(iter(index)) or None if agreed else None,
    )


def _socket(interfaces: tuple[Interface, ...]) -> str | None:
    able = [one for one in interfaces if one.up and one.running and _reaches(one)]
    given = [one for one in able if one.role == "compute"]
    if not given and not any(one.role for one in interfaces):
        given = [one for one in able if one.bond is None and (one.physical or one.speed_mbps)]
    best = max(given, key=lambda one: one.speed_mbps or 0, default=None)
    return None if best is None else best.name


def _reaches(one: Interface) -> bool:
    inside = one.name == "lo" or one.name.startswith(("docker", "virbr", "veth", "br-", "cni"))
    return not inside and any(not at.startswith(LINK_LOCAL) for at in one.addresses)


def _rdma(ports: tuple[Port, ...]) -> tuple[Port, ...]:
    active = [port for port in ports if port.active and not port.virtual]
    if any(port.role for port in ports):
        return tuple(port for port in active if port.role == "compute")
    fastest = max((port.rate_gbps or 0 for port in active), default=0)
    return tuple(port for port in active if (port.rate_gbps or 0) == fastest)


def settings(root: Finding, network: Compute | None) -> dict[str, str]:
    """Return the variables that would help a job against *root*, by name; values of this node."""
    fault = named(root.fault)
    found: dict[str, str] = {}
    if network is not None and network.interface and fault in MEET:
        found |= {IFNAME: f"={network.interface}", GLOO: network.interface}
    if network is not None and network.ports and fault in RAILS:
        found[HCA] = f"={','.join(network.ports)}"
    if network is not None and network.gid and fault in ADDRESS:
        found[gid.INDEX] = str(network.gid)
    return found | FIXED.get(fault, {})


def lines(root: Finding, network: Compute | None, *, pod: bool) -> tuple[str, ...]:
    """Return the lines, for a pod's spec or for a script of Slurm's, each behind its place."""
    fault = named(root.fault)
    form = "env: {{name: {}, value: '{}'}}" if pod else "export {}='{}'"
    told = {
        POD if pod else SCRIPT: (
            *(form.format(name, value) for name, value in settings(root, network).items()),
            *LIMITS.get(fault, ((), ()))[pod],
        ),
        CODE_PLACE: CODE.get(fault, ()),
        ONCE: (DIAGNOSTIC_POD if pod else DIAGNOSTIC,) if fault in ONE_RUN else (),
    }
    return tuple(f"{where}: {line}" for where, group in told.items() for line in group)


def place(step: str) -> tuple[str | None, str]:
    """Return where a step of a plan belongs and what is written there; None for any other step."""
    where, _, line = step.partition(": ")
    return (where, line) if where in PLACES else (None, step)


def conf(found: dict[str, str]) -> str:
    """Return a file for NCCL_CONF_FILE: what is NCCL's own, one a line."""
    own = [f"{name}={value}\n" for name, value in found.items() if name.startswith("NCCL_")]
    return "".join(own)
