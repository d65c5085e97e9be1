"""Whole recorded nodes: each gets exactly its diagnosis, and a healthy one no warning."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collectors.gpu.health import GpuHealth
from diagnostics.catalog import WALK
from diagnostics.document import Document
from tests.nodes.ablation import whole
from tests.nodes.build.__main__ import ALL
from tests.nodes.replay import NAMES, NODES, expected, replay, summary
from tests.score import truths

# What does not apply: these nodes are cooled by air and have no RoCE, and on the idle one no job
# runs or wrote.
LACKED = (
    *("bmc.coolant", "storage.lustre", "storage.clients", "network.roce"),
    # Measured only when a person asks.
    "network.bandwidth",
    # These recordings list no packages; nobody works on the nodes, and no cap was ever held.
    *("host.changes", "jobs.maintenance", "gpu.caps"),
    # They have no Ethernet port of 100 Gb/s; devlink and NCCL's files were not recorded.
    *("network.fec", "network.adapters"),
    *(check.name for check in WALK if check.name.startswith("network.nccl_")),
)
WITHOUT = {
    # Its log times no waits for data, no rank alone and no collective.
    "h100-training": {
        *LACKED,
        *("training.data_loading", "training.stragglers", "training.bandwidth"),
        # What its ranks write was not recorded, so that nothing says whether they go on.
        *("training.hang", "training.ranks", "training.ras", "training.flight_recorder"),
    },
    "h100-idle": {
        *LACKED,
        "processes.gpu_use",
        "network.memlock",
        *(check.name for check in WALK if check.name.startswith(("training.", "text."))),
    },
}
HEALTHY = [name for name, truth in truths().items() if truth.healthy and name in NAMES]


once = functools.cache(replay)


def loud(document: Document) -> list[tuple[str, str]]:
    return [(f["fault"], f["message"]) for f in document.findings if f["severity"] != "info"]


def tree(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "expected.json")
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in files}


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_diagnosis_is_the_expected_one(name: str) -> None:
    """Verdict, checks, findings, root causes, incidents and plan are what expected.json holds."""
    assert expected(name) == summary(once(name))


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_node_gets_no_warning(name: str) -> None:
    """The verdict is ok, and no finding is above info."""
    document = once(name)

    assert ("ok", []) == (document.verdict, loud(document))


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_is_the_same_twice(name: str) -> None:
    """Two replays give the same bytes: sentences, numbers, order and all."""
    assert once(name).encode() == replay(name).encode()


@pytest.mark.parametrize("name", ["h100-gpu-lost", "h100-idle"])
def test_the_command_says_the_same(name: str) -> None:
    """`gpudiag run --replay` prints the document that the functions return, and its status."""
    argv = [sys.executable, "-I", "-m", "agent", "run", "--json", "--replay", str(NODES / name)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    document = once(name)
    told: dict[str, Any] = json.loads(document.encode())

    assert (summary(document)["status"], told, "") == (
        ran.returncode,
        json.loads(ran.stdout),
        ran.stderr,
    )


@pytest.mark.parametrize("name", WITHOUT)
def test_an_h100_is_seen_whole(name: str) -> None:
    """On a healthy H100 node no check is blind, and each that applies is ok."""
    said = {c.check: c.verdict for stage in once(name).stages for c in stage.checks}
    absent = dict.fromkeys(WITHOUT[name], "not_applicable")

    assert {**{check.name: "ok" for check in WALK}, **absent} == said


SIMULATED = [name for name in NAMES if (NODES / name / "nvml.toml").exists()]


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_never_passes_for_a_node(name: str) -> None:
    """What a simulated driver said is marked so in the document; what none said is not."""
    assert (name in SIMULATED) is once(name).simulated


def test_a_hung_gpu_leaves_seven_judged() -> None:
    """The call that hangs is named, no check of the driver is blind, and seven GPUs are judged."""
    told = {c.check: c for stage in once("blocked-gpu-call").stages for c in stage.checks}
    heat = told["gpu.heat"].message

    assert ("fault", "ok", "7 of 8 GPUs") == (
        told["driver.answers"].verdict,
        told["gpu.heat"].verdict,
        heat.partition(":")[0],
    )


def test_every_node_has_its_truth() -> None:
    """truth.toml speaks of the recorded nodes, all of them and no others."""
    assert set(NAMES) == set(truths())


def test_an_incident_tells_what_was_changed_on_its_own_parts_before() -> None:
    """New firmware of the port that failed and of no other one, a new image, an upgrade."""
    told = {
        name: replay(name).incidents[0].changes_before
        for name in ("cascade-cable", "cascade-upgrade")
    }

    assert {
        "cascade-cable": (
            "20:58:47 UTC firmware of port mlx5_2/1 is 28.43.2026, it was 28.43.1014",
            "20:15:17 UTC first job with the image megatron-26.10.sif",
        ),
        "cascade-upgrade": (
            "23:48:08 UTC package nvidia-utils-575 575.57.08-0ubuntu0.24.04.1",
            "23:48:07 UTC package libnvidia-compute-575 575.57.08-0ubuntu0.24.04.1",
        ),
    } == told


def test_a_violation_of_no_length_was_seen() -> None:
    """The node of such ones shows brake and heat in one of two readings, so that it can fail."""
    health = whole("zero-length-violations").seen[GpuHealth]
    assert isinstance(health, GpuHealth)
    pairs = {now.key: (then.clocks.reasons, now.clocks.reasons) for then, now in health.watched()}

    assert [[0x1, 0x89], [0x1, 0x49]] == [
        sorted(bits or 0 for bits in pairs[gpu.key])
        for gpu in health.gpus
        if set(pairs[gpu.key]) != {0x1}
    ]


def test_every_node_says_where_its_shape_is_from() -> None:
    """No recording is made up: each names the tool, the driver or the source it is modelled on."""
    assert [] == [name for name, truth in truths().items() if not truth.shape]


def test_no_two_sick_nodes_are_alike() -> None:
    """No two share cause, what follows from it, and type of node: GPUs, network, scheduler."""
    alike: dict[object, list[str]] = {}
    for name, truth in truths().items():
        if truth.roots:
            node = ALL[name]()
            cards = {(gpu.model, len(node.gpus)) for gpu in node.gpus}
            links = {port.link for port in node.ports}
            kind = (frozenset(cards), frozenset(links), node.slurm is None)
            alike.setdefault((truth.roots, truth.follows, kind), []).append(name)

    assert [] == [names for names in alike.values() if len(names) > 1]


@pytest.mark.parametrize("name", ALL)
def test_the_recording_is_what_its_parts_make(name: str, tmp_path: Path) -> None:
    """Who edits a node edits its parts and runs `python -m tests.nodes.build`."""
    ALL[name]().recording().write(tmp_path / name)

    assert tree(tmp_path / name) == tree(NODES / name)
