"""The reading of Slurm's configuration against Slurm's own: its lists of hosts and its counts."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from collectors.helpers.children.slurm_conf import in_gres_conf, in_slurm_conf, named

SLURM = r"""
ClusterName=test
SlurmctldHost=ctl1(127.0.0.1)
AuthType=auth/munge
GresTypes=gpu
NodeName=DEFAULT CPUs=4 Gres=gpu:h100:8
NodeName=gpu[001-003,020] RealMemory=500 \
    State=UNKNOWN # the first row
NodeName=vis[1-2] Gres=gpu:l40s:2,gpu:t4:1
NodeName=plain gres=gpu
PartitionName=train Nodes=ALL Default=YES State=UP
"""
# slurmd-vis2: Gres Name=gpu Type=l40s Count=2 Index=0 ID=7696487 File=/dev/tty[0-1] (null)
COUNTED = re.compile(r"Gres Name=gpu .*?\bCount=(\d+)\b")
ROWS = """
NodeName=vis1 Name=gpu File=/dev/nvidia0
Name=gpu Type=h100 File=/dev/nvidia[0-3]
Name=gpu Type=h100 File=/dev/nvidia[4,5-7]
"""
TYPES = r"""
NodeName=vis[1-2] Name=gpu Type=l40s File=/dev/nvidia[0-1] # two
nodename=vis[1-2] name=gpu \
    type=t4 file=/dev/nvidia2
"""


def slurm(folder: Path, *argv: str) -> str:
    """Run one of Slurm's programs on a configuration of its own."""
    environ = {"PATH": os.environ["PATH"], "SLURM_CONF": str(folder / "slurm.conf")}
    ran = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=30, check=False)
    return ran.stdout + ran.stderr


@pytest.mark.tool("scontrol")
@pytest.mark.parametrize(
    "hosts",
    [
        "gpu[001-003,020],vis[1-2]",
        "x[8-11]y[0-1]",
        "rack7",
        "n[08-11]",
        "n[8-11],m[098-101]",
    ],
)
def test_a_list_of_hosts_names_what_scontrol_lists(hosts: str, tmp_path: Path) -> None:
    """Of many neighbouring names exactly those match that `scontrol show hostnames` prints."""
    (tmp_path / "slurm.conf").write_text(SLURM)
    listed = set(slurm(tmp_path, "scontrol", "show", "hostnames", hosts).split())
    stems = ("gpu", "vis", "rack", "n", "m")
    tried = {f"{stem}{n:0{width}}" for stem in stems for n in range(130) for width in (1, 2, 3)}
    tried |= {f"x{a}y{b}" for a in range(14) for b in range(4)} | listed
    assert listed == {host for host in tried if named(hosts, host)}


@pytest.mark.tool("slurmd")
@pytest.mark.skipif(not Path("/dev/tty7").exists(), reason="a container without terminals")
@pytest.mark.parametrize(
    ("host", "gres"),
    [
        ("gpu002", "NodeName=gpu[001-003] Name=gpu Type=h100 File=/dev/nvidia[0-7]"),
        ("gpu020", ROWS),
        ("vis2", TYPES),
        ("plain", "Name=gpu File=/dev/nvidia0"),
    ],
)
def test_both_files_say_what_slurmd_counts(host: str, gres: str, tmp_path: Path) -> None:
    """`slurmd -G` prints what it makes of both files; each file alone tells us the same number.

    It wants device nodes that are there: terminals stand for GPUs.
    """
    (tmp_path / "slurm.conf").write_text(SLURM)
    (tmp_path / "gres.conf").write_text(gres.replace("nvidia", "tty") + "\n")
    counted = sum(map(int, COUNTED.findall(slurm(tmp_path, "slurmd", "-G", "-N", host))))
    told = [in_slurm_conf(SLURM, host), in_gres_conf(gres, host)]
    assert [counted, counted] == [said.gpus if said else None for said in told]
