"""Whether ranks could reach each other, by what NCCL, UCX and the rendezvous print."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.judging import faults_said
from diagnostics.finding import Statement
from diagnostics.rules.seen import TrainingLogs

FAULTS = (
    "nccl_no_socket_interface",
    "nccl_wrong_interface",
    "nccl_connect_refused",
    "nccl_connect_no_route",
    "nccl_connect_timeout",
    "nccl_remote_peer_closed",
    "tcpstore_connect_timeout",
    "rendezvous_failed",
    "gloo_connection_closed",
    "ib_retry_exceeded",
    "ib_remote_access_error",
    "ib_qp_modify_failed",
    "ib_resource_alloc_failed",
    "ib_memlock_limit",
    "ib_port_error",
    "ib_hca_fatal",
)


@check("training.network", stage="training", faults=FAULTS, proved="documented")
def network(seen: TrainingLogs) -> Iterator[Statement]:
    """No line says that ranks could not reach each other.

    Who prints it is often the healthy side: the peer that it names is where to look. A connection
    that another process closed is the echo of that process's own end.
    """
    yield from faults_said(seen, FAULTS, "that ranks could not reach each other")
