"""Which fault of a job's log follows from which: the words of a cause, and those of its echoes."""

from collections.abc import Iterable, Iterator, Mapping

from diagnostics.incidents.edge import Edge, Same
from diagnostics.incidents.numbers import of_numbers

# Ends that are nobody's fault: time, a person, a job of higher rank.
ENDS = frozenset({"slurm_time_limit", "slurm_cancelled", "slurm_preempted"})
BY_TIME = ENDS - {"slurm_cancelled"}
# What an end looks like from inside, also where its own line comes last.
BY_SIGNAL = frozenset({"external_sigterm", "external_sighup", "worker_sigkill", "worker_crashed"})
ASKED = frozenset({"external_sigterm", "external_sighup"})
# What the program itself did wrong.
OWN_CODE = (
    *("module_not_found", "file_not_found", "permission_denied", "division_by_zero"),
    *("tensor_device_mismatch", "tensor_shape_mismatch", "assertion_failed"),
    *("python_runtime_error", "python_exception"),
)
WORDS_OF_PYTHON = frozenset({"python_runtime_error", "python_exception", "assertion_failed"})
# What a GPU, or CUDA below the program, did.
OF_GPU = (
    *("gpu_fell_off_bus", "gpu_lost", "ecc_uncorrectable", "nvlink_error", "cuda_oom"),
    *("cuda_device_assert", "cuda_illegal_memory_access", "cuda_launch_failure"),
    *("cuda_unknown_error", "fabric_manager_not_ready", "driver_library_mismatch"),
    *("nvml_no_devices", "gpu_init_failed"),
)
# What the host, its memory and its files did.
OF_HOST = (
    *("process_oom_killed", "slurm_oom_kill", "slurm_node_fail", "host_memory_error"),
    *("shm_exhausted", "file_descriptors_exhausted", "disk_full", "disk_quota_exceeded"),
    *("stale_file_handle", "read_only_filesystem", "storage_io_error", "checkpoint_write_failed"),
    *("dataloader_worker_killed", "worker_sigkill", "segfault"),
    *("nonfinite_grad_norm", "loss_scale_floor"),
)
# What stands in the way before ranks talk to each other, or while they do.
OF_NETWORK = (
    *("nccl_no_socket_interface", "nccl_wrong_interface", "nccl_duplicate_gpu"),
    *("nccl_version_mismatch", "nccl_shm_attach_failed", "nccl_connect_refused"),
    *("nccl_connect_no_route", "nccl_connect_timeout", "tcpstore_connect_timeout"),
    *("ib_hca_fatal", "ib_port_error", "ib_retry_exceeded", "ib_remote_access_error"),
    *("ib_qp_modify_failed", "ib_resource_alloc_failed", "ib_memlock_limit"),
)
CONNECTIONS = frozenset(
    {
        *("nccl_connect_refused", "nccl_connect_no_route", "nccl_connect_timeout"),
        *("tcpstore_connect_timeout", "nccl_remote_peer_closed", "nccl_collective_timeout"),
    }
)
# What the other ranks see of it.
WAITING = ("nccl_collective_timeout", "nccl_heartbeat_timeout", "gloo_connection_closed")
CLOSED = ("nccl_remote_peer_closed", "rendezvous_failed")
# NCCL's names of kinds of errors, which say nothing where a line says what it was.
KINDS_OF_NCCL = (
    *("nccl_unhandled_system_error", "nccl_unhandled_cuda_error", "nccl_internal_error"),
)
LAST_WORDS = ("worker_crashed", "slurm_task_failed", "external_sigterm")

# Why a rank raised an exception, where it stands above it.
BEFORE_IT = frozenset({*WAITING, *CLOSED, *KINDS_OF_NCCL, "nccl_collective_desync", "nan_loss"})
# A fault, and those beside which it is only another word for the same.
FOLDED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        WORDS_OF_PYTHON,
        frozenset({*OF_GPU, *OF_HOST, *OF_NETWORK, *OWN_CODE}) - WORDS_OF_PYTHON,
    ),
    **dict.fromkeys(
        ("nccl_unhandled_system_error", "nccl_internal_error"),
        frozenset({*OF_NETWORK, *OF_GPU, "shm_exhausted", "nccl_collective_desync"}),
    ),
    "nccl_unhandled_cuda_error": frozenset(OF_GPU),
    **dict.fromkeys(
        LAST_WORDS,
        frozenset({*OF_GPU, *OF_HOST, *OF_NETWORK, *OWN_CODE, *BEFORE_IT, "rank_missing"}),
    ),
}


def of_training() -> Iterator[Edge]:
    """Yield what follows from what in the log of a job."""
    follows = (*WAITING, *CLOSED, *KINDS_OF_NCCL, *LAST_WORDS)
    yield from _each((*OF_GPU, *OF_HOST, *OF_NETWORK, "rank_missing"), follows, "log")
    later = (*follows, *sorted(WORDS_OF_PYTHON), "nccl_shm_attach_failed")
    yield from _each(OWN_CODE, later, "above")
    yield from _each(ENDS, (*follows, *BY_SIGNAL), "log")
    # With srun -K a step is cancelled when one of its tasks fails, and launchers kill the rest.
    failed = (*OF_GPU, *OF_HOST, *OWN_CODE, *OF_NETWORK, *WAITING, "nccl_collective_desync")
    yield from _each(failed, ("slurm_cancelled", "worker_sigkill", "segfault"), "above")
    out_of_step = ("nccl_collective_timeout", "nccl_collective_desync", "nccl_heartbeat_timeout")
    yield from _each(out_of_step, (*follows, *WORDS_OF_PYTHON), "above")
    yield from _each(("nccl_wrong_interface",), CONNECTIONS, "log")
    yield from _each(("slurm_oom_kill",), ("worker_sigkill", "dataloader_worker_killed"), "log")
    hard = ("segfault", "worker_sigkill", "external_sigterm", "external_sighup")
    yield from _each(hard, ("worker_crashed", "nccl_remote_peer_closed"), "log")
    lost = ("dataloader_worker_killed", "checkpoint_write_failed", "worker_sigkill")
    yield from _each(lost, WORDS_OF_PYTHON, "log")
    yield from of_numbers()
    yield Edge("nccl_collective_timeout", "nccl_collective_desync", "above")
    yield Edge("ib_port_error", "ib_retry_exceeded", "log")
    yield Edge("ib_hca_fatal", "ib_port_error", "log")
    yield Edge("disk_quota_exceeded", "checkpoint_write_failed", "log")


def _each(causes: Iterable[str], follows: Iterable[str], same: Same) -> Iterator[Edge]:
    consequences = tuple(dict.fromkeys(follows))
    for cause in sorted(causes):
        yield from (Edge(cause, seen, same) for seen in consequences if seen != cause)
