"""Rules for the kernel log: whole, told apart, and quiet on a healthy node."""

import re
import string
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.check import Result
from diagnostics.checks.kernel.log import kernel_log
from diagnostics.checks.network.flaps import link_flaps
from diagnostics.document import numbered
from diagnostics.incidents import join
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import load as pages
from diagnostics.rules.kernel import (
    MOST_HITS,
    Card,
    KernelHit,
    KernelKnowledge,
    KernelRule,
    KernelSymptoms,
    Search,
    joined,
    load,
)
from diagnostics.rules.rule import UNBOUNDED, objections

RULES = load()
KNOWN = KernelKnowledge(RULES)
EXAMPLES = [(rule.id, text) for rule in RULES for text in rule.example]
XID = "NVRM: Xid (PCI:0000:4e:00): "
SXID = "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): "
LOADED = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025"
# What the check adds to a rule's sentence.
ADDED = {"span", "ago"}

HEALTHY = """\
Linux version 6.8.0-48-generic (buildd@builder) (gcc-13) #48-Ubuntu SMP
Command line: BOOT_IMAGE=/vmlinuz-6.8.0-48-generic root=/dev/md0 ro iommu=pt pci=realloc=off
x86/cpu: SGX disabled by BIOS.
MCE: In-kernel MCE decoding enabled.
mce: CPU0: Thermal monitoring enabled (TM1)
ACPI: PCI Root Bridge [PC40] (domain 0000 [bus 4a-59])
pci 0000:4e:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint
pci 0000:4e:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)
pcieport 0000:4c:01.0: PME: Signaling with IRQ 38
pcieport 0000:4c:01.0: AER: enabled with IRQ 38
pcieport 0000:4c:01.0: DPC: enabled with IRQ 38
pcieport 0000:4c:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+
pcieport 0000:4c:01.0: pciehp: Slot #12 AttnBtn- PwrCtrl- MRL- AttnInd+
EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0
nvme nvme0: 64/0/0 default/read/poll queues
nvme0n1: p1 p2
md/raid1:md0: active with 2 out of 2 mirrors
EXT4-fs (md0): mounted filesystem 1c9e3f52-2b6e-4a57-8d4f-0c8a5a3f7e10 ro with ordered data mode.
EXT4-fs (md0): re-mounted 1c9e3f52-2b6e-4a57-8d4f-0c8a5a3f7e10 r/w. Quota mode: none.
XFS (nvme1n1): Mounting V5 Filesystem 2d0e4f63-3c7f-4b68-9e50-1d9b6a408f21
XFS (nvme1n1): Ending clean mount
mlx5_core 0000:5d:00.0: firmware version: 28.43.1014
mlx5_core 0000:5d:00.0: Port module event: module 0, Cable plugged
mlx5_core 0000:5d:00.0: Detected insufficient power on the PCIe slot (27W).
mlx5_core 0000:41:00.0 ens5f0np0: Link down
mlx5_core 0000:41:00.0 ens5f0np0: Link up
mlx5_core 0000:41:00.1 ens5f1np1: Link down
mlx5_core 0000:5d:00.0 mlx5_3: Port: 1 Link DOWN
mlx5_core 0000:5d:00.0 mlx5_3: Port: 1 Link ACTIVE
nvidia: loading out-of-tree module taints kernel.
nvidia: module verification failed: signature and/or required key missing - tainting kernel
nvidia-nvlink: Nvlink Core is being initialized, major device number 234
nvidia 0000:4e:00.0: enabling device (0000 -> 0002)
NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22)
nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for x86_64  580.95.05
[drm] [nvidia-drm] [GPU ID 0x00004e00] Loading driver
nvidia-nvswitch0: open (major=511)
nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module nvidia
nfs: server store-1.cluster not responding, still trying
nfs: server store-1.cluster OK
perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate to 79000
systemd[1]: Inserted module 'autofs4'
NVRM: Xid (PCI:0000:4e:00): 31, pid=8100, name=python3, Ch 00000007, intr 00000000. MMU Fault
NVRM: Xid (PCI:0000:4e:00): 43, pid=8100, name=python3, Ch 00000018
NVRM: Xid (PCI:0000:4e:00): 45, pid=8100, name=python3, Ch 00000018
""".splitlines()


def log(texts: Sequence[str], facility: int = 0) -> KernelLog:
    """Return a log of one line a second, read when the last was written."""
    records = (
        Record(sequence=n, boot_s=float(n), level=4, facility=facility, text=text)
        for n, text in enumerate(texts)
    )
    return KernelLog(records=tuple(records))


def search(texts: Sequence[str], facility: int = 0) -> KernelSymptoms:
    """Return what the rules find, read in pieces as a walk does."""
    whole = log(texts, facility)
    records = tuple(joined(whole.records))
    search = Search(whole, KNOWN)
    for start in range(0, len(records), 7):
        search.feed(records[start : start + 7])
    return search.seen()


def judged(texts: Sequence[str], facility: int = 0) -> Result:
    """Return what the check says of these lines."""
    return kernel_log.run({KernelSymptoms: search(texts, facility)})


def rule(name: str) -> KernelRule:
    return next(rule for rule in RULES if rule.id == name)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_holds_for_its_own_examples(rule: KernelRule) -> None:
    """Each example hits, no counter-example does, and the message finds its fields in all."""
    assert [] == list(objections(rule))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_is_whole(rule: KernelRule) -> None:
    """A rule has counter-examples and a source, starts at a line's start, and names its subject."""
    names = {part for _, part, _, _ in string.Formatter().parse(rule.named) if part}
    nothing: list[str] = []

    assert (True, True, True, True, nothing, None) == (
        bool(rule.not_example and rule.references),
        rule.pattern.startswith("^"),
        rule.over == "" or rule.over.startswith("^"),
        rule.about == "node" or bool(names),
        sorted((names - set(rule.fields)) | (ADDED & set(rule.fields))),
        UNBOUNDED.search(rule.over),
    )


def test_each_example_is_one_rules_alone() -> None:
    """No line is told twice: where one rule holds for a line, no other does."""
    expected = [(owner, [owner]) for owner, _ in EXAMPLES]

    assert expected == [
        (owner, [rule.id for rule in RULES if rule.match(text)]) for owner, text in EXAMPLES
    ]


def test_each_fault_has_a_page_and_the_check_promises_it() -> None:
    """What a rule can find, `explain` knows and a check names."""
    faults = {named(hit.fault) for _, text in EXAMPLES for hit in search([text]).hits}

    assert ({*kernel_log.faults, *link_flaps.faults}, set()) == (faults, faults - set(pages()))


@given(
    st.lists(
        st.sampled_from([text for _, text in EXAMPLES])
        | st.sampled_from(HEALTHY)
        | st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
        max_size=25,
    )
)
def test_one_pass_finds_what_each_rule_finds(texts: list[str]) -> None:
    """Anchors, pieces and folding lose no line and invent none."""
    records = [record.text for record in joined(log(texts).records)]
    expected = {rule.id: n for rule in RULES if (n := sum(map(bool, map(rule.match, records))))}
    counts: dict[str, int] = {}
    for hit in search(texts).hits:
        counts[hit.rule] = counts.get(hit.rule, 0) + hit.count

    assert expected == counts


def test_a_healthy_log_gives_notes_at_most() -> None:
    """Boot, links that come up, a file server that came back, a job's own errors: no warning."""
    result = judged(HEALTHY)

    assert ("ok", {"info"}) == (result.verdict, {f.severity for f in result.findings})


@given(st.sampled_from([text for _, text in EXAMPLES]), st.integers(1, 23))
def test_what_a_program_wrote_is_no_finding(text: str, facility: int) -> None:
    """A line of any form with another facility than the kernel's says nothing."""
    result = judged([text], facility)

    assert ("ok", ()) == (result.verdict, result.findings)


@pytest.mark.parametrize(
    "name",
    [
        "{gpu.__class__}",
        "x, 79, GPU has fallen",
        r"a\x0aNVRM: Xid (",
        "Fatal",
        "%s%n",
        "GPU recovery action",
    ],
)
def test_a_process_name_is_text(name: str) -> None:
    """The name of a job's process stands in the line, and can hold anything but the meaning."""
    result = judged([f"{XID}13, pid=8100, name={name}, Graphics SM Warp Exception on (GPC 3)"])

    assert [("xid_13", "info")] == [(f.fault, f.severity) for f in result.findings]


def test_three_lines_of_a_dead_gpu_are_one() -> None:
    """A GPU that was lost at boot leaves no Xid; its lines are joined, others between them not."""
    lines = [
        "NVRM: The NVIDIA GPU 0000:b3:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
        LOADED,
    ]
    told = [(hit.rule, hit.name, hit.over) for hit in search(lines).hits]

    assert [("kernel.dead_at_probe", "0000:b3:00.0", False)] == told
    assert () == search([lines[0], "usb 1-2: new device", *lines[1:]]).hits


def test_addresses_are_written_as_sysfs_does() -> None:
    """All spellings of one GPU are one subject, with who it is from the lines before."""
    lines = [
        "NVRM: GPU at PCI:0000:4e:00: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30",
        "NVRM: GPU Board Serial Number: 1653023000117",
        f"{XID}95, pid=8100, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",
        "NVRM: Xid (PCI:00000000:4E:00.0 GPU-I:05): 94, pid=8100, Contained: SM (0x1).",
    ]
    (finding,) = judged(lines).findings
    expected = ("0000:4e:00.0", "GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30", "1653023000117", 2)

    assert expected == (
        finding.subject.name,
        finding.subject.uuid,
        finding.subject.serial,
        finding.count,
    )
    assert {"0000:4e:00.0": Card(uuid=expected[1], serial=expected[2])} == search(lines).cards


@pytest.mark.parametrize(
    ("lines", "over"),
    [
        (["nfs: server a not responding, still trying", "nfs: server a OK"], [True]),
        (["nfs: server a not responding, still trying", "nfs: server b OK"], [False]),
        (["nfs: server a OK", "nfs: server a not responding, still trying"], [False]),
        ([f"{XID}79, GPU has fallen off the bus.", LOADED], [True]),
        ([f"{XID}79, GPU has fallen off the bus.", LOADED, f"{XID}79, again"], [False]),
        (
            [
                f"{XID}154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset)",
                f"{XID}154, GPU recovery action changed from 0x1 (GPU Reset) to 0x0 (None)",
            ],
            [True],
        ),
        ([f"{SXID}10004, Switch is at 96 C", f"{SXID}10005, Switch is at 88 C"], [True, False]),
        (
            ["mlx5_core 0000:41:00.0 ens5f0np0: Link down", "mlx5_core 0000:41:00.0 ens5: Link up"],
            [False, False],
        ),
    ],
)
def test_what_ends_it(lines: list[str], *, over: list[bool]) -> None:
    """A later line about the same thing ends it; one about another, or an earlier one, does not."""
    assert over == [hit.over for hit in search(lines).hits]


def test_a_program_ends_nothing() -> None:
    """A line written through /dev/kmsg cannot say that the kernel's trouble is over."""
    records = (
        Record(sequence=1, boot_s=1.0, level=3, facility=0, text=f"{XID}79, GPU has fallen off"),
        Record(sequence=2, boot_s=2.0, level=6, facility=1, text=LOADED),
    )
    search = Search(KernelLog(records=records), KNOWN)
    search.feed(records)

    assert [False] == [hit.over for hit in search.seen().hits]


def test_a_flood_is_one_finding() -> None:
    """Of 20,000 lines of one rank's fault there is one hit: first, last and count."""
    (hit,) = search([f"{XID}31, pid=8100, name=python3, Ch {n:08x}" for n in range(20_000)]).hits

    assert (20_000, 0, 19_999) == (hit.count, hit.first.sequence, hit.last.sequence)


def test_names_without_end_cost_their_cap() -> None:
    """Junk that names a new thing each time is counted together once there are too many."""
    seen = search(
        [f"nfs: server s{n} not responding, still trying" for n in range(MOST_HITS + 500)]
    )
    rest: KernelHit = next(hit for hit in seen.hits if hit.name is None)

    assert (MOST_HITS + 1, 500) == (len(seen.hits), rest.count)


def test_the_order_of_an_incident() -> None:
    """The GPU is the root: its port saw the link go, and its siblings lost a link to it."""
    lines = [
        "pcieport 0000:4c:01.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:4c:01.0: pciehp: Slot(12): Link Down",
        f"{XID}79, pid=8100, name=python3, GPU has fallen off the bus.",
        "NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.",
        *(f"{XID}45, pid=8100, name=python3, Ch {n:08x}" for n in range(112)),
        "NVRM: Xid (PCI:0000:5b:00): 74, NVLink: fatal error detected on link 11(0x0)",
    ]
    findings = join.explain(numbered(judged(lines).findings))
    by_id = {finding.id: finding.fault for finding in findings}
    expected = {
        "pcie_error": "gpu_fell_off_bus",
        "gpu_fell_off_bus": None,
        "xid_45": "gpu_fell_off_bus",
        "nvlink_error": "gpu_fell_off_bus",
    }

    assert expected == {f.fault: by_id.get(f.explained_by or "") for f in findings}
    assert ["gpu_fell_off_bus"] == [by_id[name] for name in join.root_causes(findings)]


def test_a_sentence_says_how_often_and_when() -> None:
    """Count, span and age stand in words; the line itself is the evidence, with its number."""
    lines = [f"{XID}48, pid=8100, name=python3, channel 0x{n:08x}" for n in range(30)]
    (finding,) = judged([*lines, *["quiet"] * 600]).findings
    expected = (
        "the GPU at 0000:4e:00.0 met a memory error that it could not correct (Xid 48) "
        "(30 lines in 29 s), 10 min ago"
    )

    assert (expected, lines[0], 0) == (
        finding.message,
        finding.evidence[0].text,
        finding.evidence[0].values["sequence"],
    )


def test_age_makes_an_event_a_note_and_no_condition() -> None:
    """After a day an event is history; a GPU off the bus stays off until the driver is loaded."""
    lines = [f"{XID}48, x", f"{XID}79, x", *["quiet"] * 90_000]
    severities = {f.fault: f.severity for f in judged(lines).findings}

    assert {"ecc_uncorrectable": "info", "gpu_fell_off_bus": "critical"} == severities


def test_ids_begin_with_their_family() -> None:
    """An id stands once, and names no fault."""
    ids = [rule.id for rule in RULES]

    assert (sorted(set(ids)), True) == (
        sorted(ids),
        all(re.fullmatch(r"kernel\.[a-z0-9_]+", name) for name in ids),
    )
