"""Slurm's configuration: which line is this node's, and how many GPUs it says."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.helpers.children import slurm_conf
from collectors.helpers.children.slurm_conf import gres, in_gres_conf, in_slurm_conf, lines, named

SLURM = r"""# slurm.conf of the cluster
ClusterName=west
SlurmctldHost=ctl1(10.0.0.5)
GresTypes=gpu,mps
NodeName=DEFAULT CPUs=192 RealMemory=2063000 \
    Gres=gpu:h100:8,mps:800 State=UNKNOWN
NodeName=gpu[001-016,020] Sockets=2 # the first row
NodeName=vis[1-4] gres="gpu:l40s:2" Weight=10
NodeName=mig1 Gres=gpu:a100_1g.5gb:56
NodeName=cpu[1-9] Gres=
PartitionName=train Nodes=gpu[001-020] Default=YES
"""


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("gpu001", 8),
        ("gpu016.cluster.example", 8),
        ("gpu020", 8),
        ("gpu1", None),
        ("gpu017", None),
        ("vis3", 2),
        ("mig1", None),
        ("cpu4", None),
        ("login1", None),
    ],
)
def test_the_line_of_this_node(host: str, expected: int | None) -> None:
    """A node has what its own line says, else what DEFAULT says; MIG instances are no GPUs."""
    said = in_slurm_conf(SLURM, host)
    assert expected == (said.gpus if said else None)


def test_the_line_is_quoted_as_it_stands() -> None:
    """What is said names the line on which its statement begins, continued lines joined."""
    said = in_slurm_conf(SLURM, "gpu002")
    assert said is not None
    assert (5, "NodeName=DEFAULT CPUs=192") == (said.line.number, said.line.text[:25])


def test_the_host_name_counts_where_it_differs_from_the_node_name() -> None:
    """NodeHostname is the machine's name, NodeName the one that Slurm gave it."""
    text = "NodeName=n[1-2] NodeHostname=rack7[1-2] Gres=gpu:4"
    told = [in_slurm_conf(text, host) for host in ("rack72", "n2")]
    assert [4, None] == [said.gpus if said else None for said in told]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("gpu:8", 8),
        ("gpu:h100:8", 8),
        ("gpu:h100:4,gpu:l40s:2", 6),
        ("gpu", 1),
        ("gpu:tesla:no_consume:2", 2),
        ("gpu:8(S:0-1)", 8),
        ("mps:400,bandwidth:lustre:no_consume:4G", None),
        ("gpu:1g.10gb:14", None),
        ("gpu:2K", None),
        ("", None),
    ],
)
def test_gres(value: str, expected: int | None) -> None:
    """GPUs of all types add up; other resources and MIG instances are not counted."""
    assert expected == gres(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NodeName=gpu[1-8] Name=gpu Type=h100 File=/dev/nvidia[0-7]", 8),
        ("Name=gpu File=/dev/nvidia0 Cores=0-7\nName=gpu File=/dev/nvidia1 Cores=8-15", 2),
        ("Name=gpu Count=4", 4),
        ("Name=gpu File=/dev/nvidia[0-1,4]\nName=mps Count=400", 3),
        ("AutoDetect=nvml", None),
        ("Name=gpu AutoDetect=nvml", None),
        ("NodeName=other Name=gpu File=/dev/nvidia[0-7]", None),
        (
            "Name=gpu Type=a100_3g.20gb MultipleFiles=/dev/nvidia0,/dev/x",
            None,
        ),
    ],
)
def test_gres_conf(text: str, expected: int | None) -> None:
    """gres.conf counts by device file or by Count; what AutoDetect finds is no expectation."""
    said = in_gres_conf(text, "gpu3")
    assert expected == (said.gpus if said else None)


@given(st.text(alphabet="abg", min_size=1, max_size=4), st.integers(0, 400), st.integers(0, 400))
def test_a_range_names_its_members_and_no_others(stem: str, low: int, number: int) -> None:
    """Every number of a range is named with the range's zeros, and none outside of it."""
    hosts = f"x,{stem}[{low:03}-{low + 50:03},999]"
    inside = low <= number <= low + 50
    assert inside == named(hosts, f"{stem}{number:03}")


@given(st.text(max_size=300), st.text(max_size=20))
@example("NodeName=a[1-9[2]] Gres=gpu", "a1")
@example("NodeName=[] Gres=gpu:", "")
@example("Name=gpu File=/dev/nvidia[9-1,-]", "")
def test_any_text_is_read_without_an_error(text: str, host: str) -> None:
    """A damaged or foreign file says nothing, or a number that is none too large."""
    told = [in_slurm_conf(text, host), in_gres_conf(text, host)]
    slurm_conf.includes(text)
    assert all(said is None or 0 <= said.gpus for said in told)


@given(st.lists(st.text(alphabet="abc =#", max_size=12), max_size=6))
def test_lines_join_to_the_same_words(parts: list[str]) -> None:
    """A statement broken over lines is the same as one written in a line."""
    words = [part.replace("#", "") for part in parts]
    broken = " \\\n".join(words)
    joined = [line.text.split() for line in lines(broken)]
    assert [w.split() for w in [" ".join(words)] if w.strip()] == joined
