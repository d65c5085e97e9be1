"""Module, cable and bit errors by `mlxlink`: its JSON, and who may ask."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.helpers.children import tools
from collectors.helpers.children.loop import Refused
from collectors.helpers.children.mlxlink import OPTIONS, mlxlink
from collectors.helpers.children.reader import PRIVILEGED
from collectors.network.link_quality import LinkQuality, look, parse
from tests.recording import recorded

OUTPUT: dict[str, dict[str, Any]] = {
    "Operational Info": {
        "State": "Active",
        "Physical state": "LinkUp",
        "Speed": "IB-NDR",
        "Width": "4x",
        "FEC": "Standard_RS-FEC - (544,514)",
    },
    "Troubleshooting Info": {"Status Opcode": "0", "Recommendation": "No issue was observed"},
    "Module Info": {
        "Vendor Name": "Accelight",
        "Vendor Part Number": "OSFP-NDR-DR4",
        "Temperature [C]": "47 [-10..75]",
        "Rx Power Current [dBm]": {"values": ["1.12", "0.98", "-1.07", "1.2"]},
        "Tx Power Current [dBm]": "2.03,1.95,2.11,1.99 [-3..5]",
    },
    "Physical Counters and BER Info": {
        "Time Since Last Clear [Min]": "912.4",
        "Effective Physical Errors": "3",
        "Effective Physical BER": "15E-255",
        "Raw Physical BER": "4E-8",
    },
}
SEEN = LinkQuality(
    device="mlx5_3",
    state="Active",
    speed="IB-NDR",
    width="4x",
    fec="Standard_RS-FEC - (544,514)",
    raw_ber=4e-8,
    effective_ber=1.5e-254,
    effective_errors=3.0,
    minutes=912.4,
    celsius=47.0,
    receive_dbm=(1.12, 0.98, -1.07, 1.2),
    send_dbm=(2.03, 1.95, 2.11, 1.99),
    cable="Accelight OSFP-NDR-DR4",
    advice="No issue was observed",
)


def text(output: object) -> str:
    return json.dumps({"result": {"output": output}, "status": {"code": 0, "message": "success"}})


def answer(said: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "mlxlink", "args": {"device": "mlx5_3"}, "answer": said}


def test_an_adapter_is_read(tmp_path: Path) -> None:
    """State, rates, heat, light and part; limits in brackets are no values of the lanes."""
    node = recorded(tmp_path, answers=[answer({"status": 0, "stdout": text(OUTPUT)})])

    assert SEEN == asyncio.run(look(node, "mlx5_3"))


def test_what_is_not_told_is_none() -> None:
    """A copper cable has neither heat nor light, and a port without a link no rates."""
    silent = {"Temperature [C]": "N/A", "Vendor Name": "N/A"}
    counts = {"Effective Physical BER": "N/A"}
    output = {"Module Info": silent, "Physical Counters and BER Info": counts}

    assert LinkQuality(device="mlx5_3") == parse("mlx5_3", text(output))


def test_a_tool_that_fails_says_why() -> None:
    """The last line that it printed is the reason."""
    said = parse("mlx5_9", "", 'warming up\n-E- Failed to open device: "mlx5_9"\n')

    assert (
        Missing(what="mlxlink", cause=Cause.GARBLED, detail='-E- Failed to open device: "mlx5_9"')
        == said
    )


def test_a_tool_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The reason of the helper is kept."""
    said = {"missing": "timeout", "detail": "mlxlink did not end in 20 s"}
    node = recorded(tmp_path, answers=[answer(said)])

    assert Missing(
        what="mlxlink", cause=Cause.TIMEOUT, detail="mlxlink did not end in 20 s"
    ) == asyncio.run(look(node, "mlx5_3"))


@pytest.mark.root
def test_only_fixed_options_follow_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program at the tool's place sees a device and options that read; --pc is none of them."""
    program = tmp_path / "mlxlink"
    program.write_text('#!/bin/sh\nprintf "%s " "$@"\n', "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(tools, "given", {"mlxlink": str(program)})

    assert ("-d mlx5_3 --json -m -c -e", False) == (
        mlxlink("mlx5_3")["stdout"].strip(),
        "--pc" in OPTIONS,
    )


@pytest.mark.parametrize("device", ["", "--pc", "mlx5_0;reboot", "/dev/mst/x", "a" * 65])
def test_only_a_name_of_a_device_is_asked_for(device: str) -> None:
    """What could be an option, a path or a command is refused before a tool is started."""
    with pytest.raises(Refused) as refused:
        mlxlink(device)

    assert "garbled" == refused.value.cause


def test_the_agent_cannot_ask() -> None:
    """The reader's socket does not serve it: it loads the firmware, and only a person asks."""
    assert False is ("mlxlink" in PRIVILEGED)


JSON = st.recursive(
    st.none() | st.floats() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(OUTPUT)), st.dictionaries(
    st.sampled_from(sorted(key for table in OUTPUT.values() for key in table)), JSON)))  # fmt: skip
def test_any_json_is_read(output: dict[str, Any]) -> None:
    """Whatever stands in a field, it is a value of that field, or none."""
    seen = parse("mlx5_3", text(output))

    assert True is (isinstance(seen, Missing) or len(seen.receive_dbm) <= 16)
