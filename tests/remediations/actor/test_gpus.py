"""A reset: only where nothing can be on the GPUs, and with all put back that it takes.

Simulated GPUs, stand-ins for the tools; the holders are real processes.
"""

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from remediations.actor import caps, clock, gpu_holders, gpu_settings, gpus, letting_go, resetting
from remediations.actor.registry import Kept, Refused
from remediations.actor.run import Unsure
from remediations.policy import parse
from tests.remediations.actor import holding as held
from tests.remediations.actor.holding import holding
from tests.remediations.actor.resettable import ID, PERSISTENCED, Resettable, installed, node

__all__ = ["node"]
pytestmark = [pytest.mark.root, pytest.mark.serial]

ONE = ["0001:10:00.0"]


def refused(node: Resettable, names: list[str] | None = None) -> str:
    with pytest.raises(Refused) as no:
        gpus.gpu_reset(node.turn(), ONE if names is None else names)
    return no.value.detail


def was_reset(node: Resettable) -> bool:
    return gpus.gpus_were_reset(node.state, ONE)


def test_one_is_reset(node: Resettable) -> None:
    """Persistence off, reset, persistence on; persistenced is stopped meanwhile, and runs again."""
    before = was_reset(node)
    said = gpus.gpu_reset(node.turn(), ONE)
    told = (before, said, was_reset(node), node.said(0)["persistence"])
    log = [
        f"systemctl stop {PERSISTENCED}",
        "nvidia-smi -i 0001:10:00.0 -pm 0",
        "nvidia-smi -i 0001:10:00.0 --gpu-reset",
        f"systemctl start {PERSISTENCED}",
        "nvidia-smi -i 0001:10:00.0 -pm 1",
        "nvidia-smi -i 0001:11:00.0 -pm 1",
    ]
    assert ((False, "reset: 0001:10:00.0", True, 1), log) == (told, node.log())


def test_what_was_set_is_put_back(node: Resettable) -> None:
    """Power limit, compute mode, MIG with its instances, and persistence."""
    node.set(0, power__limit_mw=600_000, compute_mode=3, mig__current=1, mig__pending=1)
    said = gpus.gpu_reset(node.turn(), ONE)
    now = gpu_settings.read()[ONE[0]]
    kept = {name: now[name] for name in ("power_mw", "compute_mode", "mig", "persistence")}
    expected = {"power_mw": 600_000, "compute_mode": 3, "mig": True, "persistence": 1}
    assert ("reset: 0001:10:00.0", expected, "19:2,9:4") == (
        said,
        kept,
        node.said(0)["instances"],
    )


def test_our_cap_is_put_back(node: Resettable) -> None:
    """As a cap that is lent: what was before it is still known."""
    policy = parse('allow_unproved = ["gpu.power_cap"]\n[mode]\n"gpu.power_cap" = "act"\n')
    caps.cap_gpu(Kept(node.state, policy), ONE[0], 630_000, "a test")
    gpus.gpu_reset(node.turn(), ONE)
    one = caps.caps(node.state)["held"][0]
    assert (630_000, 630_000, 700_000) == (
        node.said(0)["power.limit_mw"],
        one["limit"],
        one["before"],
    )


def test_a_lock_of_clocks_is_put_back(node: Resettable) -> None:
    """Nothing tells whether one is there, so it is set again in any case."""
    policy = parse(
        'allow_unproved = ["gpu.power_cap"]\n[mode]\n"gpu.power_cap" = "act"\n'
        "[heat]\nlocked_clocks = true\n"
    )
    caps.cap_clocks(Kept(node.state, policy), ONE[0], 1782, "a test")
    node.set(0, clocks__locked_mhz=0)
    caps.put_back(node.state)
    assert 1782 == node.said(0)["clocks.locked_mhz"]


def test_an_a100_with_its_switches_goes_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever was asked for: the tool is called without an address."""
    made = installed(tmp_path, monkeypatch, "a100-sxm4-40")
    node = next(made)
    said = gpus.gpu_reset(node.turn(), ONE)
    list(made)
    assert ("reset: all GPUs together", ["nvidia-smi --gpu-reset"]) == (said, node.resets())


def test_a_card_without_links_goes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is connected to it."""
    made = installed(tmp_path, monkeypatch, "l40s")
    node = next(made)
    gpus.gpu_reset(node.turn(), ONE)
    list(made)
    assert ["nvidia-smi -i 0001:10:00.0 --gpu-reset"] == node.resets()


@pytest.mark.parametrize("own_pids", [False, True])
def test_a_holder_in_whatever_namespace(node: Resettable, *, own_pids: bool) -> None:
    """A process that has a GPU open, in a namespace where it is pid 1 too; nothing is changed."""
    with holding(own_pids=own_pids) as pid:
        why = refused(node)
    assert (f"a GPU is open in process {pid} (sleep)", []) == (why, node.log())


def test_who_computes_by_the_driver_s_word(node: Resettable) -> None:
    """Though no descriptor shows it."""
    node.set(1, process__compute=[[4242, 1 << 30, 0xFFFFFFFF, 0xFFFFFFFF]])
    assert ("the driver says that process 4242 uses a GPU", []) == (refused(node), node.log())


def test_hidden_processes(node: Resettable, monkeypatch: pytest.MonkeyPatch) -> None:
    """An actor in a container sees its own namespace alone, and resets nothing."""
    monkeypatch.setattr(gpu_holders, "FIRST_NAMESPACE", 1)
    assert (True, []) == ("first PID namespace" in refused(node), node.log())


def test_persistenced_lets_go(node: Resettable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process holds the GPU until its unit is stopped, and is no foreign one."""
    monkeypatch.setattr(held, "GROUPS", Path("/sys/fs/cgroup/systemd"))
    with holding(0, f"system.slice/{PERSISTENCED}"):
        said = gpus.gpu_reset(node.turn(), ONE)
    assert "reset: 0001:10:00.0" == said


@pytest.mark.parametrize(
    ("slurm", "why"),
    [
        ("State=IDLE", "the node is not drained: IDLE"),
        ("State=MIXED+DRAIN Reason=gpudiag: x", "the node is not drained: DRAIN+MIXED"),
        (
            "State=IDLE+COMPLETING+DRAIN Reason=gpudiag: x",
            "the node is not drained: COMPLETING+DRAIN+IDLE",
        ),
        (
            "State=IDLE+DRAIN Reason=new PSU [ops7@2026-11-30T02:11:09]",
            "the drain is not ours: new PSU",
        ),
        ("", "scontrol show node: no state"),
    ],
)
def test_only_where_we_drained_it(node: Resettable, slurm: str, why: str) -> None:
    """No job may be there, and nobody else may have taken the node out."""
    node.put("slurm", slurm)
    assert (why, []) == (refused(node), node.log())


def test_a_pod_that_has_a_gpu(node: Resettable, tmp_path: Path) -> None:
    """By the kubelet's own record; one whose folder is gone is over."""
    uid = "5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11"
    plugins = tmp_path / "kubelet" / "device-plugins"
    plugins.mkdir(parents=True)
    entry = {"PodUID": uid, "ContainerName": "c", "ResourceName": "nvidia.com/gpu"}
    record = {"Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {}}}
    (plugins / "kubelet_internal_checkpoint").write_text(json.dumps(record))
    (tmp_path / "kubelet" / "pods" / uid).mkdir(parents=True)
    why = refused(node)
    (tmp_path / "kubelet" / "pods" / uid).rmdir()
    said = gpus.gpu_reset(node.turn(), ONE)
    assert (f"pod {uid} has a GPU of this node", "reset: 0001:10:00.0") == (why, said)


def test_the_driver_refuses(node: Resettable) -> None:
    """Its own sentence is told, though it ends with 0, and everything is as before."""
    node.put("refuses")
    why = refused(node)
    now = (was_reset(node), node.said(0)["persistence"])
    active = (node.folder / f"active-{PERSISTENCED}").exists()
    assert (True, (False, 1), True) == ("In use by another client" in why, now, active)


def test_a_reset_that_hangs(node: Resettable) -> None:
    """Nobody knows, and the question says so; the services run again, nothing hangs beside it."""
    node.put("hangs")
    with pytest.raises(Unsure):
        gpus.gpu_reset(node.turn(left_s=1.5), ONE)
    with pytest.raises(Refused) as no:
        was_reset(node)
    after = node.log()[node.log().index(node.resets()[0]) + 1 :]
    assert (
        "the reset was begun, and nobody knows how it ended",
        [f"systemctl start {PERSISTENCED}"],
    ) == (
        no.value.detail,
        after,
    )


def test_a_driver_that_hangs_afterwards(node: Resettable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reset is done; one call that hangs is not followed by others."""
    monkeypatch.setattr(gpu_settings, "SET_S", 0.5)
    node.put("hangs-after")
    said = gpus.gpu_reset(node.turn(), ONE)
    smi = [line for line in node.log() if line.startswith("nvidia-smi") and "-pm 1" in line]
    assert (True, 1, True) == ("did not end in 0.5 s" in said, len(smi), was_reset(node))


def test_killed_in_the_middle(node: Resettable) -> None:
    """The actor's tick starts what was stopped and puts back what was set; the reset is unknown."""
    before = gpu_settings.read()
    record: dict[str, Any] = {
        "id": ID,
        "gpus": ONE,
        "before": before,
        "units": [PERSISTENCED],
        "open": True,
    }
    record |= {"boot": clock.boot_id()}
    resetting.keep(node.state, record | {"touched": True, "meant": False, "done": False})
    (node.folder / f"active-{PERSISTENCED}").unlink()
    node.set(0, persistence=0)
    resetting.finish_reset(node.state, None)
    first = node.log()
    resetting.finish_reset(node.state, None)
    left = resetting.kept(node.state)
    assert (f"systemctl start {PERSISTENCED}", 1, first, False, False) == (
        first[0],
        node.said(0)["persistence"],
        node.log(),
        left and left["open"],
        was_reset(node),
    )


def test_a_reset_of_before_a_reboot(node: Resettable) -> None:
    """What it left behind is gone with that boot: nothing is set on a node that is in use again."""
    before = gpu_settings.read()
    record: dict[str, Any] = {
        "id": ID,
        "gpus": ONE,
        "before": before,
        "units": [PERSISTENCED],
        "open": True,
    }
    record |= {"boot": "0" * 36}
    resetting.keep(node.state, record | {"touched": True, "meant": False, "done": False})
    resetting.finish_reset(node.state, None)
    left = resetting.kept(node.state)

    assert ([], False) == (node.log(), left and left["open"])


def test_an_old_reset_is_not_this_one(node: Resettable) -> None:
    """What another action did says nothing of the one that is open."""
    gpus.gpu_reset(node.turn()._replace(id="b2"), ONE)
    assert not was_reset(node)


@pytest.mark.parametrize("name", ["0001:10:00", "-r", "0001:10:00.0,0001:11:00.0", ""])
def test_only_addresses(node: Resettable, name: str) -> None:
    """A word of a caller never becomes an option of a tool."""
    assert (True, []) == ("PCI addresses" in refused(node, [name]), node.log())


class Agent:
    """The agent's socket, with answers of its own."""

    def __init__(self, path: str, *answers: dict[str, Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answers = list(answers)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while self._answers:
            peer, _ = self._listener.accept()
            with peer, peer.makefile("rw") as stream:
                self.asked.append(json.loads(stream.readline()))
                stream.write(json.dumps(self._answers.pop(0)) + "\n")
        self._listener.close()


FREE = {"ok": {"agent": {"released_until": None}}}


def test_our_agent_lets_go_first(node: Resettable) -> None:
    """And is told to ask the driver again afterwards."""
    released = {"ok": {"until": 1.0, "left": []}}
    agent = Agent(letting_go.AGENT, FREE, released, {"ok": {"until": None, "left": []}})
    gpus.gpu_reset(node.turn(), ONE)
    asked = [(one["ask"], one.get("seconds")) for one in agent.asked]
    expected = [("status", None), ("release-gpus", 240.0), ("release-gpus", 0)]
    assert (expected, 1) == (asked, len(node.resets()))


def test_a_helper_of_ours_that_hangs(node: Resettable) -> None:
    """It holds the GPU, and the reset would be refused: nothing is stopped for it."""
    left = {"ok": {"until": 1.0, "left": ["nvml: pid 4711"]}}
    none: dict[str, Any] = {"ok": {"until": None, "left": []}}
    Agent(letting_go.AGENT, FREE, left, none, none)
    why = refused(node)
    told = "our own helper holds a GPU and cannot be ended: nvml: pid 4711"
    assert (told, []) == (why, node.resets())


def test_a_person_who_works_with_the_gpus(node: Resettable) -> None:
    """They had them released, and are not to find them reset."""
    Agent(letting_go.AGENT, {"ok": {"agent": {"released_until": 9e9}}}, {"ok": {}})
    assert (True, []) == ("a person has had the GPUs released" in refused(node), node.resets())
