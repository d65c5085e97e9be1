"""The daemon lets go of the driver while its package, library or module changes."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.daemon.driver_change import (
    LONGEST_S,
    PERIOD_S,
    DriverChange,
    Installed,
    changed,
)
from agent.daemon.keeping import Keeping
from agent.daemon.releasing import Releasing
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu import modules, packages
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from tests.agent.daemon.virtual import Said
from tests.recording import write

OLD, NEW = "580.82.07", "580.126.09"
FOLDER = "/usr/lib/x86_64-linux-gnu"
GPU = "/sys/bus/pci/devices/0000:4e:00.0/uevent"
UEVENT = "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n"


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    kept = Keeping(tmp_path)
    yield kept
    kept.close(10.0)


def dpkg(version: str) -> dict[str, object]:
    """Return what the package manager says of one package of *version*."""
    said = f"nvidia-dkms-580-server {version}-0ubuntu0.24.04.2 installed\n"
    argv = ["dpkg-query", *packages.ARGV["dpkg-query"]]
    return {"argv": argv, "status": 0, "stdout": said, "seconds": 0.02}


def module(version: str) -> dict[str, str]:
    """Return the files of a loaded module of *version*."""
    return {"/sys/module/nvidia/initstate": "live\n", "/sys/module/nvidia/version": f"{version}\n"}


def upgraded(folder: Path, *, reloaded: bool) -> Recorded:
    """Return a node on which a person upgrades the driver 15 s from the start.

    Package and library are new at 15 s; at 45 s the new module is loaded, unless a reboot waits.
    """
    library = {f"{FOLDER}/libnvidia-ml.so.{OLD}": ""}
    write(
        folder,
        files={**module(OLD), **library, GPU: UEVENT},
        commands=[dpkg(OLD)],
        tools=["dpkg-query"],
    )
    write(
        folder / "at" / "15",
        files={f"{FOLDER}/libnvidia-ml.so.{NEW}": ""},
        errors={f"{FOLDER}/libnvidia-ml.so.{OLD}": "ENOENT"},
        commands=[dpkg(NEW)],
    )
    if reloaded:
        write(folder / "at" / "45", files=module(NEW))
    return Recorded(folder)


@pytest.fixture
def reloaded(tmp_path: Path) -> Recorded:
    return upgraded(tmp_path / "node", reloaded=True)


@pytest.fixture
def unfinished(tmp_path: Path) -> Recorded:
    return upgraded(tmp_path / "node", reloaded=False)


@pytest.fixture
def new(tmp_path: Path) -> Recorded:
    write(tmp_path / "node", files={GPU: UEVENT}, tools=["dpkg-query"])
    write(tmp_path / "node" / "at" / "15", files=module(NEW))
    return Recorded(tmp_path / "node")


class Seen:
    """What the sampler does for the watch: look at the recorded node, or show what was seen."""

    def __init__(self, node: Recorded) -> None:
        self.node = node
        self.kept: dict[type[Observation], Observation | Missing] = {}

    async def look(self, shape: type[Observation], within_s: float) -> Observation | Missing:
        await asyncio.sleep(0)
        source = modules if shape is modules.DriverModules else packages
        if shape not in self.kept or within_s < float("inf"):
            self.kept[shape] = await source.collect(self.node, Wanted())
        return self.kept[shape]


def watching(node: Recorded, releasing: Releasing, said: Said) -> DriverChange:
    """Return the watch of a recorded node's driver."""
    return DriverChange(node, Seen(node).look, releasing, said)


async def watched(node: Recorded, change: DriverChange, releasing: Releasing, to_s: float) -> str:
    """Return a letter for each look: `h` while the driver is held back, `-` while it is asked."""
    letters = ""
    for _ in range(round(to_s / PERIOD_S)):
        await change.step()
        letters += "h" if releasing.changing else "-"
        await node.sleep(PERIOD_S)
    return letters


async def test_an_upgraded_driver_is_let_go_of_until_all_are_of_one_version(
    reloaded: Recorded, keeping: Keeping
) -> None:
    """From the first look at the new library to the first at the new module; each is said once."""
    node, said = reloaded, Said()
    releasing = Releasing(node, keeping)
    letters = await watched(node, watching(node, releasing, said), releasing, 90.0)

    assert (
        "--hhh----",
        [
            (
                "driver_changes",
                {
                    "before": f"module {OLD}, library {OLD}, packages {OLD}",
                    "now": f"module {OLD}, library {NEW}, packages {NEW}",
                },
            ),
            (
                "driver_asked_again",
                {"now": f"module {NEW}, library {NEW}, packages {NEW}", "agree": True},
            ),
        ],
    ) == (letters, said.lines)


async def test_what_waits_for_a_reboot_is_asked_again_after_half_an_hour(
    unfinished: Recorded, keeping: Keeping
) -> None:
    """A mismatch that stays is no change: one release of 30 min, and no second one."""
    node, said = unfinished, Said()
    releasing = Releasing(node, keeping)
    letters = await watched(node, watching(node, releasing, said), releasing, 2 * LONGEST_S)

    assert (
        LONGEST_S,
        ["driver_changes", "driver_asked_again"],
        "-",
    ) == (letters.count("h") * PERIOD_S, [event for event, _ in said.lines], letters[-1])


async def test_a_person_ends_it_sooner(unfinished: Recorded, keeping: Keeping) -> None:
    """`release-gpus --for 0` has the driver asked though versions differ."""
    node, said = unfinished, Said()
    releasing = Releasing(node, keeping)
    change = watching(node, releasing, said)
    before = await watched(node, change, releasing, 40.0)
    await releasing.release(0.0)
    after = await watched(node, change, releasing, 40.0)

    assert ("--hh", "----") == (before, after)


async def test_the_real_helpers_are_gone_within_two_seconds(
    reloaded: Recorded, keeping: Keeping
) -> None:
    """The process that has the driver's devices open ends when the change is seen."""
    node, live = reloaded, Live()
    live.share_helpers()
    releasing = Releasing(live, keeping)
    change = watching(node, releasing, Said())
    await change.step()
    before = await live.ask("device_nodes")
    pid = next(helper.pid for helper in live.helpers() if helper.resource == "device_nodes")
    await node.sleep(20.0)
    began = time.monotonic()
    await change.step()
    took = time.monotonic() - began
    gone = not os.path.exists(f"/proc/{pid}")  # noqa: ASYNC240, PTH110 - a test may wait
    held = await live.ask("device_nodes")
    await node.sleep(30.0)
    await change.step()
    after = await live.ask("device_nodes")
    await live.close()

    assert isinstance(held, Missing)
    assert (True, True, True, f"library {NEW}", True) == (
        isinstance(before, dict),
        took < 2.0,
        gone,
        held.detail[held.detail.find("library") :].split(",")[0],
        isinstance(after, dict),
    )


async def test_a_node_without_a_driver_gets_one_without_a_word(
    new: Recorded, keeping: Keeping
) -> None:
    """The first driver of a node changes nothing that we could have open."""
    node, said = new, Said()
    releasing = Releasing(node, keeping)
    letters = await watched(node, watching(node, releasing, said), releasing, 40.0)

    assert ("----", []) == (letters, said.lines)


def test_what_was_not_seen_is_no_change() -> None:
    """Packages that the package manager tells of late are news, and no change."""
    before = Installed(module=OLD, libraries=(OLD,))
    after = Installed(module=OLD, libraries=(OLD,), packages=(NEW,))

    assert (False, True, False) == (
        changed(before, after),
        changed(after, Installed(module=NEW, libraries=(OLD,), packages=(NEW,))),
        after.agree,
    )


async def test_it_watches_for_as_long_as_the_daemon_runs(
    reloaded: Recorded, keeping: Keeping
) -> None:
    """The service looks every 10 s by the node's clock."""
    node, said = reloaded, Said()
    change = watching(node, Releasing(node, keeping), said)
    task = asyncio.ensure_future(change.run())
    while node.monotonic() < 60.0:  # noqa: ASYNC110 - the node's clock, which only the task moves
        await asyncio.sleep(0)
    task.cancel()

    assert ["driver_changes", "driver_asked_again"] == [event for event, _ in said.lines]
