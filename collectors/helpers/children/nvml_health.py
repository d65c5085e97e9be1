"""One GPU's health by NVML: what changes from moment to moment, and what lasts."""

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls as calls
from collectors.helpers.children import nvml_fields as fields
from collectors.helpers.children.nvml_watch import Watch

MOST_LINKS = 64
NVLINK_5 = 5
CORRUPTED_INFOROM = 14
LINK_ERRORS = ("replays", "recoveries", "crc_flits", "crc_data")

# Name, the functions that give it (an older library knows only the later ones), arguments.
Number = tuple[str, tuple[str, ...], tuple[int, ...]]
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
LASTING: tuple[Number, ...] = (
    ("minor", ("nvmlDeviceGetMinorNumber",), ()),
    ("module_id", ("nvmlDeviceGetModuleId",), ()),
    ("numa_node", ("nvmlDeviceGetNumaNodeId",), ()),
    ("heat.shutdown_c", ("nvmlDeviceGetTemperatureThreshold",), (0,)),
    ("heat.slowdown_c", ("nvmlDeviceGetTemperatureThreshold",), (1,)),
    ("heat.memory_max_c", ("nvmlDeviceGetTemperatureThreshold",), (2,)),
    ("heat.gpu_max_c", ("nvmlDeviceGetTemperatureThreshold",), (3,)),
    ("power.default_limit_mw", ("nvmlDeviceGetPowerManagementDefaultLimit",), ()),
    ("clocks.max_graphics_mhz", ("nvmlDeviceGetMaxClockInfo",), (pynvml.NVML_CLOCK_GRAPHICS,)),
    ("clocks.max_sm_mhz", ("nvmlDeviceGetMaxClockInfo",), (pynvml.NVML_CLOCK_SM,)),
    ("clocks.max_memory_mhz", ("nvmlDeviceGetMaxClockInfo",), (pynvml.NVML_CLOCK_MEM,)),
    ("pcie.max_generation", ("nvmlDeviceGetMaxPcieLinkGeneration",), ()),
    ("pcie.gpu_max_generation", ("nvmlDeviceGetGpuMaxPcieLinkGeneration",), ()),
    ("pcie.max_width", ("nvmlDeviceGetMaxPcieLinkWidth",), ()),
    ("modes.compute", ("nvmlDeviceGetComputeMode",), ()),
)
TEXTS = {
    "uuid": "nvmlDeviceGetUUID",
    "name": "nvmlDeviceGetName",
    "serial": "nvmlDeviceGetSerial",
    "vbios": "nvmlDeviceGetVbiosVersion",
    "inforom": "nvmlDeviceGetInforomImageVersion",
    "board_part": "nvmlDeviceGetBoardPartNumber",
    "modes.gsp_version": "nvmlDeviceGetGspFirmwareVersion",
}
# Functions that give several values: their names, and whether each is a yes or no.
SEVERAL: dict[str, tuple[tuple[str, bool], ...]] = {
    "nvmlDeviceGetPowerManagementLimitConstraints": (
        ("power.min_limit_mw", False),
        ("power.max_limit_mw", False),
    ),
    "nvmlDeviceGetEccMode": (("ecc.enabled", True), ("ecc.enabled_after_reset", True)),
    "nvmlDeviceGetMigMode": (("modes.mig", True), ("modes.mig_after_reset", True)),
    "nvmlDeviceGetGspFirmwareMode": (("modes.gsp", True),),
    "nvmlDeviceGetRemappedRows": (
        ("remap.corrected", False),
        ("remap.uncorrected", False),
        ("remap.pending", True),
        ("remap.failed", True),
    ),
}
HISTOGRAM = {key: f"remap.spares_{key}" for key in ("max", "high", "partial", "low", "none")}

FIELDS = fields.Fields([(field, 0) for field in fields.ONCE])
# Questions for ports that were asked before: another GPU has the same links.
PORTS: dict[tuple[fields.Asked, ...], fields.Fields] = {}


def reading(handle: Any, watch: Watch, *, brief: bool) -> calls.Gpu:  # noqa: ANN401 - a handle
    """Return what the GPU says; *brief* leaves out what does not change within seconds."""
    gpu = calls.Gpu(handle)
    gpu.put("pci", calls.address(gpu.call("pci", ("nvmlDeviceGetPciInfo",))))
    watch.gpu = gpu.said.get("pci", watch.gpu)
    _numbers(gpu, CHANGING)
    _memory(gpu)
    _fields(gpu)
    _links(gpu, brief=brief)
    if not brief:
        _lasting(gpu)
    return gpu


def _lasting(gpu: calls.Gpu) -> None:
    for name, function in TEXTS.items():
        gpu.put(name, calls.text(gpu.call(name, (function,))))
    _numbers(gpu, LASTING)
    for function, names in SEVERAL.items():
        values = gpu.call(names[0][0], (function,)) or ()
        for (name, yes_no), value in zip(names, values, strict=False):
            gpu.put(name, bool(value) if yes_no else value)
    persistence = gpu.call("modes.persistence", ("nvmlDeviceGetPersistenceMode",))
    gpu.put("modes.persistence", None if persistence is None else bool(persistence))
    _sram(gpu)
    _rows(gpu)
    _retired(gpu)
    _fabric(gpu)


def _numbers(gpu: calls.Gpu, numbers: Sequence[Number]) -> None:
    for name, functions, args in numbers:
        gpu.put(name, gpu.call(name, functions, *args))


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


def _links(gpu: calls.Gpu, *, brief: bool) -> None:
    """Read each NVLink; error counters only of links that have any."""
    told = gpu.said.get("nvlink", {})
    links = []
    for link in range(min(told.get("count", 0), MOST_LINKS)):
        entry: dict[str, Any] = {"link": link, "errors": {}}
        state = calls.get({}, "", pynvml.nvmlDeviceGetNvLinkState, gpu.handle, link)
        entry["active"] = None if state is None else bool(state)
        if not brief:
            entry["remote"] = calls.get(
                {}, "", pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, gpu.handle, link
            )
        links.append(entry)
    if told.get("version", 0) >= NVLINK_5:
        _port_errors(gpu, links)
    elif any(told.get(name) != 0 for name in LINK_ERRORS):
        _link_errors(gpu, links)
    gpu.put("nvlink.links", links or None)


def _port_errors(gpu: calls.Gpu, links: Sequence[dict[str, Any]]) -> None:
    _ports(gpu, links, fields.WIRE, range(len(links)))
    if odd := [entry["link"] for entry in links if entry["errors"]]:
        _ports(gpu, links, fields.MORE, odd)


def _ports(
    gpu: calls.Gpu, links: Sequence[dict[str, Any]], names: Mapping[int, str], of: Iterable[int]
) -> None:
    asked = tuple((field, link) for link in of for field in names)
    if asked not in PORTS:
        PORTS[asked] = fields.Fields(asked)
    for field, link, _, value in _asked(gpu, "nvlink.errors", PORTS[asked]):
        if value:
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


def _rows(gpu: calls.Gpu) -> None:
    if rows := gpu.call("remap.spares_max", ("nvmlDeviceGetRowRemapperHistogram",)):
        for key, name in HISTOGRAM.items():
            gpu.put(name, getattr(rows, key))


def _retired(gpu: calls.Gpu) -> None:
    for cause, name in enumerate(("retired.single_bit", "retired.double_bit")):
        pages = gpu.call(name, ("nvmlDeviceGetRetiredPages",), cause)
        gpu.put(name, None if pages is None else len(pages))
    pending = gpu.call("retired.pending", ("nvmlDeviceGetRetiredPagesPendingStatus",))
    gpu.put("retired.pending", None if pending is None else bool(pending))


def _fabric(gpu: calls.Gpu) -> None:
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
