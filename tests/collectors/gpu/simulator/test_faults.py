"""Each fault a scenario can state comes out of the call that would show it on a real node."""

import threading
import time
from typing import Any

import pynvml as p  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from tests.collectors.gpu.simulator import snapshot
from tests.collectors.gpu.simulator.simulated import Simulated, code

H100 = 'model = "h100-sxm"\n'

# What is written, and what of the snapshot it changes: GPU, key, value.
FAULTS: dict[str, tuple[str, int, str, Any]] = {
    "hot": ("[gpu.5.temperature]\ngpu_c = 91", 5, "temperature", 91),
    "no margin left": ("[gpu.5.temperature]\nmargin_c = -3", 5, "margin", -3),
    "old call says the same": ("[gpu.5.temperature]\ngpu_c = 91", 5, "old_temperature", 91),
    "event reasons": ("[gpu.5.clocks]\nreasons = 0x48", 5, "reasons", 0x48),
    "throttle reasons, old name": (
        "[gpu.5.clocks]\nreasons = 0x48",
        5,
        "throttle_reasons",
        0x48,
    ),
    "narrow link": ("[gpu.1.pcie]\nwidth = 8", 1, "width", 8),
    "busy": (
        "[gpu.'*']\nutilization = 97",
        7,
        "utilization",
        {"gpu": 97, "memory": 0},
    ),
    "all but one busy": (
        "[gpu.'*']\nutilization = 97\n[gpu.2]\nutilization = 0",
        2,
        "utilization",
        {"gpu": 0, "memory": 0},
    ),
    "DRAM errors": ("[gpu.2.ecc.volatile]\ndram_uncorrected = 7", 2, "ecc.1.0.2", 7),
    "SRAM errors are summed": (
        "[gpu.2.ecc.aggregate]\nsram_parity = 2\nsram_secded = 3",
        2,
        "ecc.1.1",
        5,
    ),
    "rows": ("[gpu.2.remap]\nuncorrected = 2\npending = 1", 2, "remapped", [0, 2, 1, 0]),
    "row spares": (
        "[gpu.2.remap]\nmax = 2559\nnone = 1",
        2,
        "histogram",
        {"max": 2559, "high": 0, "partial": 0, "low": 0, "none": 1},
    ),
    "link down": ("[gpu.7.nvlink.link.4]\nactive = false", 7, "link.4", 0),
    "link replays": ("[gpu.7.nvlink.link.4]\nreplays = 12", 7, "link_error.4.0", 12),
    "past the last link": ("", 7, "link.18", "error 2"),
    "MIG": ("[gpu.0.mig]\ncurrent = 1\npending = 1", 0, "mig", [1, 1]),
    "persistence off": ("[gpu.0]\npersistence = 0", 0, "persistence", 0),
    "GSP off": ("[gpu.0.gsp]\nenabled = 0", 0, "gsp_version", "error 3"),
    "damaged InfoROM": ("[gpu.0]\ninforom_valid = false", 0, "inforom_valid", "error 14"),
    "serial that is no text": ('[gpu.0]\nserial = {hex = "fffe3132"}', 0, "serial", "not text"),
    "one call of one GPU": (
        "[gpu.4.call.nvmlDeviceGetPowerUsage]\nreturns = 999",
        4,
        "power",
        "error 999",
    ),
    "one call of every GPU": (
        "[call.nvmlDeviceGetPowerUsage]\nreturns = 4",
        6,
        "power",
        "error 4",
    ),
    "lost": ("[gpu.3]\nlost = true", 3, "handle", "error 15"),
    "no handle": (
        "[gpu.1.call.nvmlDeviceGetHandleByIndex_v2]\nreturns = 999",
        1,
        "handle",
        "error 999",
    ),
    "every call": ("[gpu.4.call.'*']\nreturns = 16", 4, "handle", "error 16"),
}
# The same for fields: GPU, snapshot's table, field and scope, value.
FIELDS: dict[str, tuple[str, int, str, str, Any]] = {
    "recovery action": ("[gpu.2]\nrecovery_action = 4", 2, "fields", "230.0", 4),
    "memory temperature": ("[gpu.2.temperature]\nmemory_c = 97", 2, "fields", "82.0", 97),
    "negative limits": ("", 2, "fields", "193.0", -8),
    "a field's own code": ("[gpu.2.field.82]\nreturns = 999", 2, "fields", "82.0", "error 999"),
    "a field's own value": ("[gpu.2.field.'219.4']\nvalue = 6", 2, "link_fields", "219.4", 6),
    "no port counters before NVLink 5": ("", 2, "link_fields", "219.0", "error 3"),
    "speed": ("", 2, "link_fields", "164.4", 26562),
    "state of a link": (
        "[gpu.2.nvlink.link.4]\nactive = false",
        2,
        "link_fields",
        "165.4",
        0,
    ),
    "totals over links": (
        "[gpu.2.nvlink.link.4]\nreplays = 3\n[gpu.2.nvlink.link.5]\nreplays = 4",
        2,
        "fields",
        "52.0",
        7,
    ),
    "pending row": ("[gpu.2.remap]\npending = 1", 2, "fields", "144.0", 1),
    "time in software power cap, in ns": (
        "[gpu.2.clocks]\npower_cap_us = 5",
        2,
        "fields",
        "74.0",
        5000,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str, simulated: Simulated) -> None:
    """What the scenario states is what the binding returns, for that GPU."""
    text, index, key, expected = FAULTS[name]
    simulated(H100 + text)
    assert expected == snapshot.take()["gpus"][index][key]


OF_ONE_GPU = [
    name
    for name, (text, *_) in FAULTS.items()
    if text.startswith("[gpu.") and "[gpu.'*']" not in text
]


@pytest.mark.parametrize("name", OF_ONE_GPU)
def test_the_others_stay_healthy(name: str, simulated: Simulated) -> None:
    """A fault of one GPU leaves the last healthy one as it is without any fault."""
    text, index, _, _ = FAULTS[name]
    other = 0 if index else 1
    simulated(H100)
    expected = snapshot.take()["gpus"][other]
    p.nvmlShutdown()
    simulated(H100 + text)
    assert expected == snapshot.take()["gpus"][other]


@pytest.mark.parametrize("name", FIELDS)
def test_field(name: str, simulated: Simulated) -> None:
    """Fields have a code and a type each, and one call brings them all."""
    text, index, table, field, expected = FIELDS[name]
    simulated(H100 + text)
    assert expected == snapshot.take()["gpus"][index][table][field]


def test_port_counters_of_nvlink_5(simulated: Simulated) -> None:
    """Blackwell counts per port: zero unless stated, and no error counters of the old kind."""
    simulated('model = "b200"\n[gpu.2.nvlink.link.4]\nsymbol_errors = 9')
    gpu = snapshot.take()["gpus"][2]
    fields = gpu["link_fields"]
    expected = (9, 0, "error 2", "error 3")
    assert expected == (
        fields["221.4"],
        fields["221.0"],
        fields["221.18"],
        gpu["link_error.4.0"],
    )


def test_retired_pages(simulated: Simulated) -> None:
    """A GPU before Ampere lists its retired pages; later ones do not know the call."""
    simulated('model = "t4"\n[gpu.0.retired]\ndouble_bit = [0x2f000, 0x31000]\npending = 1')
    gpu = snapshot.take()["gpus"][0]
    assert ([], [0x2F000, 0x31000], 1) == (
        gpu["retired.0"],
        gpu["retired.1"],
        gpu["retired_pending"],
    )


def test_fabric_in_progress(simulated: Simulated) -> None:
    """A fabric that is not ready is told by state and status, and NVLink peers are unreachable."""
    simulated(H100 + "[gpu.'*'.fabric]\nstate = 2\nstatus = 27")
    seen = snapshot.take()
    fabric = seen["gpus"][0]["fabric"]
    assert (2, 27, 5) == (fabric["state"], fabric["status"], seen["pairs"][1][3])


def test_topology(simulated: Simulated) -> None:
    """Peers are reached by switch, inside the NUMA node, or across; oneself is internal."""
    simulated(H100 + "[gpu.0.pcie]\nswitch = 3\n[gpu.1.pcie]\nswitch = 3")
    assert [0, 10, 40, 40, 50, 50, 50, 50] == [pair[0] for pair in snapshot.take()["pairs"]]


def test_processes(simulated: Simulated) -> None:
    """Processes come in two steps of size and list; names by pid, memory that is not told None."""
    simulated(
        H100
        + "[[gpu.6.process]]\npid = 4242\nused_bytes = 71_000_000_000\nname = 'python3'\n"
        + "[[gpu.6.process]]\npid = 4243\n[[gpu.6.process]]\npid = 99\ngraphics = true\n"
    )
    gpu = snapshot.take()["gpus"][6]
    compute = [(one["pid"], one["usedGpuMemory"]) for one in gpu["compute"]]
    graphics = [one["pid"] for one in gpu["graphics"]]
    names = p.nvmlSystemGetProcessName(4242), snapshot.ask(p.nvmlSystemGetProcessName, 1)
    expected = ([(4242, 71_000_000_000), (4243, None)], [99], ("python3", "error 6"))
    assert expected == (compute, graphics, names)


@pytest.mark.parametrize("number", [4, 9, 12, 18, 999])
def test_init_errors(number: int, simulated: Simulated) -> None:
    """Init fails with each code; the library's own version can be read all the same."""
    text = f"driver = '570.86.15'\n[call.nvmlInitWithFlags]\nreturns = {number}"
    simulated(H100 + text, start=False)
    with pytest.raises(p.NVMLError) as raised:
        p.nvmlInit()
    assert (number, "13.570.86.15") == (code(raised.value), p.nvmlSystemGetNVMLVersion())


def test_before_init_and_after_shutdown(simulated: Simulated) -> None:
    """Without init each call says UNINITIALIZED; init counts, and the last shutdown ends it."""
    simulated(H100, start=False)
    before = snapshot.ask(p.nvmlDeviceGetCount)
    p.nvmlInit()
    p.nvmlInit()
    p.nvmlShutdown()
    between = snapshot.ask(p.nvmlDeviceGetCount)
    p.nvmlShutdown()
    assert ("error 1", 8, "error 1") == (before, between, snapshot.ask(p.nvmlDeviceGetCount))


def test_handles_by_name(simulated: Simulated) -> None:
    """A GPU is found by UUID, serial and address in any case; one that is not there is not."""
    simulated(H100)
    gpu = snapshot.take()["gpus"][3]
    found = [
        p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByUUID(gpu["uuid"])),
        p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleBySerial(gpu["serial"].encode())),
        p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByPciBusId(gpu["pci"]["busId"].lower())),
        snapshot.ask(p.nvmlDeviceGetHandleByUUID, "GPU-none"),
        snapshot.ask(p.nvmlDeviceGetHandleByIndex, 8),
    ]
    assert [3, 3, 3, "error 6", "error 2"] == found


def test_lost_mid_run(simulated: Simulated) -> None:
    """A handle from before the loss says GPU_IS_LOST after it; the others go on."""
    simulator = simulated(H100 + "[[step]]\nat_s = 12\n[step.gpu.3]\nlost = true")
    third, fourth = p.nvmlDeviceGetHandleByIndex(3), p.nvmlDeviceGetHandleByIndex(4)
    before = snapshot.ask(p.nvmlDeviceGetTemperature, third, 0)
    simulator.origin_s -= 12
    after = [snapshot.ask(p.nvmlDeviceGetTemperature, one, 0) for one in (third, fourth)]
    assert (32, ["error 15", 32]) == (before, after)


def test_steps_lie_over_each_other(simulated: Simulated) -> None:
    """A later step changes what it names and leaves what an earlier one changed."""
    simulator = simulated(
        H100
        + "[[step]]\nat_s = 5\n[step.gpu.0.temperature]\ngpu_c = 60\nmargin_c = 27\n"
        + "[[step]]\nat_s = 9\n[step.gpu.'*'.temperature]\ngpu_c = 70\n"
    )
    handle = p.nvmlDeviceGetHandleByIndex(0)
    seen = []
    for _ in range(3):
        margin = p.nvmlDeviceGetMarginTemperature(handle)
        seen.append((p.nvmlDeviceGetTemperatureV(handle, 0), margin))
        simulator.origin_s -= 5
    assert [(29, 58), (60, 27), (70, 27)] == seen


def test_blocked_call_leaves_other_threads_running(simulated: Simulated) -> None:
    """A call that blocks for ever ends when a later step says so, and holds no lock of Python."""
    simulator = simulated(
        H100
        + "[gpu.4.call.nvmlDeviceGetPowerUsage]\nblocks_s = -1\n"
        + "[[step]]\nat_s = 100\n[step.gpu.4.call.nvmlDeviceGetPowerUsage]\nblocks_s = 0\n"
    )
    handle = p.nvmlDeviceGetHandleByIndex(4)
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(p.nvmlDeviceGetPowerUsage(handle)))
    thread.start()
    others = [p.nvmlDeviceGetPowerUsage(p.nvmlDeviceGetHandleByIndex(n)) for n in (0, 5)]
    blocked = thread.is_alive()
    simulator.origin_s -= 100
    thread.join(5)
    assert (True, [68570, 68110], [66660]) == (blocked, others, answers)


def test_a_call_blocks_as_long_as_stated(simulated: Simulated) -> None:
    """A finite block delays the answer and then gives it."""
    simulated(H100 + "[gpu.4.call.nvmlDeviceGetPowerUsage]\nblocks_s = 0.2")
    handle = p.nvmlDeviceGetHandleByIndex(4)
    start = time.monotonic()
    answer = snapshot.ask(p.nvmlDeviceGetPowerUsage, handle)
    assert (True, True) == (time.monotonic() - start >= 0.2, isinstance(answer, int))


def test_settings(simulated: Simulated) -> None:
    """What root sets is kept as an action and shown by the getter; what is out of range is not."""
    simulator = simulated(H100 + "[gpu.1.call.nvmlDeviceSetGpuLockedClocks]\nreturns = 4")
    first, second = p.nvmlDeviceGetHandleByIndex(0), p.nvmlDeviceGetHandleByIndex(1)
    p.nvmlDeviceSetPersistenceMode(first, 0)
    p.nvmlDeviceSetPowerManagementLimit(first, 500_000)
    p.nvmlDeviceSetGpuLockedClocks(first, 210, 1400)
    p.nvmlDeviceResetGpuLockedClocks(first)
    seen = [
        snapshot.ask(p.nvmlDeviceSetPowerManagementLimit, first, 900_000),
        snapshot.ask(p.nvmlDeviceSetGpuLockedClocks, second, 210, 1400),
        p.nvmlDeviceGetPersistenceMode(first),
        p.nvmlDeviceGetEnforcedPowerLimit(first),
    ]
    expected = [
        ("nvmlDeviceSetPersistenceMode", 0, 0),
        ("nvmlDeviceSetPowerManagementLimit", 0, 500_000),
        ("nvmlDeviceSetGpuLockedClocks", 0, 210, 1400),
        ("nvmlDeviceResetGpuLockedClocks", 0),
    ]
    assert (["error 2", "error 4", 0, 500_000], expected) == (seen, simulator.actions)


def test_symbols_missing_as_in_driver_535(simulated: Simulated) -> None:
    """Newer functions are not found, newer fields invalid, and the old calls still answer."""
    simulated(H100 + 'driver = "535.261.03"\nmissing_symbols = "535"')
    gpu = snapshot.take()["gpus"][0]
    words = ("temperature", "margin", "fabric", "platform", "repair", "old_temperature")
    expected = (["error 13"] * 5 + [29], "error 2", -2)
    fields = gpu["fields"]
    assert expected == ([gpu[word] for word in words], fields["230.0"], fields["194.0"])
