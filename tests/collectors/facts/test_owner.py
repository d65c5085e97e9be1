"""The owner of a process, as the text of /proc/PID/cgroup names it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.owner import Owner, owner

ID = "3f2a1b0c9d8e" + "5b" * 26
POD = "5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11"
FLAT = POD.replace("-", "_")

V1 = """11:pids:/system.slice/slurmd.service
8:devices:/slurm/uid_1000/job_88123/step_0
4:memory:/slurm/uid_1000/job_88123/step_0/task_3
1:name=systemd:/system.slice/slurmd.service
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_3\n",
            Owner(kind="slurm", job="88123", step="0"),
            id="slurm v2",
        ),
        pytest.param(
            "0::/slurmstepd.scope/job_88123/step_batch/user/task_0\n",
            Owner(kind="slurm", job="88123", step="batch"),
            id="slurm v2 without systemd",
        ),
        pytest.param(
            "0::/system.slice/gpu017_slurmstepd.scope/job_88123/step_extern/user/task_0\n",
            Owner(kind="slurm", job="88123", step="extern"),
            id="slurm v2, several slurmd",
        ),
        pytest.param(V1, Owner(kind="slurm", job="88123", step="0", uid=1000), id="slurm v1"),
        pytest.param(
            "3:cpuset:/slurm_gpu017/uid_1000/job_88123\n",
            Owner(kind="slurm", job="88123", uid=1000),
            id="slurm v1, several slurmd",
        ),
        pytest.param(
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{FLAT}.slice/"
            f"cri-containerd-{ID}.scope\n",
            Owner(kind="kubernetes", pod=POD, container=ID),
            id="kubernetes, systemd driver",
        ),
        pytest.param(
            f"0::/kubepods.slice/kubepods-pod{FLAT}.slice/crio-{ID}.scope/container\n",
            Owner(kind="kubernetes", pod=POD, container=ID),
            id="kubernetes, cri-o",
        ),
        pytest.param(
            f"5:devices:/kubepods/besteffort/pod{POD}/{ID}\n",
            Owner(kind="kubernetes", pod=POD, container=ID),
            id="kubernetes, cgroupfs driver",
        ),
        pytest.param(
            f"5:devices:/system.slice/containerd.service/"
            f"kubepods-burstable-pod{FLAT}.slice:cri-containerd:{ID}\n",
            Owner(kind="kubernetes", pod=POD, container=ID),
            id="kubernetes, two drivers at odds",
        ),
        pytest.param(
            f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{FLAT}.slice/"
            f"cri-containerd-{ID}.scope\n",
            Owner(kind="kubernetes", pod=POD, container=ID),
            id="kubernetes below another root",
        ),
        pytest.param(
            f"5:devices:/kubepods/burstable/pod{'0a' * 16}/{ID}\n",
            Owner(kind="kubernetes", pod="0a" * 16, container=ID),
            id="kubernetes, a static pod",
        ),
        pytest.param(
            f"0::/system.slice/docker-{ID}.scope\n",
            Owner(kind="docker", container=ID),
            id="docker v2",
        ),
        pytest.param(
            f"12:devices:/docker/{ID}\n", Owner(kind="docker", container=ID), id="docker v1"
        ),
        pytest.param(
            f"0::/machine.slice/libpod-{ID}.scope/container\n",
            Owner(kind="podman", container=ID),
            id="podman",
        ),
        pytest.param(
            f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope\n",
            Owner(kind="user", uid=1000, unit=f"libpod-{ID}.scope", container=ID),
            id="podman of a user, whom root's podman does not know",
        ),
        pytest.param(
            "0::/user.slice/user-1000.slice/session-3.scope\n",
            Owner(kind="user", uid=1000, unit="session-3.scope"),
            id="session",
        ),
        pytest.param(
            "0::/system.slice/nvidia-persistenced.service\n",
            Owner(kind="service", unit="nvidia-persistenced.service"),
            id="service",
        ),
        pytest.param(
            "0::/system.slice/run-r5c1f0a7e.scope\n",
            Owner(kind="service", unit="run-r5c1f0a7e.scope"),
            id="a scope of the system",
        ),
        pytest.param("0::/\n", Owner(), id="root"),
        pytest.param("", Owner(), id="empty"),
    ],
)
def test_owner(text: str, expected: Owner) -> None:
    """Each way of placing a process names its owner with whole ids."""
    assert expected == owner(text)


@pytest.mark.parametrize(
    "path",
    [
        "/system.slice/job_88123",
        "/user.slice/kubepods",
        "/docker/3f2a1b0c9d8e",
        "/site.slice/slurmstepd.scope.old/job_x",
    ],
)
def test_what_only_looks_like_an_owner_is_none(path: str) -> None:
    """A folder that somebody called `job_88123`, or a short id, is no job and no container."""
    assert Owner() == owner(f"0::{path}\n")


@given(st.text())
def test_any_text_has_an_owner(text: str) -> None:
    """Whatever stands in the file, the answer is an owner of a known kind."""
    assert owner(text).kind in (
        "slurm",
        "kubernetes",
        "docker",
        "podman",
        "user",
        "service",
        "none",
    )


@given(st.integers(1, 2**31), st.integers(0, 2**31), st.sampled_from(["0", "batch", "extern"]))
def test_a_job_id_comes_back_as_it_went_in(job: int, uid: int, step: str) -> None:
    """Job, step and user are read from the path without loss."""
    found = owner(f"4:memory:/slurm/uid_{uid}/job_{job}/step_{step}\n")

    assert Owner(kind="slurm", job=str(job), step=step, uid=uid) == found
