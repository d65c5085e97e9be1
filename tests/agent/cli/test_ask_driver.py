"""`gpudiag run --ask-driver`: a person has the driver asked that the kernel log holds back."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recording import write

DRIVER = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 580.105.08\n"}
HUNG = (
    "NVRM: Xid (PCI:0000:9b:00): 119, pid=70411, name=nvidia-smi, Timeout after 6s of waiting for "
    "RPC response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) sequence 77 (0x2080a097 0x4)"
)
HELD_BACK = "the driver is not asked again until reboot, or by a person with --ask-driver"


@pytest.mark.parametrize(
    ("words", "expected"),
    [((), ("unknown", True)), (("--ask-driver",), ("fault", False))],
)
def test_the_driver_is_asked_by_a_person_alone(
    tmp_path: Path, words: tuple[str, ...], expected: tuple[str, bool]
) -> None:
    """After a GSP timeout the page names the option, and with it stands what the driver says."""
    said = {"init_error": 18, "nvml": "12.570.86.15"}
    write(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": said}])
    (tmp_path / "kmsg.log").write_text(f"3,1,60000000,-;{HUNG}\n")
    argv = [sys.executable, "-I", "-m", "agent", "run", "--json", "--check", "driver.answers"]
    argv += ["--replay", str(tmp_path), *words]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    ((check,),) = [stage["checks"] for stage in json.loads(ran.stdout)["stages"]]

    assert expected == (check["verdict"], check["message"].endswith(HELD_BACK))
