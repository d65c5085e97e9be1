"""A line is weighed by its sub-event and not by its number; text of any kind weighs something."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.knowledge.codes import nvlink
from diagnostics.knowledge.codes.events import NEAR, sxid, xid
from diagnostics.knowledge.codes.tables import subs, words, xids

UNTRAINED = ", NVLink: failed to train link 3 to remote PCI:0000:8f:00"


def sub(unit: str, word: str, intr: int = 0, status: int = 0, link: int = 7) -> str:
    """Return what follows the number of an Xid 144 to 150."""
    return f", {unit}  {word}   XC0 i0 Link {link:02d} (0x{intr:08x} 0x{status:08x} 0x00000000)"


def registers(**words: int) -> str:
    """Return what follows the number of an Xid 74 whose register words are these."""
    values = ", ".join(hex(words.get(f"w{n}", 0)) for n in range(1, 8))
    return f", NVLink: fatal error detected on link 11({values})"


@pytest.mark.parametrize(
    ("code", "text", "severity", "recovery", "values"),
    [
        (
            13,
            ", pid=8100, name=python3, Graphics SM Warp Exception on (GPC 3, TPC 1, SM 0): Out",
            "warning",
            None,
            {"gpc": 3, "tpc": 1, "sm": 0},
        ),
        (45, ", pid=8100, Ch 00000001 caused by previous Xid 31", "info", None, {"after_xid": 31}),
        (
            63,
            ", Row Remapper: New row (0x3fb21a040) marked for remapping, reset gpu to activate.",
            "warning",
            "watch",
            {"repair": "row pending"},
        ),
        (
            63,
            ", Dynamic Page Retirement: New retired page, reboot to activate (0x00000000007fffa8).",
            "warning",
            "watch",
            {"repair": "page pending"},
        ),
        (
            64,
            ", Row Remapper Error: (0x3fb21a040) - All reserved rows for bank are remapped",
            "critical",
            None,
            {"repair": "no spare left"},
        ),
        (64, ", Row Remapper Error: internal error", "critical", None, {"repair": "failed"}),
        (
            64,
            ", Row Remapper Error: - already pending, it will be remapped when the GPU is reset",
            "warning",
            "watch",
            {"repair": "already pending"},
        ),
        (
            94,
            ", pid=8100, Contained: CE User Channel (0x9). RST: No, D-RST: No",
            "warning",
            "restart_job",
            {"unit": "CE User Channel", "rst": "No", "drst": "No"},
        ),
        (
            94,
            ", pid=8100, Contained: SM (0x1). RST: No, D-RST: Yes",
            "critical",
            "drain_and_reset",
            {"unit": "SM", "rst": "No", "drst": "Yes"},
        ),
        (
            95,
            ", pid=8100, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",
            "critical",
            "reset_gpu",
            {"unit": "LTC TAG", "rst": "Yes", "drst": "No"},
        ),
        (
            119,
            ", Timeout after 6s of waiting for RPC! Expected function 76 (GSP_RM_CONTROL) (0x4).",
            "critical",
            None,
            {"function": 76, "call": "GSP_RM_CONTROL"},
        ),
        (
            140,
            ", An uncorrectable ECC error detected DRAM:1, LTC:0, MMU:0, PCIE:0",
            "critical",
            None,
            {"dram": 1, "ltc": 0, "mmu": 0, "pcie": 0},
        ),
        (
            154,
            ", GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
            "warning",
            None,
            {"recovery_action": 4, "action": "Drain and Reset"},
        ),
        (
            154,
            ", GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            "critical",
            None,
            {"recovery_action": 2, "action": "Node Reboot Required"},
        ),
        (79, ", GPU has fallen off the bus.", "critical", None, {}),
        (31, ", pid=8100, name=python3, Ch 00000007, MMU Fault", "warning", None, {}),
        (109, ", pid=8100, errorString CTX SWITCH TIMEOUT, Info 0x58005", "warning", None, {}),
    ],
)
def test_the_text_of_an_xid(
    code: int, text: str, severity: str, recovery: str | None, values: dict[str, Any]
) -> None:
    """What the driver adds to a number decides how much it weighs and what it asks for."""
    event = xid(code, text)

    assert (severity, recovery, values) == (event.severity, event.recovery, event.values)


@pytest.mark.parametrize(
    ("text", "severity", "recovery", "group"),
    [
        (registers(w1=1 << 4), "critical", "reset_gpu", "parity"),
        (registers(w1=1 << 21), "critical", "reset_gpu", "signal"),
        (registers(w1=1 << 1), "warning", "watch", "follows"),
        (registers(w1=1 << 23), "info", "watch", "ignored"),
        (registers(w3=1 << 6), "critical", "reset_gpu", "parity"),
        (registers(w4=1 << 18), "critical", "reset_fabric", "fabric"),
        (registers(w5=1 << 20), "info", "watch", "corrected"),
        (registers(w1=1 << 23, w3=1), "critical", "reset_gpu", "parity"),
        (registers(w2=1 << 31), "critical", "reset_gpu", "unknown"),
        (
            ", NVLink: failed to train link 3 to remote PCI:0000:8f:00",
            "critical",
            "reset_gpu",
            "training",
        ),
    ],
)
def test_register_words_of_74(text: str, severity: str, recovery: str, group: str) -> None:
    """The gravest bit counts; what no table knows is grave; a link that was not trained too."""
    event = xid(74, text)

    assert (severity, recovery, group) == (event.severity, event.recovery, event.told)


def test_74_names_its_link_and_what_its_bits_say() -> None:
    """Link, words and their meaning are values, for whoever exchanges a part."""
    values = xid(74, registers(w3=0x40)).values

    assert (11, ["0x0", "0x0", "0x40", *["0x0"] * 4], 1) == (
        values["link"],
        values["words"],
        len(values["says"]),
    )


@pytest.mark.parametrize(
    ("code", "text", "severity", "note", "recovery"),
    [
        (149, sub("NETIR_BER_EVENT", "Nonfatal", 0x13, 1), "warning", True, "watch"),
        (149, sub("NETIR_LINK_EVT", "Fatal", 37 << 20 | 14 << 5), "critical", False, "reset_gpu"),
        # 38: software took the link down; 40: the host did.
        (149, sub("NETIR_LINK_EVT", "Fatal", 38 << 20), "warning", False, "watch"),
        (149, sub("NETIR_LINK_DOWN", "Fatal", 40 << 20), "warning", False, "watch"),
        (144, sub("SAW_MVB", "Fatal", 1, 2), "critical", False, "reset_gpu"),
        (144, sub("SAW_MVB", "Nonfatal", 1, 4), "info", True, "watch"),
        # The table knows it as fatal, the line does not.
        (145, sub("RLW_REMAP", "Nonfatal", 4, 0x40), "warning", False, "reset_gpu"),
        (145, sub("RLW_REMAP", "Nonfatal", 4, 1), "warning", True, None),
        (145, sub("RLW_RXPIPE", "Nonfatal", 6 << 5, 1), "warning", True, "watch"),
        (145, sub("RLW_RXPIPE", "Nonfatal", 6 << 5 | 1 << 10, 1), "warning", True, "reset_gpu"),
        (145, sub("RLW_RXPIPE", "Nonfatal", 6 | 1 << 7, 1), "warning", True, "reset_gpu"),
        # Two bits: the graver row counts.
        (146, sub("TLW_CTRL", "Nonfatal", 9, 0x5), "warning", False, "reset_gpu"),
        (150, ", MSE_WATCHDOG Fatal XC0 i0 Link -1", "critical", False, "reset_gpu"),
        (145, ", RLW_REMAP Nonfatal XC1 i0 Link 10", "warning", True, "watch"),
        (147, ", TREX", "warning", False, None),
    ],
)
def test_sub_events_of_nvlink_5(
    code: int, text: str, severity: str, recovery: str | None, *, note: bool
) -> None:
    """The same number is a note about bit errors or the end of a link: unit and word decide."""
    event = xid(code, text)

    assert (severity, note, recovery) == (event.severity, event.note, event.recovery)


@pytest.mark.parametrize("code", range(144, 151))
def test_every_row_of_the_table_is_found(code: int) -> None:
    """A line made of a row leads to that row's recovery, in the forms of both driver families."""
    for row in subs()[code]:
        reason = (row.reason or 0) << 20
        for intr in (reason | row.unit_before_575 << 5, reason | row.unit_from_575):
            word = "Nonfatal" if row.severity == "nonfatal" else "Fatal"
            event = xid(code, sub(row.unit[-1], word, intr, row.status or 0))
            expected = None if row.recovery == "as_154" else row.recovery

            assert expected == event.recovery, row


@pytest.mark.parametrize(
    ("code", "text", "severity", "note"),
    [
        (20034, ", Fatal, Link 62 LTSSM Fault Up", "critical", False),
        (20034, ", Data {0x10000000}", "critical", False),
        (12020, ", Non-fatal, Link 03 egress seq id", "critical", False),
        (12028, ", Non-fatal, Link 12 egress non-posted PRIV error (First)", "warning", False),
        (20009, ", Non-fatal, Link 41 RX Short Error Rate", "warning", True),
        (10005, ", Switch temperature is back", "info", True),
        (47110, ", Non-fatal, something new", "warning", True),
        (47110, ", Fatal, something new", "critical", False),
    ],
)
def test_events_of_a_switch(code: int, text: str, severity: str, *, note: bool) -> None:
    """The line's word counts; where it has none, and where the fabric ends anyway, the table."""
    event = sxid(code, text)

    assert (severity, note) == (event.severity, event.note)


TEXTS = st.text(max_size=3 * NEAR) | st.builds(
    sub,
    st.sampled_from([row.unit[0] for rows in subs().values() for row in rows]),
    st.sampled_from(["Fatal", "Nonfatal", "Non-fatal", "Link Fatal", ""]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(-1, 99),
)


@given(st.sampled_from([*xids(), 0, 4711]), TEXTS)
def test_any_text_weighs_something(code: int, text: str) -> None:
    """No text makes a reader raise, and values stay short."""
    event = xid(code, text)

    assert max((len(str(value)) for value in event.values.values()), default=0) < 1_000


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=9))
def test_any_register_words_are_read(values: list[int]) -> None:
    """Of any words in the driver's form the first seven are kept as they are."""
    text = f"link 3({', '.join(map(hex, values))})"
    told = nvlink.registers(text)

    assert told is None or [hex(value) for value in values[:7]] == told.values["words"]
    assert told is not None or len(text) > 90


def test_bits_belong_to_one_group() -> None:
    """No bit of a register word means two things."""
    bits = [(word.word, bit) for word in words() for bit in word.bits]

    assert len(bits) == len(set(bits))
