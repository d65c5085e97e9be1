"""One GPU's health by NVML: what changes from moment to moment, and what may at any time."""

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls as calls
from collectors.helpers.children import nvml_fields as fields
from collectors.helpers.children.nvml_calls import Number
from collectors.helpers.children.nvml_lasting import Lasting
from collectors.helpers.children.nvml_watch import Watch

MOST_LINKS = 64
NVLINK_5 = 5
CORRUPTED_INFOROM = 14
LINK_ERRORS = ("replays", "recoveries", "crc_flits", "crc_data")

CHANGING: tuple[Number, ...] = (
    (
        "heat.gpu_c",
        ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"),
        (pynvml.NVML_TEMPERATURE_GPU,),
    ),
    ("heat.margin_c", ("nvmlDeviceGetMarginTemperature",), ()),
    ("power.draw_mw", ("nvmlDeviceGetPowerUsage",), ()),
    ("power.limit_mw", ("nvmlDeviceGetEnforcedPowerLimit",), ()),
    ("clocks.graphics_mhz", ("nvmlDeviceGetClockInfo",), (pynvml.NVML_CLOCK_GRAPHICS,)),
    ("clocks.sm_mhz", ("nvmlDeviceGetClockInfo",), (pynvml.NVML_CLOCK_SM,)),
    ("clocks.memory_mhz", ("nvmlDeviceGetClockInfo",), (pynvml.NVML_CLOCK_MEM,)),
    (
        "clocks.reasons",
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        (),
    ),
    ("pcie.generation", ("nvmlDeviceGetCurrPcieLinkGeneration",), ()),
    ("pcie.width", ("nvmlDeviceGetCurrPcieLinkWidth",), ()),
    ("pcie.replays", ("nvmlDeviceGetPcieReplayCounter",), ()),
    ("ecc.volatile.corrected", ("nvmlDeviceGetTotalEccErrors",), (0, 0)),
    ("ecc.volatile.uncorrected", ("nvmlDeviceGetTotalEccErrors",), (1, 0)),
    ("ecc.aggregate.corrected", ("nvmlDeviceGetTotalEccErrors",), (0, 1)),
    ("ecc.aggregate.uncorrected", ("nvmlDeviceGetTotalEccErrors",), (1, 1)),
)
# Not from moment to moment, but a person or a fault can change it at any time.
SLOW: tuple[Number, ...] = (("modes.compute", ("nvmlDeviceGetComputeMode",), ()),)
# Functions that give several values: their names, and whether each is a yes or no.
SEVERAL: calls.Several = {
    "nvmlDeviceGetEccMode": (("ecc.enabled", True), ("ecc.enabled_after_reset", True)),
    "nvmlDeviceGetMigMode": (("modes.mig", True), ("modes.mig_after_reset", True)),
    "nvmlDeviceGetRemappedRows": (
        ("remap.corrected", False),
        ("remap.uncorrected", False),
        ("remap.pending", True),
        ("remap.failed", True),
    ),
}
FIELDS = fields.Fields([(field, 0) for field in fields.ONCE])
# Questions for ports that were asked before: another GPU has the same links.
PORTS: dict[tuple[fields.Asked, ...], fields.Fields] = {}


def reading(handle: Any, watch: Watch, lasting: Lasting, *, brief: bool) -> calls.Gpu:  # noqa: ANN401 - a handle
    """Return what the GPU says; *brief* leaves out what does not change within seconds."""
    gpu = calls.Gpu(handle)
    gpu.put("pci", calls.address(gpu.call("pci", ("nvmlDeviceGetPciInfo",))))
    watch.gpu = gpu.said.get("pci", watch.gpu)
    gpu.numbers(CHANGING)
    _memory(gpu)
    _fields(gpu)
    _links(gpu)
    if not brief:
        lasting.stand(gpu, _slow)
        lasting.add(gpu)
    return gpu


def _slow(gpu: calls.Gpu) -> None:
    gpu.numbers(SLOW)
    gpu.several(SEVERAL)
    persistence = gpu.call("modes.persistence", ("nvmlDeviceGetPersistenceMode",))
    gpu.put("modes.persistence", None if persistence is None else bool(persistence))
    _sram(gpu)
    _retired(gpu)
    fabric(gpu)


def _memory(gpu: calls.Gpu) -> None:
    if info := gpu.call("memory", ("nvmlDeviceGetMemoryInfo",), pynvml.nvmlMemory_v2):
        gpu.put("memory.used_bytes", info.used)
        gpu.put("memory.reserved_bytes", info.reserved)
    elif gpu.failed["memory"] in calls.TOO_OLD:
        # The first version counts the driver's reserve as used.
        info = gpu.call("memory", ("nvmlDeviceGetMemoryInfo",))
    gpu.put("memory.total_bytes", info and info.total)
    rates = gpu.call("utilisation_percent", ("nvmlDeviceGetUtilizationRates",))
    gpu.put("utilisation_percent", rates and rates.gpu)


def _fields(gpu: calls.Gpu) -> None:
    for field, _, failed, value in _asked(gpu, "fields", FIELDS):
        name = fields.ONCE[field]
        gpu.put(name, value)
        if failed:
            gpu.failed[name] = failed


def _asked(gpu: calls.Gpu, name: str, question: fields.Fields) -> list[fields.Told]:
    return calls.get(gpu.failed, name, lambda: list(question.ask(gpu.handle))) or []


def _links(gpu: calls.Gpu) -> None:
    """Read each NVLink; error counters only of links that have any."""
    told = gpu.said.get("nvlink", {})
    number = min(told.get("count", 0), MOST_LINKS)
    links: list[dict[str, Any]] = [{"link": link, "errors": {}} for link in range(number)]
    if not links:
        return
    fifth = told.get("version", 0) >= NVLINK_5
    _ports(gpu, links, fields.WIRE if fifth else fields.STATE, range(number))
    for entry in links:
        if "active" not in entry:
            _state(gpu, entry)
    if odd := [entry["link"] for entry in links if fifth and entry["errors"]]:
        _ports(gpu, links, fields.MORE, odd)
    elif not fifth and any(told.get(name) != 0 for name in LINK_ERRORS):
        _link_errors(gpu, links)
    gpu.put("nvlink.links", links)


def _state(gpu: calls.Gpu, entry: dict[str, Any]) -> None:
    """Ask one link by the call of its own, as a driver without the field must be."""
    state = calls.get({}, "", pynvml.nvmlDeviceGetNvLinkState, gpu.handle, entry["link"])
    entry["active"] = None if state is None else bool(state)


def _ports(
    gpu: calls.Gpu, links: Sequence[dict[str, Any]], names: Mapping[int, str], of: Iterable[int]
) -> None:
    asked = tuple((field, link) for link in of for field in names)
    if asked not in PORTS:
        PORTS[asked] = fields.Fields(asked)
    for field, link, failed, value in _asked(gpu, "nvlink.errors", PORTS[asked]):
        if field in fields.STATE and not failed:
            links[link]["active"] = bool(value)
        elif value:
            links[link]["errors"][names[field]] = value


def _link_errors(gpu: calls.Gpu, links: Sequence[dict[str, Any]]) -> None:
    for entry in links:
        for counter, name in enumerate(LINK_ERRORS):
            if value := calls.get(
                {}, "", pynvml.nvmlDeviceGetNvLinkErrorCounter, gpu.handle, entry["link"], counter
            ):
                entry["errors"][name] = value


def _sram(gpu: calls.Gpu) -> None:
    status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
    status.version = pynvml.nvmlEccSramErrorStatus_v1
    name = "ecc.sram_threshold_exceeded"
    if gpu.call(name, ("nvmlDeviceGetSramEccErrorStatus",), ctypes.byref(status)) is None:
        return
    gpu.put(name, bool(status.bThresholdExceeded))
    for lifetime in ("volatile", "aggregate"):
        uncorrected = sum(getattr(status, f"{lifetime}Unc{kind}") for kind in ("Parity", "SecDed"))
        gpu.put(f"ecc.sram_{lifetime}.corrected", getattr(status, f"{lifetime}Cor"))
        gpu.put(f"ecc.sram_{lifetime}.uncorrected", uncorrected)


def _retired(gpu: calls.Gpu) -> None:
    for cause, name in enumerate(("retired.single_bit", "retired.double_bit")):
        pages = gpu.call(name, ("nvmlDeviceGetRetiredPages",), cause)
        gpu.put(name, None if pages is None else len(pages))
    pending = gpu.call("retired.pending", ("nvmlDeviceGetRetiredPagesPendingStatus",))
    gpu.put("retired.pending", None if pending is None else bool(pending))


def fabric(gpu: calls.Gpu) -> None:
    """Read the fabric in the newest of its three forms that the library knows."""
    for function, info in _forms():
        gpu.failed.pop("fabric", None)
        if gpu.call("fabric", (function,), ctypes.byref(info)) is not None:
            gpu.put("fabric.state", info.state)
            gpu.put("fabric.status", info.status)
            gpu.put("fabric.clique", info.cliqueId)
            gpu.put("fabric.cluster", _uuid(bytes(info.clusterUuid)))
            gpu.put("fabric.health_mask", getattr(info, "healthMask", None))
            gpu.put("fabric.health", getattr(info, "healthSummary", None))
        if gpu.failed.get("fabric", 0) not in calls.TOO_OLD:
            return


def _forms() -> Sequence[tuple[str, Any]]:
    three, two = pynvml.c_nvmlGpuFabricInfo_v3_t(), pynvml.c_nvmlGpuFabricInfo_v2_t()
    three.version, two.version = pynvml.nvmlGpuFabricInfo_v3, pynvml.nvmlGpuFabricInfo_v2
    return (
        ("nvmlDeviceGetGpuFabricInfoV", three),
        ("nvmlDeviceGetGpuFabricInfoV", two),
        ("nvmlDeviceGetGpuFabricInfo", pynvml.c_nvmlGpuFabricInfo_t()),
    )


def _uuid(raw: bytes) -> str:
    """Return a UUID as it is written everywhere else, so that it is known as one."""
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def inforom(gpu: calls.Gpu) -> str | None:
    """Return whether the checksums of the InfoROM are right; reads its flash."""
    failed: calls.Failed = {}
    calls.get(failed, "inforom", pynvml.nvmlDeviceValidateInforom, gpu.handle)
    if "inforom" not in failed:
        return "valid"
    if failed["inforom"] == CORRUPTED_INFOROM:
        return "corrupted"
    gpu.failed["inforom_state"] = failed["inforom"]
    return None


def pair(one: Any, other: Any) -> dict[str, int | None]:  # noqa: ANN401 - handles
    """Return how far apart two GPUs are, and whether they reach each other."""
    failed: calls.Failed = {}
    ancestor = calls.get(failed, "", pynvml.nvmlDeviceGetTopologyCommonAncestor, one, other)
    nvlink = calls.get(failed, "", pynvml.nvmlDeviceGetP2PStatus, one, other, 2)
    read = calls.get(failed, "", pynvml.nvmlDeviceGetP2PStatus, one, other, 0)
    return {"ancestor": ancestor, "nvlink": nvlink, "peer_read": read}
