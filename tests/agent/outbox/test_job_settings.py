"""What a report tells of a job's settings: names and devices, neither addresses nor paths."""

from pathlib import Path

import pytest

from agent.outbox import privacy
from tests.nodes.replay import replay

STATED = "10.17.4.9"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "for the next start: write NCCL_SOCKET_IFNAME==ib0 into /etc/nccl.conf",
            "for the next start: write NCCL_SOCKET_IFNAME==ib0 into /etc/nccl.conf",
        ),
        (
            "take NCCL_ALGO=Ring out of ~/.nccl.conf",
            "take NCCL_ALGO=Ring out of ~/.nccl.conf",
        ),
        (
            "NCCL_IB_HCA=^mlx5_8 leaves out 1 of 8 ports (mlx5_5/1)",
            "NCCL_IB_HCA=^mlx5_8 leaves out 1 of 8 ports (mlx5_5/1)",
        ),
        (f"MASTER_ADDR={STATED}", "MASTER_ADDR=[address]"),
        ("NCCL_TOPO_FILE=/home/trainer/topo.xml", "NCCL_TOPO_FILE=[path]"),
        (f"NCCL_COMM_ID={STATED}:29400", "NCCL_COMM_ID=[address]:29400"),
    ],
)
def test_what_is_told_of_a_setting(text: str, expected: str) -> None:
    """The line to set reads as it was written; where a value is an address or a path it is gone."""
    assert expected == privacy.masked(text)


def test_a_report_names_the_setting_and_what_to_set() -> None:
    """The finding of a recorded node leaves with its advice whole."""
    document = replay("nccl-docker0")
    (found,) = [f for f in document.findings if f["fault"] == "nccl_wrong_interface"]

    assert found["message"] == privacy.masked(found["message"])


def test_no_recorded_node_holds_more_than_the_allowed_names() -> None:
    """What the nodes of this folder say of ranks is what a reader may say."""
    answers = Path(__file__).parents[2] / "nodes" / "nccl-well" / "answers" / "environ"
    text = "".join(path.read_text() for path in answers.iterdir())

    assert "NCCL_DEBUG" in text
    assert "AWS_" not in text
