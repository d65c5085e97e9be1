"""The table of `gpudiag net test --link`."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent.cli.errors import Mistake
from agent.cli.net import command
from agent.cli.net_link import ALL, asked, lines, show
from collectors.facts.observation import Cause, Missing
from collectors.network.link_quality import LinkQuality
from tests.recording import recorded

WELL = LinkQuality(
    device="mlx5_0",
    state="Active",
    speed="IB-NDR",
    width="4x",
    fec="RS-FEC",
    raw_ber=4e-8,
    effective_ber=1.5e-254,
    celsius=47.2,
    receive_dbm=(1.12, -0.98),
    cable="SR4",
)
WORN = LinkQuality(device="mlx5_1", state="Active", effective_ber=3e-9, advice="Bad signal \x1b[2J")
OVER = (
    "of its bits are wrong behind error correction, limit 1e-12 (IBTA): clean or exchange the cable"
)
MUTE = Missing(what="mlxlink", cause=Cause.TIMEOUT, detail="mlxlink did not end in 20 s")


def test_each_adapter_is_a_row() -> None:
    """What is not told is a dash, and what a module says does nothing to a terminal."""
    expected = [
        "device  state   speed      FEC     raw BER  effective  C   receive dBm  cable",
        "mlx5_0  Active  IB-NDR 4x  RS-FEC  4e-08    2e-254     47  1.1 -1.0     SR4",
        "mlx5_1  Active  -          -       -        3e-09      -   -            -",
        f"mlx5_1: 3e-09 {OVER}",
        "mlx5_1: Bad signal \\x1b[2J",
        f"not told: {MUTE.why()}",
    ]

    assert expected == lines([WELL, WORN], [MUTE])


@pytest.mark.parametrize(
    ("seen", "expected"), [([WELL], 0), ([WELL, MUTE], 3), ([WELL, WORN, MUTE], 1)]
)
def test_the_status_tells_the_worst(
    seen: list[LinkQuality | Missing], expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bits that stay wrong go before adapters that were not told; JSON holds both."""
    status = show(seen, as_json=True)

    assert (expected, len(seen)) == (status, len(json.loads(capsys.readouterr().out)))


def test_where_none_tells_the_first_reason_is_said() -> None:
    """One line why, and one what to do."""
    with pytest.raises(Mistake) as refused:
        show([MUTE, MUTE], as_json=False)

    assert f"no adapter tells of its link: {MUTE.why()}" == refused.value.what


def test_without_a_device_each_adapter_is_asked(tmp_path: Path) -> None:
    """Those with a port in sysfs, once each; functions of guests are none."""
    base = "/sys/class/infiniband"
    files = {
        f"{base}/mlx5_0/ports/1/state": "4: ACTIVE\n",
        f"{base}/mlx5_0/ports/2/state": "1: DOWN\n",
        f"{base}/mlx5_1/ports/1/state": "4: ACTIVE\n",
        f"{base}/mlx5_1/device/uevent": "MODALIAS=auxiliary:mlx5_core.sf\n",
    }
    output = json.dumps({"result": {"output": {"Operational Info": {"State": "Active"}}}})
    said = {"status": 0, "stdout": output}
    node = recorded(
        tmp_path,
        files=files,
        answers=[{"kind": "mlxlink", "args": {"device": "mlx5_0"}, "answer": said}],
    )

    assert [LinkQuality(device="mlx5_0", state="Active")] == asyncio.run(asked(node, ALL))


def test_the_option_takes_a_device_or_none() -> None:
    """A name of no device is refused before any tool is started."""
    ran = CliRunner().invoke(command, ["test", "--link", "../mlx5_0"])

    assert isinstance(ran.exception, Mistake)
