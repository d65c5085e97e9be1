"""The kernel's lines in a file: things told apart, ended, dated, and put together."""

from agent.knowledge import knowledge
from collectors.logs.pieces import pieces
from diagnostics.rules.kernel_seen import KernelSymptoms
from diagnostics.rules.reading import Reading

GONE = "NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus."
LOADED = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025"


def read(*texts: str, stamp: str = "[{n:5d}.000000] ") -> KernelSymptoms:
    """Read lines of dmesg, a second apart."""
    reading = Reading(knowledge(), "dmesg.txt")
    lines = (f"{stamp.format(n=n)}{text}\n" for n, text in enumerate(texts))
    for piece in pieces(["".join(lines).encode()]):
        reading.feed(piece)
    seen = reading.seen().kernel
    assert seen is not None
    return seen


def test_a_later_line_ends_it() -> None:
    """The driver was loaded anew; a line after that begins again."""
    over = [
        [hit.over for hit in read(*texts).hits]
        for texts in (
            (GONE, LOADED),
            (GONE, LOADED, GONE),
            (GONE, GONE, LOADED, LOADED),
        )
    ]

    assert [[True], [False], [True]] == over


def test_a_sentence_in_three_lines_is_one() -> None:
    """Where dmesg breaks what the driver says of a dead GPU, its address stands above the words."""
    broken = (
        "NVRM: The NVIDIA GPU 0000:{0}:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    seen = read(*(line.format(bus) for bus in ("4e", "9a") for line in broken))

    assert ["0000:4e:00.0", "0000:9a:00.0"] == [hit.name for hit in seen.hits]


def test_a_gpu_is_known_by_what_the_driver_printed() -> None:
    """UUID and serial number stand above a GPU's first Xid."""
    seen = read(
        "NVRM: GPU at PCI:0000:4e:00: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30",
        "NVRM: GPU Board Serial Number: 1653023000117",
        GONE,
    )

    assert "1653023000117" == seen.cards["0000:4e:00.0"].serial


def test_a_line_has_its_number_age_and_file() -> None:
    """Sequence is the line's number; age counts to the end of the log, whatever its last line."""
    seen = read("eth0: up", GONE, GONE, *["eth0: up"] * 60)
    (hit,) = seen.hits

    assert ("dmesg.txt", 63, 2, 3, 61.0, 60.0, 2) == (
        seen.file,
        seen.records,
        hit.first.sequence,
        hit.last.sequence,
        hit.first.age_s,
        hit.last.age_s,
        hit.count,
    )


def test_a_quiet_log_of_the_kernels_was_read() -> None:
    """That none of its lines means a fault is something to say."""
    seen = read(*["eth0: up"] * 5)

    assert (5, ()) == (seen.records, seen.hits)
