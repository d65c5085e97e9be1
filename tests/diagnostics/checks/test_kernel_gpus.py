"""What lines of one GPU have to do with each other: echoes, companions, the driver's own wish."""

from collections.abc import Sequence

import msgspec
import pytest

from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.checks.kernel.log import KernelLogLimits, findings, kernel_log
from diagnostics.document import numbered
from diagnostics.finding import Finding
from diagnostics.incidents import join
from diagnostics.rules.kernel import KernelKnowledge, KernelSymptoms, Search, joined, load

KNOWN = KernelKnowledge(load())
GPU, OTHER = "NVRM: Xid (PCI:0000:4e:00): ", "NVRM: Xid (PCI:0000:5b:00): "
SWITCH = "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): "
WANTS = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
WITHDRAWN = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
REMAP = "63, pid=8100, name=python3, Row Remapper: New row (0x3fb21a040) marked for remapping"
DBE = "48, pid=8100, name=python3, An uncorrectable double bit error (DBE) at physAddr 0x3fb21a040"


def seen(lines: Sequence[tuple[float, str]]) -> KernelSymptoms:
    """Return what the rules find in lines that were written at these seconds."""
    records = tuple(
        Record(sequence=n, boot_s=at, level=3, facility=0, text=text)
        for n, (at, text) in enumerate(lines)
    )
    log = KernelLog(records=records)
    whole = tuple(joined(records))
    search = Search(log, KNOWN)
    search.feed(whole)
    return search.seen()


def judged(*texts: str, step: float = 1.0) -> dict[str, Finding]:
    """Return the findings by fault; the lines stand *step* seconds apart."""
    lines = [(100.0 + n * step, text) for n, text in enumerate(texts)]
    result = kernel_log.run({KernelSymptoms: seen(lines)})
    return {f.fault: f for f in join.explain(numbered(result.findings))}


@pytest.mark.parametrize(
    ("lines", "step", "echo"),
    [
        ((f"{GPU}79, GPU has fallen off the bus.", f"{GPU}45, Ch 00000001"), 1.0, 79),
        ((f"{GPU}31, Ch 00000007", f"{GPU}43, Ch 00000007", f"{GPU}45, Ch 1"), 1.0, 31),
        ((f"{GPU}45, Ch 00000001 caused by previous Xid 149",), 1.0, 149),
        ((f"{GPU}79, GPU has fallen off the bus.", f"{GPU}45, Ch 00000001"), 60.0, None),
        ((f"{OTHER}79, GPU has fallen off the bus.", f"{GPU}45, Ch 00000001"), 1.0, None),
        ((f"{GPU}45, Ch 00000001", f"{GPU}31, Ch 00000007"), 1.0, None),
        ((f"{GPU}{WANTS}", f"{GPU}45, Ch 00000001"), 1.0, None),
    ],
)
def test_45_is_the_echo_of_what_stands_before_it(
    lines: tuple[str, ...], step: float, echo: int | None
) -> None:
    """Seconds after another Xid of the same GPU, or where its line names one; else it is alone."""
    found = judged(*lines, step=step)["xid_45"]

    assert ("info", echo) == (found.severity, found.evidence[0].values.get("echo_of"))


def test_many_45_are_one_line_beneath_their_cause() -> None:
    """An 8-rank job leaves a hundred: one note that the lost GPU explains, with its count."""
    lost = f"{GPU}79, pid=8100, name=python3, GPU has fallen off the bus."
    found = judged(lost, *(f"{GPU}45, pid=8100, Ch {n:08x}" for n in range(112)), step=0.01)

    assert (112, found["gpu_fell_off_bus"].id) == (
        found["xid_45"].count,
        found["xid_45"].explained_by,
    )


def test_154_states_what_all_of_its_gpu_needs() -> None:
    """The driver's wish stands as recovery with the root, and follows from it."""
    found = judged(f"{GPU}62, pid=8100, name=nvtop, 2b3b6a66", f"{GPU}{WANTS}")
    root, wish = found["xid_62"], found["xid_154"]

    assert ("reset_gpu", "driver", root.id) == (
        root.evidence[0].values["recovery"],
        root.evidence[0].values["recovery_by"],
        wish.explained_by,
    )


def test_154_is_a_note_beneath_the_fault_that_it_speaks_of() -> None:
    """The fault weighs what the driver asks for; alone, the wish is the fault that is told."""
    beside = judged(f"{GPU}109, pid=8100, name=python3, Ch 00000008", f"{GPU}{WANTS}")
    alone = judged(f"{OTHER}109, pid=8100, name=python3, Ch 00000008", f"{GPU}{WANTS}")

    assert (("critical", "info"), ("warning", "critical")) == (
        (beside["xid_109"].severity, beside["xid_154"].severity),
        (alone["xid_109"].severity, alone["xid_154"].severity),
    )


@pytest.mark.parametrize(("step", "follows"), [(1.0, True), (60.0, False)])
def test_154_of_the_other_end_follows_from_the_link(step: float, follows: bool) -> None:  # noqa: FBT001 - a column of the table
    """A GPU that names no error of its own is asked to be reset for its neighbour's link."""
    link = f"{OTHER}149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x0 0x0 0x0 0x0 0x0)"
    found = judged(link, f"{GPU}{WANTS}", step=step)

    assert follows == (found["xid_154"].explained_by == found["nvlink_error"].id)


def test_45_of_one_process_on_its_other_gpus_follows_from_the_first() -> None:
    """A process that lost one GPU loses its channels on all that it used."""
    lost = f"{OTHER}79, pid=8100, name=python3, GPU has fallen off the bus."
    own = judged(lost, f"{GPU}45, pid=8100, name=python3, Ch 00000001")
    foreign = judged(lost, f"{GPU}45, pid=8101, name=python3, Ch 00000001")

    assert ((79, own["gpu_fell_off_bus"].id), (None, None)) == tuple(
        (f["xid_45"].evidence[0].values.get("echo_of"), f["xid_45"].explained_by)
        for f in (own, foreign)
    )


def test_the_last_154_counts() -> None:
    """The driver may ask for more or less later; its last value is what it wants."""
    more = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node Reboot)"
    wish = judged(f"{GPU}{WANTS}", f"{GPU}{more}")["xid_154"]

    assert (2, "reboot_node", 2) == (
        wish.evidence[0].values["recovery_action"],
        wish.evidence[0].values["recovery"],
        wish.count,
    )


def test_154_can_be_withdrawn() -> None:
    """After "None" nothing is asked for, and the line is a note."""
    assert "info" == judged(f"{GPU}{WANTS}", f"{GPU}{WITHDRAWN}")["xid_154"].severity


def test_5_and_above_is_told_raw() -> None:
    """What releases mean differently is handed to a person as the number it is."""
    text = "154, GPU recovery action changed from 0x0 (None) to 0x6 (Bus Reset Required)"
    values = judged(f"{GPU}{text}")["xid_154"].evidence[0].values

    assert (6, "person") == (values["recovery"], values["recovery_by"])


def test_63_beside_48_is_drained_first() -> None:
    """A repair after an uncorrectable error follows from it, and both wait for one reset."""
    found = judged(f"{GPU}{DBE}", f"{GPU}171, HBM, Uncorrectable DRAM error", f"{GPU}{REMAP}")
    error, repair = found["ecc_uncorrectable"], found["row_remap_pending"]

    assert ("drain_and_reset", {48, 171}, error.id) == (
        error.evidence[0].values["recovery"],
        {evidence.values["xid"] for evidence in error.evidence},
        repair.explained_by,
    )


def test_63_alone_is_watched() -> None:
    """The repair was recorded: the job goes on, and the reset can wait."""
    values = judged(f"{GPU}{REMAP}")["row_remap_pending"].evidence[0].values

    assert ("watch", "sub_event") == (values["recovery"], values["recovery_by"])


def test_a_mig_instance_is_its_gpus() -> None:
    """The form with instances names the same GPU, and keeps which instance it was."""
    line = "NVRM: Xid (PCI:0000:4e:00 GPU-I:05 GPU-CI:01): 94, pid=8100, Contained: SM (0x1)."
    found = judged(line)["ecc_uncorrectable"]

    assert ("0000:4e:00.0", "GPU-I:05 GPU-CI:01") == (
        found.subject.name,
        found.evidence[0].values["mig"],
    )


def test_lines_that_follow_an_sxid_are_not_counted() -> None:
    """Severity and data repeat the code of the event before them: there is one event."""
    found = judged(
        f"{SWITCH}20034, Fatal, Link 41 LTSSM Fault Up",
        f"{SWITCH}20034, Severity 1 Engine instance 41 Sub-engine instance 00",
        f"{SWITCH}20034, Data {{0x10000000, 0x10000000, 0x00000000}}",
    )

    assert {"nvswitch_sxid_fatal": 1} == {name: f.count for name, f in found.items()}


def test_lines_that_follow_a_lost_sxid_speak_for_it() -> None:
    """Where the ring ran over the event itself, its data still tell code and weight."""
    (found,) = judged(f"{SWITCH}20034, Data {{0x10000000, 0x10000000}}").values()

    assert ("nvswitch_sxid_fatal", "critical", 20034) == (
        found.fault,
        found.severity,
        found.evidence[0].values["sxid"],
    )


def test_a_switch_names_the_links_it_lost() -> None:
    """One event for each link of a GPU that left: one finding with all of them."""
    links = (41, 42, 43)
    (found,) = judged(*(f"{SWITCH}20034, Fatal, Link {n} LTSSM Fault Up" for n in links)).values()

    assert links == found.evidence[0].values["links"]


def test_a_programs_error_is_a_note_of_the_node_and_the_point_of_a_log() -> None:
    """A walk asks for the node's health; who reads a log asks why the job ended."""
    whole = seen([(100.0, f"{GPU}31, pid=8100, name=python3, Ch 00000007, MMU Fault")])
    named = msgspec.structs.replace(whole, file="job.dmesg")
    told = [next(findings(one, KernelLogLimits())).severity for one in (whole, named)]

    assert ["info", "warning"] == told
