"""Whose word a line is: only a log of the kernel's, with the kernel's own stamp, is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge import knowledge
from collectors.logs.pieces import pieces
from diagnostics.rules.form import HEAD, form
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import LogSeen

XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
STEP = "step 12 loss 2.31 grad_norm 0.4"


def read(*lines: str) -> LogSeen:
    """Read a log of these lines."""
    reading = Reading(knowledge(), "some.log")
    for piece in pieces(["".join(f"{line}\n" for line in lines).encode()]):
        reading.feed(piece)
    return reading.seen()


def found(*lines: str) -> list[tuple[str, int]]:
    """Return what the kernel's lines say: rule and line."""
    seen = read(*lines)
    return [(hit.rule, hit.first.sequence) for hit in seen.kernel.hits] if seen.kernel else []


@pytest.mark.parametrize(
    "line",
    [
        f"4,1042,5123456,-;{XID}",
        f"4,1042,5123456,-,caller=T812;{XID}",
        f"kern  :warn  : 2026-11-30T02:11:09,283302+00:00 {XID}",
        f"kern  :err   : [12345.678901] {XID}",
        f"<4>[   12.345678] {XID}",
        f"[12345.678901] {XID}",
        f"[12345.678901][  T812] {XID}",
        f"[Mon Nov 30 02:11:09 2026] {XID}",
        f"[lun. nov. 30 02:11:09 2026] {XID}",
        f"[一 11月 30 02:11:09 2026] {XID}",
        f"[  +0.000844] {XID}",
        f"[Nov30 02:11] {XID}",
        f"Nov 30 02:11:09 gpu-017 kernel: {XID}",
        f"Nov 30 02:11:09 gpu-017 kernel: [12345.678901] {XID}",
        f"2026-11-30T02:11:09.120331+08:00 gpu-017 kernel: {XID}",
        f"2026-11-30T02:11:09+0800 gpu-017 kernel: {XID}",
        f"Mon 2026-11-30 02:11:09 UTC gpu-017 kernel: {XID}",
        f"[ 1234.567890] gpu-017 kernel: {XID}",
        f"[Mon Nov 30 02:11:09 2026] gpu-017 kernel: {XID}",
        f"xid on gpu-017: Nov 30 02:11:09 gpu-017 kernel: [12345.678901] {XID}",
        XID,
    ],
)
def test_the_kernels_line_is_known_in_every_form(line: str) -> None:
    """Each tool that shows the kernel's log puts something else in front of its lines."""
    assert [("kernel.xid_79", 1)] == found(line)


@pytest.mark.parametrize(
    "lines",
    [
        (STEP, XID),
        (STEP, f"[rank3]: {XID}"),
        (STEP, f"[12345.678901] {XID}"),
        (STEP, f"Nov 30 02:11:09 gpu-017 kernel: [12345.678901] {XID}"),
        (STEP, f"4,1042,5123456,-;{XID}"),
        ("starting", XID),
        (f"Nov 30 02:11:09 gpu-017 python3[8100]: {XID}",),
        (f"Nov 30 02:11:09 gpu-017 python3[8100]: kernel: {XID}",),
        (f"2026-11-30T02:11:09+08:00 gpu-017 train.sh[8100]: {XID}",),
        (f"12,1042,5123456,-;{XID}",),
        (f"user  :warn  : [12345.678901] {XID}",),
        (f"<12>[12345.678901] {XID}",),
        (f"[12345.678901] python3[8100]: {XID}",),
        (f"2026-11-30 02:11:09,120 INFO {XID}",),
    ],
)
def test_what_a_process_prints_is_never_the_kernels(lines: tuple[str, ...]) -> None:
    """A process can print any line: in its log, to syslog, or into the kernel's own buffer."""
    assert [] == found(*lines)


def test_a_long_training_log_stays_one() -> None:
    """However many lines of the kernel's form a job prints, its log is its own."""
    assert [] == found(*([STEP] * 50 + [f"[12345.678901] {XID}"] * 20) * 10)


def test_a_training_rule_does_not_read_the_kernels_lines() -> None:
    """What a process calls itself stands in the kernel's lines."""
    seen = read("[12.345678] traps: loss=nan[8100] general protection ip:7f sp:7f error:0")

    assert () == seen.hits


def test_tools_in_a_report_do_not_hide_the_kernels_lines() -> None:
    """A report pastes a tool's output above lines of syslog."""
    lines = ("$ nvidia-smi", "No devices were found", "", f"Nov 30 02:11:09 g kernel: {XID}")

    assert [("kernel.xid_79", 4)] == found(*lines)


@given(st.binary(max_size=3_000))
def test_any_bytes_have_a_form(data: bytes) -> None:
    """Junk has one too, and it depends on the beginning alone."""
    padded = data.ljust(HEAD, b"\n")

    assert form(padded) == form(padded + data)
