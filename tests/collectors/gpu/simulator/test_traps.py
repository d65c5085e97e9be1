"""Traps of the binding, each seen on it: what code that asks NVML has to be ready for."""

import ctypes
import json
import pickle
from subprocess import run
from sys import executable

import pynvml as p  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from tests.collectors.gpu.simulator import snapshot
from tests.collectors.gpu.simulator.simulated import Simulated, planned

H100 = 'model = "h100-sxm"\n'


def test_errors_cannot_be_hashed() -> None:
    """A set or a dict key of NVML errors raises TypeError: __eq__ stands without __hash__."""
    with pytest.raises(TypeError) as raised:
        hash(p.NVMLError(15))
    assert "unhashable type: 'NVMLError_GpuIsLost'" == str(raised.value)


def test_errors_cannot_be_compared_with_others() -> None:
    """Comparing with None raises: the other side's `value` is read unseen."""
    with pytest.raises(AttributeError) as raised:
        _ = p.NVMLError(15) == None  # noqa: E711 - this very comparison is the trap
    assert "'NoneType' object has no attribute 'value'" == str(raised.value)


def test_a_library_mismatch_is_no_nvml_error() -> None:
    """The process getters can raise an error that `except NVMLError` lets through."""
    assert not issubclass(p.NVMLLibraryMismatchError, p.NVMLError)


def test_damaged_text_raises_unicode_errors(simulated: Simulated) -> None:
    """Serial bytes that are no UTF-8 raise UnicodeDecodeError out of the getter."""
    simulated(H100 + '[gpu.0]\nserial = { hex = "ff3132" }')
    handle = p.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(UnicodeDecodeError) as raised:
        p.nvmlDeviceGetSerial(handle)
    assert b"\xff12" == raised.value.object


def test_the_platform_guid_is_binary(simulated: Simulated) -> None:
    """A character array cuts the GUID at its first zero; the raw bytes are all there."""
    simulated('model = "gb200"')
    info = p.c_nvmlPlatformInfo_v2_t()
    p.nvmlDeviceGetPlatformInfo(p.nvmlDeviceGetHandleByIndex(3), ctypes.byref(info))
    place = type(info).ibGuid
    raw = ctypes.string_at(ctypes.addressof(info) + place.offset, place.size)
    cut = ctypes.string_at(ctypes.addressof(info) + place.offset)
    assert ("6e1b5be2a94dc7103600000000000003", 9) == (raw.hex(), len(cut))


def test_one_version_is_bytes(simulated: Simulated) -> None:
    """The GSP firmware's version is bytes or str by release; all other texts are str."""
    simulated(H100)
    handle = p.nvmlDeviceGetHandleByIndex(0)
    version = p.nvmlDeviceGetGspFirmwareVersion(handle)
    assert (b"580.105.08", str) == (version, type(p.nvmlDeviceGetVbiosVersion(handle)))


def test_the_text_of_18_is_the_bindings_own() -> None:
    """nvidia-smi says "Driver/library version mismatch" for the same code: match codes."""
    assert "RM has detected an NVML/RM version mismatch." == str(p.NVMLError(18))


def test_texts_that_the_library_has_to_give(simulated: Simulated) -> None:
    """A code without text in the binding is looked up, so its text depends on what is loaded."""
    known = p.NVMLError._errcode_to_string
    known.pop(19, None)
    p.nvmlLib = None
    p._nvmlGetFunctionPointer_cache.clear()
    without = str(p.NVMLError(19))
    simulated(H100)
    with_library = str(p.NVMLError(19))
    known.pop(19, None)
    assert ("NVML Error with code 19", True) == (
        without,
        "In use by another client" in with_library,
    )


def test_errors_survive_a_pipe() -> None:
    """An error can be pickled, its number with it."""
    back = pickle.loads(pickle.dumps(p.NVMLError(15)))  # noqa: S301 - written in this line
    assert (p.NVMLError_GpuIsLost, 15) == (type(back), back.value)


def test_the_fabric_structure_is_the_older_one(simulated: Simulated) -> None:
    """c_nvmlGpuFabricInfoV_t has no health summary; version 3 has to be made by name."""
    simulated('model = "b200"')
    gpu = snapshot.take()["gpus"][0]
    default, third = p.c_nvmlGpuFabricInfoV_t(), p.c_nvmlGpuFabricInfo_v3_t()
    expected = (36, 40, 128, 1)
    assert expected == (
        ctypes.sizeof(default),
        ctypes.sizeof(third),
        gpu["fabric_v2"]["healthMask"],
        gpu["fabric"]["healthSummary"],
    )


def test_a_wrong_structure_version_is_refused(simulated: Simulated) -> None:
    """A structure whose version the library does not know gives ARGUMENT_VERSION_MISMATCH."""
    simulated(H100)
    info = p.c_nvmlGpuFabricInfo_v3_t()
    info.version = 0x09000028
    handle = p.nvmlDeviceGetHandleByIndex(0)
    assert "error 25" == snapshot.ask(p.nvmlDeviceGetGpuFabricInfoV, handle, ctypes.byref(info))


def test_process_entries_of_driver_535_43(simulated: Simulated) -> None:
    """Longer entries under the same version scramble every pid but the first: check them."""
    simulated(
        H100
        + 'driver = "535.54.03"\nquirks = ["process-entries-535.43"]\n'
        + "[[gpu.0.process]]\npid = 4242\nused_bytes = 7\n[[gpu.0.process]]\npid = 4243\n"
    )
    listed = p.nvmlDeviceGetComputeRunningProcesses(p.nvmlDeviceGetHandleByIndex(0))
    pids = [one.pid for one in listed]
    assert (2, 4242, False) == (len(pids), pids[0], pids[1] == 4243)


def test_memory_without_a_version_counts_the_reserve_as_used(simulated: Simulated) -> None:
    """An idle H100 has 480 MiB "used" by the first form, and nothing by the second."""
    simulated(H100)
    gpu = snapshot.take()["gpus"][0]
    assert (502_792_192, 0) == (gpu["memory_v1"]["used"], gpu["memory"]["used"])


def test_one_p2p_index_is_a_tuple(simulated: Simulated) -> None:
    """NVML_P2P_CAPS_INDEX_READ has a stray comma in the binding and is refused by ctypes."""
    simulated(H100)
    handles = p.nvmlDeviceGetHandleByIndex(0), p.nvmlDeviceGetHandleByIndex(1)
    with pytest.raises(ctypes.ArgumentError):
        p.nvmlDeviceGetP2PStatus(*handles, p.NVML_P2P_CAPS_INDEX_READ)
    assert 0 == p.nvmlDeviceGetP2PStatus(*handles, 0)


def test_index_order_is_no_identity(simulated: Simulated) -> None:
    """Two boots can number the same GPUs otherwise: the UUID stays, the index does not."""
    simulated(H100)
    uuids = [gpu["uuid"] for gpu in snapshot.take()["gpus"]]
    p.nvmlShutdown()
    swapped = "".join(f'[gpu.{i}]\nuuid = "{uuids[1 - i]}"\n' for i in (0, 1))
    simulated(H100 + swapped)
    handle = p.nvmlDeviceGetHandleByUUID(uuids[0])
    assert 1 == p.nvmlDeviceGetIndex(handle)


MISUSED = """
import json, sys
import pynvml as p
from collectors.gpu.simulator import library
simulator = library.install(json.loads(sys.argv[1]))
p.nvmlInit()
try:
    p.nvmlDeviceGetName({handle})
    said = 0
except p.NVMLError as error:
    said = error.value
print(json.dumps([said, simulator.errors]))
"""
NULL = "nvmlDeviceGetName was given a NULL handle: the real library can crash"
NOBODYS = "nvmlDeviceGetName was given 0x1234, which is no handle: the real library can crash"


@pytest.mark.parametrize(("handle", "error"), [("None", NULL), ("0x1234", NOBODYS)])
def test_a_failed_handle_is_recorded(handle: str, error: str) -> None:
    """The real library crashes on a NULL handle; here it is an error that a test fails by."""
    argv = [executable, "-c", MISUSED.format(handle=handle), json.dumps(planned(H100))]
    ran = run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert [2, [error]] == json.loads(ran.stdout)
