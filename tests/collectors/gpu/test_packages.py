"""The driver's packages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.packages import ARGV, MOST, DriverPackages, Package, collect, installed
from collectors.node.live import Live
from tests.recording import recorded

GPU = {"/sys/bus/pci/devices/0000:4e:00.0/uevent": "PCI_CLASS=30200\nPCI_ID=10DE:2330\n"}
DPKG = (
    "libnvidia-compute-550 550.54.15-0ubuntu0.22.04.1 installed\n"
    "libnvidia-compute-550 550.54.15-0ubuntu0.22.04.1 installed\n"
    "nvidia-dkms-550-server 1:550.54.15+dfsg-2 installed\n"
    "nvidia-driver-535 535.183.01-0ubuntu1 config-files\n"
    "nvidia-driver-assistant 0.21.57.08-1 installed\n"
    "nvidia-driver-binary  not-installed\n"
    "nvidia-kernel-common 20220217+3 installed\n"
)
OF_DPKG = (
    Package(name="libnvidia-compute-550", version="550.54.15"),
    Package(name="nvidia-dkms-550-server", version="550.54.15"),
)
RPM = "kmod-nvidia-open-dkms 580.95.05 installed\n"
OF_RPM = (Package(name="kmod-nvidia-open-dkms", version="580.95.05"),)
TOOLS = tuple(ARGV)


def command(tool: str, stdout: str, **more: Any) -> dict[str, Any]:
    return {"argv": [tool, *ARGV[tool]], "stdout": stdout, **more}


@pytest.mark.parametrize(
    ("files", "commands", "expected"),
    [
        (GPU, [command("dpkg-query", DPKG, status=1)], ("dpkg-query", OF_DPKG)),
        (GPU, [command("rpm", RPM)], ("rpm", OF_RPM)),
        (GPU, [command("dpkg-query", DPKG), command("rpm", RPM)], ("dpkg-query", OF_DPKG)),
        (GPU, [], (None, ())),
        ({}, [command("dpkg-query", DPKG)], (None, ())),
    ],
    ids=["dpkg", "rpm", "both", "neither", "no GPU"],
)
def test_packages(
    files: dict[str, str],
    commands: list[dict[str, Any]],
    expected: tuple[str | None, tuple[Package, ...]],
    tmp_path: Path,
) -> None:
    """The package manager that is there is asked, where a GPU is; without one, none is known."""
    node = recorded(tmp_path, files=files, commands=commands, tools=TOOLS)
    tool, packages = expected
    assert DriverPackages(tool=tool, packages=packages) == asyncio.run(collect(node, Wanted()))


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ([command("dpkg-query", "", status=2)], Cause.CRASHED),
        ([command("dpkg-query", DPKG, seconds=9.0)], Cause.TIMEOUT),
        ([], Cause.NOT_RECORDED),
    ],
)
def test_no_packages(told: list[dict[str, Any]], cause: Cause, tmp_path: Path) -> None:
    """A manager that fails, is late, or was never asked when the recording was made."""
    node = recorded(tmp_path, files=GPU, commands=told, tools=TOOLS if told else ())
    got = asyncio.run(collect(node, Wanted()))
    assert isinstance(got, Missing)
    assert cause is got.cause


@pytest.mark.tool("dpkg-query")
async def test_the_real_program_takes_the_question() -> None:
    """dpkg-query answers with 0, or with 1 where no package has such a name, one line each."""
    node = Live()
    got = await node.command("dpkg-query", *ARGV["dpkg-query"][:3], "bash", "no-*", deadline_s=20.0)
    await node.close()
    assert not isinstance(got, Missing)
    assert (1, ["bash", "installed"]) == (got.status, got.stdout.split()[::2])


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """What is found is a part of the text."""
    assert [] == [p for p in installed(text) if p.name not in text or p.version not in text]


NAMES = st.from_regex(r"(nvidia-dkms|libnvidia-compute|nvidia-driver)-[0-9]{3}", fullmatch=True)
VERSIONS = st.from_regex(r"[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?", fullmatch=True)
PACKAGES = st.builds(Package, name=NAMES, version=VERSIONS)


@given(st.lists(PACKAGES, max_size=2 * MOST, unique=True), st.sampled_from(["", "-0ubuntu1", "~a"]))
def test_round_trip(packages: list[Package], rest: str) -> None:
    """What is listed as installed is read back, up to the cap."""
    text = "".join(f"{p.name} {p.version}{rest} installed\n" for p in packages)
    assert tuple(packages[:MOST]) == installed(text)
