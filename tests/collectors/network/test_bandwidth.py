"""Bandwidth on demand: what each tool prints; a real iperf3 runs in tests/lab/namespaces."""

import asyncio
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.facts.wanted import Peer, Wanted
from collectors.network.bandwidth import (
    COLLECTIVE,
    IPERF,
    ROW,
    WRITE,
    Bandwidths,
    collect,
    reported,
)
from collectors.network.ports import Port, Ports
from tests.recording import recorded

WROTE = """
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Link type       : IB		Mtu             : 4096[B]
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1846213          0.00               387.17		     0.738477
---------------------------------------------------------------------------------------
"""
REDUCED = """#       size         count      type   redop    root     time   algbw   busbw #wrong
 17179869184    4294967296     float     sum      -1    63541  270.37  473.15      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 473.022
#
"""
PORTS = Ports(ports=(Port(device="mlx5_0", port=1, state="ACTIVE", rate_gbps=400.0),))
ADDRESS = "192.0.2.18"
WANTED = Wanted(peers=(Peer(name="gpu-018", address=ADDRESS),), bandwidth=True)


def measured(tmp_path: Path, **parts: Any) -> list[tuple[Any, ...]]:
    """Return of each measurement the tool, its number, the line's rate, and why there is none."""
    node = recorded(tmp_path, **parts)
    seen = asyncio.run(collect(node, WANTED, PORTS))
    assert isinstance(seen, Bandwidths)
    return [
        (m.tool, m.gbps or m.bus_gb_s, m.line_gbps, m.missing and m.missing.detail)
        for m in seen.measured
    ]


def test_each_tool_is_read(tmp_path: Path) -> None:
    """The average of ib_write_bw, iperf3's received sum and nccl-tests' average are taken."""
    report = {"end": {"sum_received": {"bits_per_second": 23_400_000_000.0}}}
    commands = [
        {"argv": ["ib_write_bw", "-d", "mlx5_0", *WRITE, ADDRESS], "stdout": WROTE},
        {"argv": ["ip", "-j", "route", "get", ADDRESS], "stdout": '[{"dev":"bond0"}]'},
        {"argv": ["iperf3", "-c", ADDRESS, *IPERF], "stdout": json.dumps(report)},
        {"argv": ["all_reduce_perf", *COLLECTIVE, "-g", "2"], "stdout": REDUCED},
    ]
    files = {"/sys/class/net/bond0/speed": "25000", "/dev/nvidia0": "", "/dev/nvidia1": ""}

    expected = [
        ("ib_write_bw", 387.17, 400.0, None),
        ("iperf3", 23.4, 25.0, None),
        ("all_reduce_perf", 473.022, None, None),
    ]
    assert expected == measured(tmp_path, commands=commands, files=files)


def test_a_tool_says_why_it_measured_nothing(tmp_path: Path) -> None:
    """Without a server on the peer each tool's own words are the reason."""
    commands = [
        {
            "argv": ["ib_write_bw", "-d", "mlx5_0", *WRITE, ADDRESS],
            "stderr": f"Couldn't connect to {ADDRESS}:18515\n",
            "status": 1,
        },
        {
            "argv": ["iperf3", "-c", ADDRESS, *IPERF],
            "stdout": '{"error": "unable to connect to server"}',
        },
    ]

    expected = [
        ("ib_write_bw", None, 400.0, f"Couldn't connect to {ADDRESS}:18515"),
        ("iperf3", None, None, "unable to connect to server"),
        ("all_reduce_perf", None, None, "under two GPUs"),
    ]
    assert expected == measured(tmp_path, commands=commands)


def test_nothing_is_measured_unasked(tmp_path: Path) -> None:
    """A walk runs none of these tools: it finds that nobody asked."""
    seen = asyncio.run(collect(recorded(tmp_path), Wanted(peers=WANTED.peers), PORTS))

    assert Bandwidths(asked=False) == seen


@given(st.text())
def test_any_output_is_read(text: str) -> None:
    """No output makes the parsers raise."""
    reported(Output(argv=("iperf3",), status=0, stdout=text))

    assert ROW.search(text) is None or "65536" in text
