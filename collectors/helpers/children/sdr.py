"""Sensor data records: what sensors a BMC has, and what their raw readings mean (IPMI 2.0, 43)."""

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

HEADER = 5
FULL, COMPACT = 0x01, 0x02
LEAST = {FULL: 48, COMPACT: 32}
MOST_RECORDS = 4096
BMC = 0x20

UNITS = {1: "C", 2: "F", 3: "K", 4: "V", 5: "A", 6: "W", 7: "J", 9: "VA", 14: "kPa", 15: "PSI"}
UNITS |= {17: "CFM", 18: "RPM", 19: "Hz", 37: "l", 38: "fl oz", 88: "%"}
RATES = ("", "/us", "/ms", "/s", "/min", "/h", "/d", "")

# Bits of a threshold reading and of the readable mask, lowest first (35.14, 43.1).
THRESHOLDS = ("lnc", "lc", "lnr", "unc", "uc", "unr")
# Bytes 37 to 42 of a full record.
DEFAULTS = ("unr", "uc", "unc", "lnr", "lc", "lnc")

LINEAR: Mapping[int, Callable[[float], float]] = {
    0: lambda x: x,
    1: math.log,
    2: math.log10,
    3: math.log2,
    4: math.exp,
    5: lambda x: math.pow(10, x),
    6: lambda x: math.pow(2, x),
    7: lambda x: 1 / x,
    8: lambda x: x * x,
    9: lambda x: x * x * x,
    10: math.sqrt,
    11: lambda x: math.copysign(abs(x) ** (1 / 3), x),
}


class Sensor(NamedTuple):
    """One sensor that the BMC itself owns; `factors` are None for one that reads states."""

    number: int
    name: str
    type: int
    event: int
    entity: int
    unit: str = ""
    factors: bytes | None = None
    signed: int = 0
    readable: int = 0
    defaults: bytes = b""

    def value(self, raw: int) -> float | None:
        """Return the reading in the sensor's unit, or None where it has none (36.3)."""
        if self.factors is None:
            return None
        lin, m_low, m_high, b_low, b_high, _, exponents = self.factors
        if (shape := LINEAR.get(lin & 0x7F)) is None:
            return None
        m = _signed(m_low | (m_high & 0xC0) << 2, 10)
        b = _signed(b_low | (b_high & 0xC0) << 2, 10)
        r_exp, b_exp = _signed(exponents >> 4, 4), _signed(exponents & 0xF, 4)
        try:
            value = shape((m * self._number(raw) + b * 10.0**b_exp) * 10.0**r_exp)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        return round(value, 4) if math.isfinite(value) else None

    def _number(self, raw: int) -> int:
        if self.signed == 1:
            return raw - 0xFF if raw & 0x80 else raw
        return _signed(raw, 8) if self.signed else raw

    def thresholds(self, raw: bytes | None = None) -> dict[str, float]:
        """Return the thresholds that can be read, from the record or from a reply to 27h."""
        if raw is None:
            readable, by_name = self.readable, dict(zip(DEFAULTS, self.defaults, strict=False))
        else:
            readable = raw[0] if raw else 0
            by_name = dict(zip(THRESHOLDS, raw[1:], strict=False))
        names = (name for bit, name in enumerate(THRESHOLDS) if readable >> bit & 1)
        values = {name: self.value(by_name[name]) for name in names if name in by_name}
        return {name: value for name, value in values.items() if value is not None}


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def records(dump: bytes) -> Iterator[bytes]:
    """Yield the records of a dump, each with its header; what is cut short ends it."""
    at = 0
    for _ in range(MOST_RECORDS):
        end = at + HEADER + (dump[at + 4] if len(dump) >= at + HEADER else 0)
        if len(dump) < max(end, at + HEADER):
            return
        yield dump[at:end]
        at = end


def sensors(dump: bytes) -> list[Sensor]:
    """Return the sensors of a dump that the BMC itself answers for, on LUN 0."""
    found: list[Sensor] = []
    for record in records(dump):
        kind = record[3]
        if len(record) < LEAST.get(kind, 1 << 16) or record[5] != BMC or record[6] & 0x03:
            continue
        found += [_full(record)] if kind == FULL else _compact(record)
    return found


def _full(record: bytes) -> Sensor:
    signed = record[20] >> 6
    analog = signed != 3 and record[13] == 1  # noqa: PLR2004 - 11b: no analog reading
    return Sensor(
        number=record[7],
        name=text(record[47], record[48:]),
        type=record[12],
        event=record[13] & 0x7F,
        entity=record[8],
        unit=unit(record[20], record[21]) if analog else "",
        factors=record[23:30] if analog else None,
        signed=signed,
        readable=record[18] & 0x3F,
        defaults=record[36:42],
    )


def _compact(record: bytes) -> Iterator[Sensor]:
    """Yield the sensors that share a compact record; all but a lone one are counted in the name."""
    sharing, modifier = record[23], record[24]
    count = max(sharing & 0x0F, 1)
    name = text(record[31], record[32:])
    for step in range(count):
        number = (modifier & 0x7F) + step
        suffix = chr(ord("A") + number % 26) if sharing >> 4 & 0x03 else str(number)
        yield Sensor(
            number=(record[7] + step) & 0xFF,
            name=name if count == 1 else f"{name}{suffix}",
            type=record[12],
            event=record[13] & 0x7F,
            entity=record[8],
        )


def unit(flags: int, base: int) -> str:
    """Return the unit of a reading: `C`, `W`, `RPM`, `l/min`; `%` for a percentage."""
    if flags & 1:
        return "%"
    return UNITS.get(base, f"unit {base}" if base else "") + RATES[flags >> 3 & 0x07]


def text(code: int, data: bytes) -> str:
    """Return an id string: 8-bit, 6-bit packed or BCD plus (43.15), printable."""
    raw = data[: code & 0x1F]
    if code >> 6 == 1:
        said = "".join("0123456789 -.:,_"[n] for byte in raw for n in (byte >> 4, byte & 15))
    elif code >> 6 == 2:  # noqa: PLR2004 - 10b: 6-bit packed ASCII
        bits = int.from_bytes(raw, "little")
        said = "".join(chr(0x20 + (bits >> 6 * n & 0x3F)) for n in range(len(raw) * 8 // 6))
    else:
        said = raw.decode("latin-1")
    return "".join(c if c.isprintable() else "?" for c in said.rstrip("\0")).strip()


def stamp(data: bytes) -> int:
    """Return the four bytes of an IPMI time as a number."""
    return int(struct.unpack("<I", data[:4])[0])
