"""Which words of a job's log are of one kind: the groups of data/job_log.toml, and their echoes."""

from collections.abc import Mapping

from diagnostics.incidents.declared import groups

_OF = groups("job_log")

ENDS = frozenset(_OF["ends"])
BY_TIME = ENDS - {"slurm_cancelled"}
BY_SIGNAL = frozenset(_OF["by_signal"])
ASKED = frozenset({"external_sigterm", "external_sighup"})
OWN_CODE, OF_GPU, OF_HOST = _OF["own_code"], _OF["of_gpu"], _OF["of_host"]
WORDS_OF_PYTHON = frozenset(_OF["words_of_python"])
CONNECTIONS = frozenset(
    {*_OF["no_connection"], "nccl_remote_peer_closed", "nccl_collective_timeout"}
)

# Why a rank raised an exception, where it stands above it.
BEFORE_IT = frozenset(
    {
        *(*_OF["waiting"], *_OF["closed"], *_OF["kinds_of_nccl"]),
        *("nccl_collective_desync", "nan_loss"),
    }
)
_NAMED = frozenset({*OF_GPU, *OF_HOST, *_OF["of_network"], *OWN_CODE})
# A fault, and those beside which it is only another word for the same.
FOLDED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(WORDS_OF_PYTHON, _NAMED - WORDS_OF_PYTHON),
    **dict.fromkeys(
        ("nccl_unhandled_system_error", "nccl_internal_error"),
        frozenset({*_OF["of_network"], *OF_GPU, "shm_exhausted", "nccl_collective_desync"}),
    ),
    "nccl_unhandled_cuda_error": frozenset(OF_GPU),
    **dict.fromkeys(_OF["last_words"], _NAMED | BEFORE_IT | {"rank_missing"}),
}
