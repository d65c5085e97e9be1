"""What the node had is learnt slowly, only upwards, survives a crash, and only ever warns."""

import asyncio
import random
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.run import open_node
from agent.daemon.changed import Changes
from agent.daemon.maintained import Kept
from agent.daemon.past import NAME, KeptPast, filled
from agent.daemon.sampler import Sampler
from agent.daemon.walker import Walk, Walker
from agent.settings.load import Settings
from agent.walk.sources import SOURCES
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.bus import PciFunction, PciGpus
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Pcie
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.changes import Noted, PackageChanges
from collectors.host.nfs import NfsActivity, NfsMount
from collectors.host.nvme import Drive, NvmeDrives
from collectors.jobs.expected import Before, Expected, Stated
from collectors.jobs.maintenance import Maintenance
from collectors.network.counters import PortCounters
from collectors.network.ports import Port, Ports
from collectors.network.rising import Rises
from tests.agent.daemon.virtual import Said, Still, every, virtually
from tests.recording import recorded

Facts = Mapping[type[Observation], Observation]
ADDRESSES = ("0000:1c:00.0", "0000:3d:00.0", "0000:5e:00.0", "0000:7f:00.0")


def node(gpus: int = 4, ports: int = 2, drives: int = 3, width: int = 16) -> Facts:
    """Return what is seen of a node with so many parts."""
    at = ADDRESSES[:gpus]
    snapshot = tuple(Gpu(index=i, pci=a) for i, a in enumerate(at))
    pcie = Pcie(width=width, max_generation=5)
    return {
        Expected: Expected(),
        PciGpus: PciGpus(gpus=tuple(PciFunction(address=a, model="2330") for a in at)),
        GpuSnapshot: GpuSnapshot(count=gpus, gpus=snapshot),
        GpuHealth: GpuHealth(
            gpus=tuple(GpuReading(index=i, pci=a, pcie=pcie) for i, a in enumerate(at))
        ),
        Ports: Ports(
            ports=tuple(
                Port(device=f"mlx5_{i}", port=1, state="ACTIVE", rate_gbps=400.0)
                for i in range(ports)
            )
        ),
        NvmeDrives: NvmeDrives(
            drives=tuple(Drive(address=f"0000:0{i}:00.0") for i in range(drives))
        ),
    }


def newest(facts: Facts, shape: type[Observation]) -> Observation | Missing:
    missing = Missing(what=shape.__name__, cause=Cause.TIMEOUT, detail="no answer in 15 s")
    return facts.get(shape, missing)


def learn(past: KeptPast, facts: Facts, hours: float, begin_h: float = 0.0) -> None:
    """Let the agent walk every 30 s for so long."""
    for walk in range(round(hours * 120) + 1):
        past.learn(partial(newest, facts), (begin_h * 120 + walk) * 30.0)


@pytest.fixture
def past(tmp_path: Path) -> Iterator[KeptPast]:
    kept = KeptPast(tmp_path)
    kept.begin("gpu-017")
    yield kept
    kept.close(10.0)


def counts(past: KeptPast) -> dict[str, float]:
    return {
        name: past.numbers[name] for name in ("gpus", "ib_ports", "nvme") if name in past.numbers
    }


def test_what_was_so_for_an_hour_is_kept(past: KeptPast) -> None:
    """Not after 59 minutes; counts, lanes and rates of each part after 60."""
    learn(past, node(gpus=1, ports=1, drives=1), hours=59 / 60)
    early = dict(past.numbers)
    learn(past, node(gpus=1, ports=1, drives=1), hours=1 / 60, begin_h=59 / 60)

    assert (
        {},
        {
            "gpus": 1.0,
            "ib_ports": 1.0,
            "nvme": 1.0,
            "pcie_width 0000:1c:00.0": 16.0,
            "pcie_generation 0000:1c:00.0": 5.0,
            "port_gbps mlx5_0/1": 400.0,
        },
    ) == (early, past.numbers)


def test_what_is_lost_is_not_unlearnt(past: KeptPast) -> None:
    """A GPU that is away for days is still missed; one more, there for an hour, is new."""
    learn(past, node(), hours=1)
    learn(past, node(gpus=3, ports=1), hours=72, begin_h=1)
    lost = counts(past)
    learn(past, node(gpus=3, drives=4), hours=1, begin_h=73)

    assert (
        {"gpus": 4.0, "ib_ports": 2.0, "nvme": 3.0},
        {"gpus": 4.0, "ib_ports": 2.0, "nvme": 4.0},
    ) == (lost, counts(past))


def test_what_comes_and_goes_is_never_kept(past: KeptPast) -> None:
    """A drive that is there for half an hour of each hour is no part of the node."""
    for hour in range(0, 20, 2):
        learn(past, node(drives=3), hours=1, begin_h=hour)
        learn(past, node(drives=4), hours=0.5, begin_h=hour + 1)

    assert 3.0 == counts(past)["nvme"]


def test_what_is_not_seen_is_not_learnt(past: KeptPast) -> None:
    """A driver that is not asked leaves the GPUs open; the rest is learnt."""
    facts = {k: v for k, v in node().items() if k not in (GpuSnapshot, GpuHealth)}
    learn(past, facts, hours=2)

    assert {"ib_ports": 2.0, "nvme": 3.0} == counts(past)


def test_it_survives_a_crash_and_a_reload(tmp_path: Path) -> None:
    """The next run knows at once; a torn file is put aside and said; without a file all is new."""
    first = KeptPast(tmp_path)
    first.begin("gpu-017")
    learn(first, node(), hours=1)
    first.close(10.0)
    second = KeptPast(tmp_path)
    second.begin("gpu-017")
    known = counts(second)
    (tmp_path / NAME).write_bytes((tmp_path / NAME).read_bytes()[:60])
    second.read()
    torn, said = counts(second), second.problem or ""
    second.read()

    assert ({"gpus": 4.0, "ib_ports": 2.0, "nvme": 3.0}, {}, True, None, True) == (
        known,
        torn,
        "put aside as past.damaged" in said,
        second.problem,
        (tmp_path / "past.damaged").exists(),
    )


def test_the_past_of_another_node_is_not_ours(past: KeptPast, tmp_path: Path) -> None:
    """A node that was set up from another's disk begins anew, and keeps its own from then on."""
    learn(past, node(), hours=1)
    past.close(10.0)
    copied = KeptPast(tmp_path)
    copied.begin("gpu-018")
    before = dict(copied.numbers)
    learn(copied, node(gpus=2), hours=1)
    copied.close(10.0)

    assert ({}, 2.0) == (before, copied.numbers["gpus"])


def test_a_disk_that_hangs_holds_up_no_walk(
    past: KeptPast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning returns while the write of what was learnt never does."""
    never = threading.Event()
    monkeypatch.setattr("agent.daemon.state.write", lambda *_, **__: never.wait(20.0))
    learn(past, node(), hours=2)
    kept = dict(past.numbers)
    ended = past.close(0.05)
    never.set()

    assert (4.0, False) == (kept["gpus"], ended)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, ("past", 8.0)),
        ({"gpus": Stated(number=4.0, by="slurm", source="/etc/slurm/slurm.conf")}, ("slurm", 4.0)),
        ({"gpus": Stated(number=4.0, by="fleet", source="the aggregator")}, ("fleet", 4.0)),
        ({"product": "H100"}, None),
    ],
)
def test_the_past_is_the_last_to_be_asked(
    said: dict[str, Any], told: tuple[str, float] | None
) -> None:
    """Whoever says a number goes before it; where some GPUs count, the number of all is no help."""
    gpus = filled(Expected(**said), {"gpus": 8.0}, "/var/lib/gpudiag/past.json").gpus

    assert told == (None if gpus is None else (gpus.by, gpus.number))


def test_single_parts_are_told_by_their_names() -> None:
    """Lanes and generations by PCI address, rates by port."""
    numbers = {
        "pcie_width 0000:1c:00.0": 16.0,
        "pcie_generation 0000:1c:00.0": 5.0,
        "port_gbps mlx5_0/1": 400.0,
    }

    assert (
        Before(
            source="past.json",
            widths={"0000:1c:00.0": 16},
            generations={"0000:1c:00.0": 5},
            rates={"mlx5_0/1": 400.0},
        )
        == filled(Expected(), numbers, "past.json").before
    )


@given(st.dictionaries(st.text(max_size=40), st.floats(0, 1e6)))
def test_no_file_breaks_what_is_expected(numbers: dict[str, float]) -> None:
    """Whatever the file holds, the expectation can be told on."""
    told = filled(Expected(), numbers, "past.json")

    assert told == msgspec.json.decode(msgspec.json.encode(told), type=Expected)


def test_rates_are_kept_by_the_hour(past: KeptPast, tmp_path: Path) -> None:
    """The hours of servers, disks and links outlive the agent, and are another node's no more."""
    mount = NfsMount(
        point="/data",
        source="store-1:/data",
        operations=9,
        resent=0,
        timeouts=0,
        bytes_per_s=1.0,
        rtt_ms=4.0,
    )
    seen: Facts = {NfsActivity: NfsActivity(seconds=1.0, mounts=(mount,))}
    facts: Facts = {**node(gpus=1), **seen}
    learn(past, facts, hours=2)
    past.close(10.0)
    again = KeptPast(tmp_path)
    again.begin("gpu-017")
    copied = KeptPast(tmp_path)
    copied.begin("gpu-018")
    told = [filled(Expected(), {}, "past.json", kept.usual).before for kept in (again, copied)]

    assert [{"nfs_rtt_ms /data": (4.0, 4.0)}, None] == [
        None if before is None else before.usual for before in told
    ]


def test_waiting_ports_are_kept_where_they_wait(past: KeptPast) -> None:
    """Hours in which nothing waited would make each start of a job an unusual hour."""
    waiting = Rises(name="mlx5_0/1", per_s={"port_xmit_wait": (9.0, 4e6), "symbol_error": (1.0,)})
    ended = Rises(name="mlx5_1/1", per_s={"port_xmit_wait": (4e6, 0.0)})
    seen: Facts = {PortCounters: PortCounters(ports=(waiting, ended, Rises(name="mlx5_2/1")))}
    learn(past, {**node(gpus=1), **seen}, hours=2)

    assert {"port_xmit_wait_per_s mlx5_0/1": (4e6, 4e6)} == past.usual


def test_the_walk_warns_of_what_the_node_had(past: KeptPast) -> None:
    """The daemon's own walk, over what its sources see: a drive less is a warning and no fault."""
    learn(past, node(), hours=1)
    facts = node(drives=2)
    walks: list[Walk] = []
    # Files of the package, read before there is a loop as the command does.
    open_node(None, None, Settings(), ())

    async def main() -> None:
        still, chance = Still(), random.Random(7)  # noqa: S311 - the same jitter at each run

        def source(shape: type[Observation]) -> Any:
            async def collect(node: object, wanted: object) -> Observation | Missing:
                del node, wanted
                return newest(facts, shape)

            return every(collect, shape, 30.0)

        sampler = Sampler(still, [source(one.shape) for one in SOURCES], Wanted, Said(), chance)
        walker = Walker(still, sampler, Settings, walks.append, chance, past=past)
        for track in sampler.tracks.values():
            await sampler.look(track, within_s=30.0)
        walks.append(await walker.once())

    virtually(main)
    found = [
        (f["fault"], f["severity"], f["message"])
        for f in walks[0].document.findings
        if f["check"] == "storage.expected"
    ]

    assert [
        (
            "nvme_missing",
            "warning",
            "3 NVMe drives expected by what this node had before; on the PCI bus: 2",
        )
    ] == found


async def test_another_folder(tmp_path: Path) -> None:
    """An agent with a folder of its own shows the changes and the maintenance that it keeps."""
    kept = await asyncio.to_thread(KeptPast, tmp_path)
    noted = Noted(time=1_796_000_000.0, kind="setting", name="the MTU of ens1", before="9000")
    changes = msgspec.json.encode(Changes(node="gpu-017", changed=(noted,)))
    word = msgspec.json.encode(Kept(node="gpu-017", until=1e11, by="night-shift"))
    files = {f"{tmp_path}/changes.json": changes, f"{tmp_path}/maintenance.json": word}
    here = await asyncio.to_thread(
        recorded,
        tmp_path / "node",
        files={path: text.decode() for path, text in files.items()},
        paths=("/",),
        tools=("dpkg-query", "rpm"),
    )
    sources = {one.shape: one for one in kept.tell(SOURCES)}
    slurm = Missing(what="NodeReason", cause=Cause.NO_TOOL, detail="no scontrol")
    changed = await sources[PackageChanges].collect(here, Wanted())
    maintained = await sources[Maintenance].collect(here, Wanted(), slurm)
    assert isinstance(changed, PackageChanges)
    assert isinstance(maintained, Maintenance)

    assert ((noted,), "night-shift", f"{tmp_path}/maintenance.json") == (
        changed.noted,
        maintained.by,
        maintained.source,
    )
