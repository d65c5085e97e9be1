"""One GPU of `nvidia-smi -q -x`, and of a snapshot, in the same words; None is "not available"."""

import re
from typing import Any
from xml.etree.ElementTree import Element

MIB = 1 << 20
SWITCH = {"Enabled": 1, "Disabled": 0, "Yes": 1, "No": 0, "Active": 1, "Not Active": 0}
FABRIC = {"Not Started": 1, "In Progress": 2, "Completed": 3}
HEALTH = {"N/A": 0, "Healthy": 1}

# Our word: the element's path.
NUMBERS = {
    "module_id": "platformInfo/module_id",
    "minor": "minor_number",
    "generation": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "max_generation": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "device_max_generation": "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",
    "width": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "max_width": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "replays": "pci/replay_counter",
    "temperature": "temperature/gpu_temp",
    "margin": "temperature/gpu_temp_tlimit",
    "threshold.0": "temperature/gpu_temp_max_threshold",
    "threshold.1": "temperature/gpu_temp_slow_threshold",
    "threshold.2": "temperature/gpu_temp_max_mem_threshold",
    "threshold.3": "temperature/gpu_temp_max_gpu_threshold",
    **{f"clock.{n}": f"clocks/{w}_clock" for n, w in enumerate(("graphics", "sm", "mem", "video"))},
    **{
        f"max_clock.{n}": f"max_clocks/{w}_clock"
        for n, w in enumerate(("graphics", "sm", "mem", "video"))
    },
    "histogram": "remapped_rows/row_remapper_histogram/row_remapper_histogram_max",
    "corrected_rows": "remapped_rows/remapped_row_corr",
    "uncorrected_rows": "remapped_rows/remapped_row_unc",
    "single_bit_pages": "retired_pages/multiple_single_bit_retirement/retired_count",
    "double_bit_pages": "retired_pages/double_bit_retirement/retired_count",
    "use": "utilization/gpu_util",
    "memory_use": "utilization/memory_util",
}
# A field's number: the element's path, and what its unit is multiplied with.
FIELDS = {
    74: ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", 1000),
    76: ("clocks_event_reasons_counters/clocks_event_reasons_counters_sync_boost", 1000),
    82: ("temperature/memory_temp", 1),
    185: ("gpu_power_readings/average_power_draw", 1000),
    186: ("gpu_power_readings/instant_power_draw", 1000),
    187: ("gpu_power_readings/min_power_limit", 1000),
    188: ("gpu_power_readings/max_power_limit", 1000),
    189: ("gpu_power_readings/default_power_limit", 1000),
    190: ("gpu_power_readings/current_power_limit", 1000),
    193: ("temperature/gpu_temp_max_tlimit_threshold", 1),
    194: ("temperature/gpu_temp_slow_tlimit_threshold", 1),
    195: ("temperature/gpu_temp_max_mem_tlimit_threshold", 1),
    196: ("temperature/gpu_temp_max_gpu_tlimit_threshold", 1),
    269: ("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown", 1000),
    270: ("clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown", 1000),
    271: ("clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake", 1000),
    301: ("remapped_rows/remapped_row_corr_inactive", 1),
    302: ("remapped_rows/remapped_row_unc_inactive", 1),
}
SWITCHES = {
    "persistence": "persistence_mode",
    "mig": "mig_mode/current_mig",
    "ecc": "ecc_mode/current_ecc",
    "idle": "clocks_event_reasons/clocks_event_reason_gpu_idle",
    "rows_pending": "remapped_rows/remapped_row_pending",
    "rows_failed": "remapped_rows/remapped_row_failure",
    "sram_exceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
    "retirement_pending": "retired_pages/pending_retirement",
    "channel_repair": "ecc_errors/channel_repair_pending",
}


def number(text: str | None) -> float | None:
    """Return the number that an element's text begins with."""
    found = re.match(r"-?\d+(\.\d+)?", text or "")
    return float(found[0]) if found else None


def of_xml(gpu: Element) -> dict[str, Any]:
    """Return a GPU of nvidia-smi."""
    total = {f"ecc.{n}": _ecc(gpu, *where) for n, where in enumerate(_LIFETIMES)}
    texts = {
        "name": gpu.findtext("product_name"),
        "vbios": gpu.findtext("vbios_version"),
        "inforom": gpu.findtext("inforom_version/img_version"),
        "board_part_number": gpu.findtext("board_part_number"),
        "gsp_version": gpu.findtext("gsp_firmware_version"),
        "bus": gpu.findtext("pci/pci_bus_id"),
    }
    return {
        **texts,
        "ids": [int(gpu.findtext(f"pci/pci_{k}_id", ""), 16) for k in ("device", "sub_system")],
        **{word: number(gpu.findtext(path)) for word, path in NUMBERS.items()},
        **{
            f"field.{one}": None if (n := number(gpu.findtext(path))) is None else round(n * factor)
            for one, (path, factor) in FIELDS.items()
        },
        **{word: SWITCH.get(gpu.findtext(path, "N/A")) for word, path in SWITCHES.items()},
        **total,
        **{k: number(gpu.findtext(f"fb_memory_usage/{k}")) for k in _MEMORY},
        "fabric": FABRIC.get(gpu.findtext("fabric/state", "")),
        "clique": number(gpu.findtext("fabric/cliqueId")),
        "fabric_health": HEALTH[gpu.findtext("fabric/health/summary", "N/A")],
        "recovery": {"None": 0}[gpu.findtext("gpu_recovery_action", "")],
    }


_MEMORY = ("total", "reserved", "used", "free")
_LIFETIMES = [(k, t) for k in ("corrected", "uncorrected") for t in ("volatile", "aggregate")]


def _ecc(gpu: Element, kind: str, lifetime: str) -> float:
    names = {
        "corrected": ("sram_correctable", "dram_correctable"),
        "uncorrected": (
            "sram_uncorrectable",
            "sram_uncorrectable_parity",
            "sram_uncorrectable_secded",
            "dram_uncorrectable",
        ),
    }[kind]
    return sum(number(gpu.findtext(f"ecc_errors/{lifetime}/{name}")) or 0 for name in names)


def _known(value: Any) -> Any:
    """Return a value, or None where the library says that it has none."""
    return None if value == "error 3" else value


def of_nvml(gpu: dict[str, Any]) -> dict[str, Any]:
    """Return a GPU of a snapshot."""
    fields, fabric = gpu["fields"], _known(gpu["fabric"])
    rows, sram = _known(gpu["remapped"]) or [None] * 4, _known(gpu["sram"])
    same = ("name", "vbios", "inforom", "board_part_number", "gsp_version", "module_id", "minor")
    link = ("generation", "max_generation", "device_max_generation", "width", "max_width")
    more = ("replays", "temperature", "margin", "persistence")
    chosen = [word for word in NUMBERS if word.startswith(("threshold", "clock", "max_clock"))]
    return {
        **{word: _known(gpu[word]) for word in (*same, *link, *more, *chosen)},
        "bus": gpu["pci"]["busId"],
        "ids": [gpu["pci"]["pciDeviceId"], gpu["pci"]["pciSubSystemId"]],
        **{f"field.{one}": _known(fields[f"{one}.0"]) for one in FIELDS},
        "histogram": (_known(gpu["histogram"]) or {}).get("max"),
        "corrected_rows": rows[0],
        "uncorrected_rows": rows[1],
        "rows_pending": rows[2],
        "rows_failed": rows[3],
        **{
            word: None if (pages := _known(gpu[f"retired.{n}"])) is None else len(pages)
            for n, word in enumerate(("single_bit_pages", "double_bit_pages"))
        },
        "retirement_pending": _known(gpu["retired_pending"]),
        "use": gpu["utilization"]["gpu"],
        "memory_use": gpu["utilization"]["memory"],
        "mig": (_known(gpu["mig"]) or [None])[0],
        "ecc": gpu["ecc"][0],
        "idle": gpu["reasons"] & 1,
        "sram_exceeded": sram and sram["bThresholdExceeded"],
        "channel_repair": (_known(gpu["repair"]) or [None])[0],
        **{f"ecc.{n}": gpu[f"ecc.{n // 2}.{n % 2}"] for n in range(4)},
        **{k: (gpu["memory"][k] + MIB // 2) // MIB for k in _MEMORY},
        "fabric": fabric and fabric["state"],
        "clique": fabric and fabric["cliqueId"],
        "fabric_health": fabric["healthSummary"] if fabric else 0,
        "recovery": fields["230.0"],
    }
