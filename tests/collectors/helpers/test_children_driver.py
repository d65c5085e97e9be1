"""The verb that opens the driver's control node."""

import os
import stat
from pathlib import Path

import pytest

from collectors.helpers.children import driver


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for /dev."""
    monkeypatch.setattr(driver, "DEV", str(tmp_path))
    return tmp_path


def test_no_node_is_told_by_its_errno(dev: Path) -> None:
    """ENOENT: nobody has used the driver yet."""
    (dev / "null").touch()
    expected = {"error": "ENOENT", "user": os.geteuid(), "nodes": {}}

    assert expected == driver.device_nodes()


def test_only_the_drivers_nodes_are_listed(dev: Path) -> None:
    """Names that merely begin alike are none of its nodes."""
    for name in ("nvidia0", "nvidia-uvm", "nvidiactl", "nvidia-caps", "nvidia0.old"):
        (dev / name).touch(mode=0o640)
    got = driver.device_nodes()

    assert got["error"] is None
    assert ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"] == list(got["nodes"])
    assert got["nodes"]["/dev/nvidia0"]["mode"] == 0o640


@pytest.mark.root
def test_a_node_without_its_driver_is_enxio(dev: Path) -> None:
    """The real kernel: major 195 belongs to nobody on a machine without the module."""
    if Path("/sys/module/nvidia").exists():
        pytest.skip("the module nvidia is loaded here, so the node works")
    os.mknod(dev / "nvidiactl", stat.S_IFCHR | 0o666, os.makedev(195, 255))

    assert driver.device_nodes()["error"] == "ENXIO"


@pytest.mark.root
def test_a_plain_user_without_rights_is_eacces(dev: Path) -> None:
    """Permission bits answer EACCES, which tells them from a device cgroup's EPERM."""
    (dev / "nvidiactl").touch(mode=0o600)
    for folder in (dev, *dev.parents[:3]):
        if "pytest" in str(folder):
            folder.chmod(0o755)
    os.seteuid(65534)
    try:
        got = driver.device_nodes()
    finally:
        os.seteuid(0)

    assert {"mode": 0o600, "uid": 0, "gid": 0} == got["nodes"]["/dev/nvidiactl"]
    assert (got["error"], got["user"]) == ("EACCES", 65534)
