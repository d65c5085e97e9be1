"""Module, cable and bit error rates of one adapter by `mlxlink`, when a person asks."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.network.ibping import Said
from collectors.node.protocol import Node

DEADLINE_S = 25.0
WORD_CAP = 60
SAID_CAP = 200

# 15E-255      3E-9      41      38.4      -1.62,-1.58,-1.71,-1.66      N/A
NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,9})?(?:[eE][-+]?\d{1,3})?")


class LinkQuality(msgspec.Struct, frozen=True, kw_only=True):
    """What one adapter said: rates as a part of all bits, degrees C, power in dBm by lane.

    `raw_ber` is before error correction, `effective_ber` behind it. What was not told is None.
    """

    device: str
    state: str | None = None
    speed: str | None = None
    width: str | None = None
    fec: str | None = None
    raw_ber: float | None = None
    effective_ber: float | None = None
    effective_errors: float | None = None
    minutes: float | None = None
    celsius: float | None = None
    receive_dbm: tuple[float, ...] = ()
    send_dbm: tuple[float, ...] = ()
    cable: str | None = None
    advice: str | None = None


async def look(node: Node, device: str) -> LinkQuality | Missing:
    """Ask one device."""
    answer: Any = await node.ask("mlxlink", deadline_s=DEADLINE_S, device=device)
    if isinstance(answer, Missing):
        return answer
    try:
        said = msgspec.convert(answer, Said)
    except msgspec.ValidationError as problem:
        return Missing(what="mlxlink", cause=Cause.GARBLED, detail=str(problem)[:SAID_CAP])
    if said.missing is not None:
        return Missing(what="mlxlink", cause=said.missing, detail=said.detail[:SAID_CAP])
    return parse(device, said.stdout, said.stderr)


def parse(device: str, text: str, stderr: str = "") -> LinkQuality | Missing:
    """Return what stands in the JSON of `mlxlink --json`."""
    tables = _tables(text)
    if not tables:
        # -E- Failed to open device: "mlx5_9", No such file or directory
        lines = (stderr + text).strip().splitlines() or ["no output"]
        return Missing(what="mlxlink", cause=Cause.GARBLED, detail=lines[-1][:SAID_CAP])
    state, module, counts, advice = (
        tables.get(name, {})
        for name in (
            "Operational Info",
            "Module Info",
            "Physical Counters and BER Info",
            "Troubleshooting Info",
        )
    )
    parts = [word for key in ("Vendor Name", "Vendor Part Number") if (word := _word(module, key))]
    return LinkQuality(
        device=device,
        state=_word(state, "State"),
        speed=_word(state, "Speed"),
        width=_word(state, "Width"),
        fec=_word(state, "FEC"),
        raw_ber=_first(counts, "Raw Physical BER"),
        effective_ber=_first(counts, "Effective Physical BER"),
        effective_errors=_first(counts, "Effective Physical Errors"),
        minutes=_first(counts, "Time Since Last Clear [Min]"),
        celsius=_first(module, "Temperature [C]"),
        receive_dbm=_numbers(module, "Rx Power Current [dBm]"),
        send_dbm=_numbers(module, "Tx Power Current [dBm]"),
        cable=" ".join(parts) or None,
        advice=_word(advice, "Recommendation"),
    )


def _tables(text: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the tables below result.output; none of what is not of this shape."""
    try:
        output = msgspec.json.decode(text, type=dict[str, Any])["result"]["output"]
    except (ValueError, LookupError, TypeError):
        return {}
    found = output if isinstance(output, dict) else {}
    return {name: table for name, table in found.items() if isinstance(table, dict)}


def _word(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    text = value.strip()[:WORD_CAP] if isinstance(value, str) else ""
    return None if text in {"", "N/A"} else text


def _numbers(table: Mapping[str, Any], key: str) -> tuple[float, ...]:
    """Return the numbers of a text, a list, or a table with `values`, without [limits]."""
    value = table.get(key)
    listed = value.get("values") if isinstance(value, dict) else value
    text = ",".join(map(str, listed[:16])) if isinstance(listed, list) else str(listed)
    return tuple(float(hit[0]) for hit in NUMBER.finditer(text.partition("[")[0][:SAID_CAP]))[:16]


def _first(table: Mapping[str, Any], key: str) -> float | None:
    return next(iter(_numbers(table, key)), None)
