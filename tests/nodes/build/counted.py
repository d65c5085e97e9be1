"""Counters of ports: those that the mlx5 driver shows, or the few that most nodes are judged by."""

from collections.abc import Mapping

from tests.nodes.build.folder import Folder

OF_PORT = (
    *("VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery"),
    *("local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets"),
    *("port_rcv_constraint_errors", "port_rcv_data", "port_rcv_errors", "port_rcv_packets"),
    *("port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors"),
    *("port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards"),
    *("port_xmit_packets", "port_xmit_wait", "symbol_error"),
    *("unicast_rcv_packets", "unicast_xmit_packets"),
)
OF_TRANSPORT = (
    *("duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err"),
    *("out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error"),
    *("req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request"),
    *("resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error"),
    *("resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans"),
    *("roce_adp_retrans_to", "roce_slow_restart", "roce_slow_restart_cnps"),
    *("roce_slow_restart_trans", "rx_atomic_requests", "rx_dct_connect"),
    *("rx_icrc_encapsulated", "rx_read_requests", "rx_write_requests"),
)
# A walk comes to the network after some seconds, and looks twice.
SECONDS = range(1, 9)
FEW = ("symbol_error", "port_rcv_errors")
# What a port had counted since the driver was loaded, on a node that trained for two weeks: not
# zero, and no fault. A 4-bit counter stands at its end.
BEFORE = {
    "excessive_buffer_overrun_errors": 15,
    "lifespan": 10,
    "multicast_rcv_packets": 4_117,
    "port_rcv_data": 184_220_931_774_012,
    "port_rcv_errors": 6,
    "port_rcv_packets": 251_094_338_871,
    "port_xmit_data": 183_771_204_118_940,
    "port_xmit_packets": 250_388_210_409,
    "port_xmit_wait": 1_908_441_223,
    "roce_adp_retrans": 2,
    "rx_dct_connect": 310_884,
    "rx_read_requests": 7_004_118,
    "rx_write_requests": 2_911_603_774,
    "unicast_rcv_packets": 251_094_334_754,
    "unicast_xmit_packets": 250_388_210_409,
}


def write(
    folder: Folder, port: str, counts: Mapping[str, int], rises: Mapping[str, int], *, whole: bool
) -> None:
    """Write a port's counters now, and in each second those that *rises* names."""
    names = dict.fromkeys([*FEW, *counts, *rises])
    if whole:
        names |= dict.fromkeys([*OF_PORT, *OF_TRANSPORT])
    for name in names:
        # ECN counters are shown by RoCE ports alone, and so are in neither list.
        kind = "counters" if name in OF_PORT else "hw_counters"
        value = counts.get(name, BEFORE.get(name, 0))
        folder.file(f"{port}/{kind}/{name}", str(value))
        if name in rises:
            for second in SECONDS:
                now = str(value + second * rises[name])
                folder.file(f"{port}/{kind}/{name}", now, at=second)
