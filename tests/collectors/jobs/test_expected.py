"""What a node should have: the settings' word, then Slurm's, then Kubernetes'."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.observation import Cause
from collectors.facts.wanted import Expect, Wanted
from collectors.jobs.expected import Expected, Stated, collect
from collectors.node.live import Live
from tests.recording import recorded

SLURM = {"gpus": 8, "path": "/etc/slurm/slurm.conf", "line": 41, "text": "Gres=gpu:h100:8"}
KUBELET = {"gpus": 4, "path": "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"}
BY_SLURM = Stated(
    number=8, by="slurm", source="/etc/slurm/slurm.conf", line=41, text="Gres=gpu:h100:8"
)
BY_KUBERNETES = Stated(number=4, by="kubernetes", source=str(KUBELET["path"]))


def seen(tmp_path: Path, answer: Any, expect: Expect | None = None, **parts: Any) -> Expected:
    """Collect from a recording in which the schedulers' files say *answer*."""
    answers = [] if answer is None else [{"kind": "scheduled", "answer": answer}]
    node = recorded(tmp_path, answers=answers, **parts)
    got = asyncio.run(collect(node, Wanted(expect=expect or Expect())))
    assert isinstance(got, Expected)
    return got


def test_the_settings_come_first(tmp_path: Path) -> None:
    """What a person states holds over Slurm, and the sentence can name it."""
    source = "the settings' table [expect]"
    expected = Expected(
        gpus=Stated(number=4, by="settings", source=source, text="gpus = 4"),
        product="H100",
        ib_ports=Stated(number=8, by="settings", source=source, text="ib_ports = 8"),
    )
    stated = Expect(gpus=4, ib_ports=8, product="H100")
    assert expected == seen(tmp_path, {"slurm": SLURM}, stated)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"slurm": SLURM, "kubernetes": KUBELET, "refused": []}, BY_SLURM),
        ({"slurm": None, "kubernetes": KUBELET, "refused": []}, BY_KUBERNETES),
        ({"slurm": None, "kubernetes": None, "refused": []}, None),
    ],
)
def test_the_first_scheduler_that_says(
    answer: dict[str, Any], expected: Stated | None, tmp_path: Path
) -> None:
    """Slurm goes before Kubernetes; that neither says anything is no blind spot."""
    assert Expected(gpus=expected) == seen(tmp_path, answer)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({"refused": ["/etc/slurm/slurm.conf"], "kubernetes": KUBELET}, Cause.DENIED),
        ({"slurm": {"gpus": "many"}}, Cause.GARBLED),
        (None, Cause.NOT_RECORDED),
    ],
)
def test_an_open_expectation_has_its_reason(answer: Any, cause: Cause, tmp_path: Path) -> None:
    """A file that is there and cannot be read leaves the number unknown; so does an odd answer."""
    got = seen(tmp_path, answer)
    assert (None, [cause]) == (got.gpus, [missing.cause for missing in got.silent])


def test_we_may_run_in_a_job_ourselves(tmp_path: Path) -> None:
    """In a job the driver shows the job's GPUs alone, whatever the node has."""
    job = {"/proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_0\n"}
    login = {"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-3.scope\n"}
    told = [
        seen(tmp_path / str(n), {}, files=files).confined for n, files in enumerate((job, login))
    ]
    assert [True, False] == told


async def test_live() -> None:
    """This machine is asked without an error, whatever it has."""
    node = Live()
    try:
        got = await collect(node, Wanted(expect=Expect(nvme=3)))
    finally:
        await node.close()
    assert isinstance(got, Expected)
    assert (3, ()) == (got.nvme.number if got.nvme else None, got.silent)
