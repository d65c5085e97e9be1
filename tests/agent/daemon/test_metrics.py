"""The Prometheus page: what is unknown has no line, and labels are bounded."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.gpus import GpuRow, rows
from agent.daemon.metrics import render
from collectors.facts.observation import Cause, Missing
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Heat, Power
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from tests.agent.daemon.documents import finding, walked
from tests.agent.daemon.fake import Fake

ABOUT = Fake().about()
LINE = re.compile(r'gpudiag_[a-z_]+(\{([a-z]+="[^"\\\n]*",?)+\})? -?[0-9.e+-]+')
ABSENT = Missing(what="x", cause=Cause.NO_TOOL, detail="x")


def lines(page: bytes) -> list[str]:
    return [line for line in page.decode().splitlines() if not line.startswith("#")]


def test_the_verdict_is_one_of_four() -> None:
    """Exactly one verdict is 1; findings are counted by fault, not listed by subject."""
    walk = walked(finding(1), finding(2, name="0000:9a:00.0"))
    page = lines(render(ABOUT, walk, 3.0, (), ()))

    assert (
        ['gpudiag_node_verdict{verdict="fault"} 1'],
        ['gpudiag_findings{fault="gpu_lost",severity="critical"} 2'],
        [],
    ) == (
        [x for x in page if x.startswith("gpudiag_node_verdict") and x.endswith(" 1")],
        [x for x in page if x.startswith("gpudiag_findings")],
        [x for x in page if "0000:" in x],
    )


def test_before_the_first_walk_there_is_no_verdict() -> None:
    """A daemon that saw nothing yet tells of itself alone."""
    page = render(ABOUT, None, None, (), ())

    assert (False, True) == (b"verdict" in page, b"gpudiag_agent_cpu_seconds_total 1.5\n" in page)


def test_what_a_gpu_does_not_report_has_no_line() -> None:
    """An absent number is no 0."""
    page = lines(render(ABOUT, None, None, (), (GpuRow(index=3, power_w=312.5),)))

    assert ['gpudiag_gpu_power_watts{gpu="3"} 312.5'] == [x for x in page if "gpu=" in x]


NUMBERS = st.none() | st.integers(-(10**18), 10**18)
ROWS = st.lists(
    st.builds(
        GpuRow,
        index=st.integers(0, 63),
        pci=st.text(max_size=20),
        used_bytes=NUMBERS,
        margin_c=NUMBERS,
        power_w=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=4,
)


@given(ROWS)
def test_every_line_can_be_parsed(found: list[GpuRow]) -> None:
    """Whatever a driver says, a line is a name, bounded labels and one number."""
    page = lines(render(ABOUT, walked(finding()), 3.0, (), found))

    assert [] == [line for line in page if not LINE.fullmatch(line)]


def test_a_row_joins_driver_health_and_holders() -> None:
    """Margin is the driver's own or what its limit leaves; jobs are those that hold the GPU."""
    snapshot = GpuSnapshot(
        gpus=(Gpu(index=0, pci="0000:18:00.0", minor=0), Gpu(index=1, pci="b", minor=1))
    )
    health = GpuHealth(
        gpus=(
            GpuReading(
                index=0,
                pci="0000:18:00.0",
                heat=Heat(gpu_c=71, slowdown_c=90),
                power=Power(draw_mw=312_500),
            ),
            GpuReading(index=1, pci="b", heat=Heat(gpu_c=60, margin_c=27, slowdown_c=90)),
        )
    )
    holders = GpuHolders(
        devices=2,
        holders=(Holder(pid=7, comm="python", start_s=0.0, uid=1000, minors=(1,), job="88123"),),
    )

    got = rows(snapshot, health, holders)

    assert [(19, 312.5, (), ()), (27, None, ("88123",), (1000,))] == [
        (row.margin_c, row.power_w, row.jobs, row.uids) for row in got
    ]


def test_a_driver_that_is_silent_leaves_what_is_known() -> None:
    """Without health and holders rows have their memory; without a snapshot there are none."""
    snapshot = GpuSnapshot(gpus=(Gpu(index=0, memory_used_bytes=5, memory_total_bytes=9),))

    assert ([(5, 9, None)], ()) == (
        [(r.used_bytes, r.total_bytes, r.margin_c) for r in rows(snapshot, ABSENT, ABSENT)],
        rows(ABSENT, msgspec.structs.replace(GpuHealth()), ABSENT),
    )
