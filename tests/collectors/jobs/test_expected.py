"""What a node should have: the settings' word, then Slurm's, then Kubernetes'."""

import asyncio
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause
from collectors.facts.wanted import Expect, Wanted
from collectors.jobs.expected import KUBELET, Expected, Stated, collect, registered
from collectors.node.live import Live
from tests.recording import recorded

SLURM = "/etc/slurm/slurm.conf"
NODES = "NodeName=gpu-[001-032] Gres=gpu:h100:8 State=UNKNOWN\n"
UUID = "GPU-6c1d2a60-91c5-4f0e-8f8a-2f3f7d3a5b0"


def checkpoint(*devices: str, resource: str = "nvidia.com/gpu") -> str:
    """Return a kubelet checkpoint with these devices."""
    data = {"PodDeviceEntries": None, "RegisteredDevices": {resource: list(devices)}}
    return json.dumps({"Data": data, "Checksum": 1533})


def seen(tmp_path: Path, files: dict[str, str], expect: Expect | None = None) -> Expected:
    """Collect from a recording of the node gpu-017."""
    node = recorded(tmp_path / "node", files=files)
    answer = asyncio.run(collect(node, Wanted(expect=expect or Expect())))
    assert isinstance(answer, Expected)
    return answer


def test_the_settings_come_first(tmp_path: Path) -> None:
    """What a person states holds over Slurm, and the sentence can name it."""
    got = seen(tmp_path, {SLURM: NODES}, Expect(gpus=4, ib_ports=8, product="H100"))
    source = "the settings' table [expect]"
    expected = Expected(
        gpus=Stated(number=4, by="settings", source=source, text="gpus = 4"),
        product="H100",
        ib_ports=Stated(number=8, by="settings", source=source, text="ib_ports = 8"),
    )
    assert expected == got


def test_slurm_comes_second(tmp_path: Path) -> None:
    """slurm.conf says what the controller places jobs by; its line is quoted."""
    files = {SLURM: "ClusterName=west\n" + NODES, KUBELET: checkpoint(UUID + "1")}
    got = seen(tmp_path, files)
    expected = Stated(number=8, by="slurm", source=SLURM, line=2, text=NODES.strip())
    assert expected == got.gpus


def test_included_files_are_read(tmp_path: Path) -> None:
    """Nodes often stand in a file of their own beside slurm.conf."""
    files = {SLURM: "Include nodes.conf\nInclude /etc/shadow\n", "/etc/slurm/nodes.conf": NODES}
    got = seen(tmp_path, files)
    assert got.gpus is not None
    assert (8, "/etc/slurm/nodes.conf") == (got.gpus.number, got.gpus.source)


def test_a_password_file_is_never_read(tmp_path: Path) -> None:
    """slurmdbd.conf holds the password of a database, whoever includes it."""
    files = {SLURM: "Include slurmdbd.conf\n", "/etc/slurm/slurmdbd.conf": NODES}
    got = seen(tmp_path, files)
    assert None is got.gpus


def test_gres_conf_where_slurm_conf_is_silent(tmp_path: Path) -> None:
    """Where the node's line names no resources, its device files count."""
    files = {
        SLURM: "NodeName=gpu-017 CPUs=96\n",
        "/etc/slurm/gres.conf": "Name=gpu File=/dev/nvidia[0-3]\n",
    }
    got = seen(tmp_path, files)
    assert got.gpus is not None
    assert (4, "/etc/slurm/gres.conf") == (got.gpus.number, got.gpus.source)


def test_kubernetes_comes_third(tmp_path: Path) -> None:
    """The kubelet keeps what its device plugin registered."""
    got = seen(tmp_path, {KUBELET: checkpoint(UUID + "1", UUID + "2")})
    assert Stated(number=2, by="kubernetes", source=KUBELET) == got.gpus


def test_nobody_says(tmp_path: Path) -> None:
    """A node without any of them has no expectation, and that is no blind spot."""
    assert Expected() == seen(tmp_path, {})


def test_a_recording_without_slurm_says_so(tmp_path: Path) -> None:
    """Where the files were not recorded, the expectation is open, with its reason."""
    node = recorded(tmp_path / "node", paths=("/proc",))
    got = asyncio.run(collect(node, Wanted()))
    assert isinstance(got, Expected)
    assert (None, [Cause.NOT_RECORDED]) == (got.gpus, [m.cause for m in got.silent])


def test_we_may_run_in_a_job_ourselves(tmp_path: Path) -> None:
    """In a job the driver shows the job's GPUs alone, whatever the node has."""
    job = {"/proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_0\n"}
    login = {"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-3.scope\n"}
    told = [seen(tmp_path / "job", job).confined, seen(tmp_path / "login", login).confined]
    assert [True, False] == told


async def test_live() -> None:
    """This machine is asked without an error, whatever it has."""
    node = Live()
    try:
        got = await collect(node, Wanted(expect=Expect(nvme=3)))
    finally:
        await node.close()
    assert isinstance(got, Expected)
    assert 3 == (got.nvme.number if got.nvme else None)


def test_a_shared_gpu_counts_once() -> None:
    """With time-slicing each GPU is registered several times."""
    assert 1 == registered(checkpoint(f"{UUID}1::0", f"{UUID}1::1"))


def test_mig_instances_are_no_gpus() -> None:
    """A plugin that registers instances says nothing of how many GPUs there are."""
    assert None is registered(checkpoint("MIG-0d6a1f", UUID + "1"))


@given(
    st.text(max_size=200) | st.builds(json.dumps, st.recursive(st.integers() | st.text(), st.lists))
)
def test_any_checkpoint_is_read_without_an_error(text: str) -> None:
    """A damaged checkpoint says nothing."""
    assert None is registered(text)
