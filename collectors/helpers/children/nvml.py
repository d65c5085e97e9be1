"""The one process that has the driver open: each call guarded, a lost GPU an entry of its own."""

import contextlib
import json
import os
import select
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any, BinaryIO, cast

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import loop, nvml_calls, nvml_health
from collectors.helpers.children.nvml_lasting import TEXTS, Lasting
from collectors.helpers.children.nvml_watch import Watch

MOST_GPUS = 64
MOST_PROCESSES = 1024
NAME = "gpudiag-nvml"
# Opening NVML as root loads the module: that may have been taken out a moment ago.
DRIVER = "/proc/driver/nvidia/version"
# Without persistence the driver keeps the GPUs initialised for as long as somebody has it open.
IDLE_S = 5.0

# A list of processes holds for so long; a context alone takes some hundred MiB.
LISTED_S = 30.0
COME_BYTES = 64 << 20

# NVML_VALUE_NOT_AVAILABLE of the C header.
NOT_AVAILABLE = 0xFFFF_FFFF_FFFF_FFFF

NAMES = {name: TEXTS[name] for name in ("uuid", "name", "serial")}

# A GPU's index and handle in, what it says out.
Read = Callable[[int, Any], dict[str, Any]]


class Processes:
    """Lists of processes, for which the driver stops all its users: one of each GPU in 30 s.

    An empty list does not hold where memory was taken since: somebody has come.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, tuple[float, int, list[dict[str, int | None]]]] = {}

    def forget(self) -> None:
        """List anew: it is another time."""
        self._told.clear()

    def of(self, key: str, used: int, ask: Callable[[], Any]) -> list[dict[str, int | None]] | None:
        """Return the list of a GPU that uses so much memory now; what failed is not kept."""
        since, before, told = self._told.get(key, (0.0, 0, None))
        come = not told and used - before > COME_BYTES
        if told is not None and not come and self._clock() - since < LISTED_S:
            return told
        listed = _processes(ask())
        if listed is None:
            self._told.pop(key, None)
        else:
            self._told[key] = self._clock(), used, listed
        return listed


class Session:
    """NVML as this process uses it: held open under persistence, else until nobody asks.

    It is opened only while the file *driver* is there, where one is named.
    """

    def __init__(self, watch: Watch, driver: str | None = None) -> None:
        self._watch = watch
        self._driver = driver
        self._ready = False
        self._persistent = False
        self._inforom: dict[str, str | None] = {}
        self._pairs: list[dict[str, Any]] | None = None
        self.lasting = Lasting()
        self.processes = Processes()

    def nvml(self, only: list[str] = []) -> dict[str, Any]:  # noqa: B006 - is never changed
        """Return versions, count and each GPU; `init_error` where NVML does not start.

        `loaded` is false where the driver is not, and then NVML is not opened.
        With *only*, the GPUs at these addresses are asked and no other is touched.
        """
        with self._watch.answering():
            return self._answer(only, self._use)

    def _use(self, index: int, found: Any) -> dict[str, Any]:  # noqa: ANN401 - a handle
        return gpu(index, found, self._watch, self.lasting, self.processes)

    def nvml_health(self, only: list[str] = [], brief: bool = False) -> dict[str, Any]:  # noqa: B006, FBT001, FBT002 - never changed; the question says it by name
        """Return what each GPU says of its health; *brief* is what changes within seconds."""
        handles: dict[str, Any] = {}

        def health(index: int, found: Any) -> dict[str, Any]:  # noqa: ANN401 - a handle
            reading = nvml_health.reading(found, self._watch, self.lasting, brief=brief)
            if not brief:
                self._add_inforom(reading)
            handles[reading.said.get("pci", "")] = found
            return {"index": index, **reading.said}

        with self._watch.answering():
            answer = self._answer(only, health)
            if not brief and "gpus" in answer:
                self._persistent = _persistent(answer["gpus"])
                answer["pairs"] = self._distances(handles)
        return answer

    def _answer(self, only: list[str], read: Read) -> dict[str, Any]:
        if not self._ready:
            if self._driver is not None and not os.path.exists(self._driver):
                return {"loaded": False}
            try:
                pynvml.nvmlInitWithFlags(0)
            except nvml_calls.ERRORS as error:
                return {"init_error": nvml_calls.code(error), "nvml": _nvml_version()}
            self._ready = True
        failed: nvml_calls.Failed = {}
        count = nvml_calls.get(failed, "count", pynvml.nvmlDeviceGetCount)
        driver = nvml_calls.get(failed, "driver", pynvml.nvmlSystemGetDriverVersion)
        return {
            "driver": nvml_calls.text(driver),
            "nvml": _nvml_version(),
            "count": count,
            "gpus": [self._gpu(index, at, read) for index, at in _each(only, count or 0)],
            "failed": failed,
        }

    def _gpu(self, index: int, at: str | None, read: Read) -> dict[str, Any]:
        """Return one GPU; where it gives no handle, its index and the error alone."""
        self._watch.gpu = at or f"index {index}"
        try:
            index, found = nvml_calls.handle(index, at)
        except nvml_calls.ERRORS as error:
            known = {} if at is None else {"pci": at}
            return {"index": index, **known, "error": nvml_calls.code(error)}
        return read(index, found)

    def _add_inforom(self, reading: nvml_calls.Gpu) -> None:
        """Add the state of the InfoROM, for which its flash is read: once, while NVML is open."""
        uuid = reading.said.get("uuid", "")
        if uuid not in self._inforom:
            self._inforom[uuid] = nvml_health.inforom(reading)
        reading.put("inforom_state", self._inforom[uuid])

    def _distances(self, handles: dict[str, Any]) -> list[dict[str, Any]]:
        """Return how far apart the GPUs are: once, while NVML is open."""
        if self._pairs is None:
            self._pairs = [
                {"one": one, "other": other, **nvml_health.pair(handles[one], handles[other])}
                for one, other in combinations(filter(None, handles), 2)
            ]
        return self._pairs

    def rest(self) -> None:
        """Let go of the driver, unless the GPUs stay initialised without us."""
        if not self._ready or self._persistent:
            return
        with self._watch.answering(asked=False), contextlib.suppress(*nvml_calls.ERRORS):
            pynvml.nvmlShutdown()
        self._ready, self._inforom, self._pairs = False, {}, None
        self.lasting.forget()


def _persistent(gpus: list[dict[str, Any]]) -> bool:
    modes = [gpu["modes"].get("persistence") for gpu in gpus if "modes" in gpu]
    return bool(modes) and all(modes)


def _each(only: list[str], count: int) -> list[tuple[int, str | None]]:
    if not only:
        return [(index, None) for index in range(min(count, MOST_GPUS))]
    return list(enumerate(only[:MOST_GPUS]))


def gpu(
    index: int,
    found: Any,  # noqa: ANN401 - a handle
    watch: Watch,
    lasting: Lasting,
    processes: Processes,
) -> dict[str, Any]:
    """Return who a GPU is, how much it is used, and by whom."""
    one = nvml_calls.Gpu(found)
    pci = nvml_calls.address(one.call("pci", ("nvmlDeviceGetPciInfo",)))
    one.put("pci", pci)
    watch.gpu = pci or watch.gpu
    lasting.stand(one, _who)
    memory = one.call("memory", ("nvmlDeviceGetMemoryInfo",), pynvml.nvmlMemory_v2)
    rates = one.call("utilisation", ("nvmlDeviceGetUtilizationRates",))
    return {
        "index": index,
        "pci": pci,
        **{name: one.said.get(name) for name in (*NAMES, "minor", "mig")},
        "memory_total_bytes": memory and memory.total,
        "memory_used_bytes": memory and memory.used,
        "memory_reserved_bytes": memory and memory.reserved,
        "utilisation_percent": None if rates is None else rates.gpu,
        "processes": processes.of(
            pci or f"index {index}",
            memory.used if memory else 0,
            lambda: one.call("processes", ("nvmlDeviceGetComputeRunningProcesses",)),
        ),
        "failed": one.failed,
    }


def _who(told: nvml_calls.Gpu) -> None:
    """Ask who a GPU is; a person can have it divided (MIG) at any time."""
    for name, function in NAMES.items():
        told.put(name, nvml_calls.text(told.call(name, (function,))))
    told.put("minor", told.call("minor", ("nvmlDeviceGetMinorNumber",)))
    mig = told.call("mig", ("nvmlDeviceGetMigMode",))
    told.put("mig", None if mig is None else bool(mig[0]))


def _nvml_version() -> str | None:
    # Answers before init as well: on a mismatch it is the one version that can be had.
    return nvml_calls.text(nvml_calls.get({}, "nvml", pynvml.nvmlSystemGetNVMLVersion))


def _processes(listed: Any) -> list[dict[str, int | None]] | None:  # noqa: ANN401 - a list of structures
    if listed is None:
        return None
    entries = []
    for process in listed[:MOST_PROCESSES]:
        used = process.usedGpuMemory
        entries.append({"pid": process.pid, "used_bytes": None if used == NOT_AVAILABLE else used})
    return entries


class Questions:
    """The questions of our parent; while none comes for a while, the driver is let go of."""

    def __init__(self, source: BinaryIO, session: Session) -> None:
        self._source = source
        self._session = session

    def readline(self, limit: int = -1) -> bytes:
        """Return the next question; one is asked at a time, so that none waits in a buffer."""
        if not select.select([self._source], [], [], IDLE_S)[0]:
            self._session.rest()
        return self._source.readline(limit)


def main() -> int:
    """Answer on standard input and output until the parent closes them."""
    serve(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer)
    return 0


def serve(argv: list[str], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until *source* ends; *sink* is standard output, where a stuck call is told, too.

    With `--scenario FILE` there is no driver: the library is simulated, of a plan in that file.
    """
    watch = Watch(lambda line: os.write(1, line))
    session = Session(watch, driver=None if argv[:1] == ["--scenario"] else DRIVER)
    verbs: dict[str, loop.Verb] = {"nvml": session.nvml, "nvml_health": session.nvml_health}
    if argv[:1] == ["--scenario"]:
        verbs = _simulated(argv[1], verbs, session)
    watch.start()
    # The kernel shows this name among the GPU's holders: they are told from jobs by it.
    with contextlib.suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write(NAME)
    loop.serve(verbs, cast("BinaryIO", Questions(source, session)), sink)


def _simulated(path: str, verbs: dict[str, loop.Verb], session: Session) -> dict[str, loop.Verb]:
    """Return *verbs* on a simulated library; they raise where a call was one that crashes.

    One more sets the scenario's time, for those whose time is not this machine's.
    """
    from collectors.gpu.simulator import library  # noqa: PLC0415 - no node with a driver needs it

    with open(path, encoding="utf-8") as file:
        simulator = library.install(json.load(file))

    def at(seconds: float) -> None:
        simulator.origin_s = time.monotonic() - seconds
        session.lasting.forget()
        session.processes.forget()

    return {"at": at, **{name: simulator.watched(verb) for name, verb in verbs.items()}}


if __name__ == "__main__":
    sys.exit(main())
