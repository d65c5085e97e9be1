"""GPUs by NVML: not asked where no driver is, twice where one is."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.asking import converted
from collectors.gpu.breaker import breaker
from collectors.gpu.nvml import Gpu, GpuProcess, GpuSnapshot, Looking, collect
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

QUIET = KernelLog(records=())
DRIVER = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 580.173.02\n"}


def answer(use: int) -> dict[str, Any]:
    """Return a child's answer of one GPU."""
    return {
        "driver": "580.173.02",
        "nvml": "13.580.173.02",
        "count": 1,
        "failed": {},
        "gpus": [
            {
                "index": 0,
                "uuid": "GPU-0",
                "pci": "0000:4e:00.0",
                "minor": 0,
                "name": "NVIDIA H100 80GB HBM3",
                "serial": None,
                "memory_total_bytes": 1000,
                "memory_used_bytes": 900,
                "memory_reserved_bytes": 10,
                "utilisation_percent": use,
                "mig": None,
                "processes": [{"pid": 4100, "used_bytes": None}],
                "failed": {"serial": 3, "mig": 3},
            }
        ],
    }


def test_without_a_driver_nobody_is_asked(tmp_path: Path) -> None:
    """A device node alone proves no driver; the child is not started, and nothing is unknown."""
    node = recorded(tmp_path, files={"/dev/nvidiactl": ""})

    assert GpuSnapshot(loaded=False) == asyncio.run(collect(node, Wanted(), QUIET))


def test_two_samples_stand_side_by_side(tmp_path: Path) -> None:
    """What a GPU did a second ago stands beside what it does now."""
    write(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    later = [{"kind": "nvml", "answer": answer(97)}]
    write(tmp_path / "at" / "1", answers=later)
    expected = GpuSnapshot(
        driver="580.173.02",
        nvml="13.580.173.02",
        count=1,
        watched_s=1.0,
        gpus=(
            Gpu(
                index=0,
                uuid="GPU-0",
                pci="0000:4e:00.0",
                minor=0,
                name="NVIDIA H100 80GB HBM3",
                memory_total_bytes=1000,
                memory_used_bytes=900,
                memory_reserved_bytes=10,
                utilisation_percent=97,
                utilisation_before_percent=12,
                processes=(GpuProcess(pid=4100),),
                failed={"serial": 3, "mig": 3},
            ),
        ),
    )

    assert expected == asyncio.run(collect(Recorded(tmp_path), Wanted(), QUIET))


def test_who_looks_again_asks_once(tmp_path: Path) -> None:
    """The second look tells the use of the first, and waits for nothing."""
    write(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    of = Recorded(tmp_path)
    looking = Looking()

    async def twice() -> tuple[float, GpuSnapshot | Missing]:
        await looking.collect(of, Wanted(), QUIET)
        await of.sleep(10.0)
        began = of.monotonic()
        seen = await looking.collect(of, Wanted(), QUIET)
        return of.monotonic() - began, seen

    took_s, seen = asyncio.run(twice())
    assert isinstance(seen, GpuSnapshot)

    assert (0.0, 10.0, 12) == (took_s, seen.watched_s, seen.gpus[0].utilisation_before_percent)


def test_an_init_error_is_an_observation(tmp_path: Path) -> None:
    """That NVML does not start is known, and not missing."""
    said = {"init_error": 18, "nvml": "12.570.86.15"}
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": said}])

    expected = GpuSnapshot(init_error=18, nvml="12.570.86.15")
    assert expected == asyncio.run(collect(node, Wanted(), QUIET))


def test_a_driver_that_does_not_answer_is_missing_by_name(tmp_path: Path) -> None:
    """The check tells the driver's silence from the walk's by its name; where it stood is kept."""
    silence = {"cause": "timeout", "detail": "no answer in 15 s", "stuck": "pid 4711, state D"}
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "missing": silence}])

    expected = Missing(
        what="NVML", cause=Cause.TIMEOUT, detail="no answer in 15 s", stuck="pid 4711, state D"
    )
    assert expected == asyncio.run(collect(node, Wanted(), QUIET))


def said(*texts: str) -> KernelLog:
    """Return a log of the kernel's own lines, a minute apart, read an hour after boot."""
    records = (
        Record(sequence=n, boot_s=60.0 * n, level=3, facility=0, text=text)
        for n, text in enumerate(texts, start=1)
    )
    return KernelLog(records=tuple(records), uptime_s=3600.0)


HUNG = (
    "NVRM: Xid (PCI:0000:9B:00): 119, pid=70411, name=nvidia-smi, Timeout after 6s of waiting for "
    "RPC response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) sequence 77 (0x2080a097 0x4)"
)
FALLEN = "NVRM: Xid (PCI:0000:4e:00): 79, pid=8100, name=python3, GPU has fallen off the bus."
LOADED = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025"


def test_after_a_gsp_timeout_the_driver_is_not_asked(tmp_path: Path) -> None:
    """No helper is started into a driver that hangs; why stands in the answer."""
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    detail = (
        "Xid 119 of GPU 0000:9b:00.0 3540 s ago; the driver is not asked again until reboot, "
        "or by a person with --ask-driver"
    )
    expected = Missing(what="NVML", cause=Cause.HELD_BACK, detail=detail)

    assert expected == asyncio.run(collect(node, Wanted(), said(HUNG)))


@pytest.mark.parametrize("text", [HUNG, FALLEN])
def test_a_person_has_the_driver_asked_all_the_same(tmp_path: Path, text: str) -> None:
    """By a person's word nothing is held back: neither the driver nor the GPU off the bus."""
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    got = asyncio.run(collect(node, Wanted(ask_driver=True), said(text)))

    assert isinstance(got, GpuSnapshot)
    assert (["0000:4e:00.0"], ()) == ([gpu.pci for gpu in got.gpus], got.held_back)


def test_a_driver_that_was_loaded_anew_is_asked(tmp_path: Path) -> None:
    """What hung before the module was loaded is gone with it."""
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    got = asyncio.run(collect(node, Wanted(), said(HUNG, FALLEN, LOADED)))

    assert isinstance(got, GpuSnapshot)
    assert (1, ()) == (got.count, got.held_back)


def test_what_a_program_wrote_holds_nothing_back(tmp_path: Path) -> None:
    """A line of facility 1 has the kernel's form and not its word."""
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    written = Record(sequence=1, boot_s=1.0, level=3, facility=1, text=HUNG)
    got = asyncio.run(collect(node, Wanted(), KernelLog(records=(written,))))

    assert isinstance(got, GpuSnapshot)


def test_a_gpu_off_the_bus_is_left_alone(tmp_path: Path) -> None:
    """The driver's others are asked by their addresses, and who was not stands in the answer."""
    uevents = {
        f"/sys/bus/pci/devices/{address}/uevent": (
            f"DRIVER={driver}\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n"
        )
        for address, driver in (
            ("0000:1b:00.0", "nvidia"),
            ("0000:4e:00.0", "nvidia"),
            ("0000:9b:00.0", "vfio-pci"),
        )
    }
    asked = {"kind": "nvml", "args": {"only": ["0000:1b:00.0"]}, "answer": answer(12)}
    node = recorded(tmp_path, files={**DRIVER, **uevents}, answers=[asked])
    got = asyncio.run(collect(node, Wanted(), said(FALLEN)))

    assert isinstance(got, GpuSnapshot)
    assert (("0000:4e:00.0",), 1) == (got.held_back, len(got.gpus))


def test_no_gpu_left_is_no_question(tmp_path: Path) -> None:
    """Where all fell off the bus nobody is asked: no address must not mean all of them."""
    uevent = "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n"
    files = {**DRIVER, "/sys/bus/pci/devices/0000:4e:00.0/uevent": uevent}
    node = recorded(tmp_path, files=files, answers=[{"kind": "nvml", "answer": answer(12)}])
    got = asyncio.run(collect(node, Wanted(), said(FALLEN)))

    assert isinstance(got, Missing)
    assert got.cause is Cause.HELD_BACK


@given(st.lists(st.text() | st.sampled_from([HUNG, FALLEN, LOADED])))
def test_no_line_breaks_the_breaker(texts: list[str]) -> None:
    """Whatever the kernel says, it is told apart by the last load, GSP timeout and lost GPU."""
    last = [line for line in texts if line in (HUNG, LOADED)][-1:]

    assert (last == [HUNG]) == (breaker(said(*texts)).silent is not None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["gpus", "index", "x"]), inner),
)


@given(JSON)
def test_any_answer_is_a_snapshot_or_garbled(value: object) -> None:
    """An answer of another shape is told as garbled, and raises nothing."""
    got = converted(value, GpuSnapshot)

    assert isinstance(got, GpuSnapshot) or got.cause is Cause.GARBLED
