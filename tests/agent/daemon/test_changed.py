"""What was changed on a node is noted once, over restarts, and never of what was not seen."""

from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.changed import NAME, KeptChanges, folded
from collectors.facts.observation import Cause, Missing, Observation
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Power
from collectors.host.changes import MOST_NOTED, NOTED, Noted, PackageChanges, Placed, noted
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.network.fec import Fec, PortFec
from collectors.network.ports import Port, Ports
from collectors.node.recording.scrub import Scrub

Facts = Mapping[type[Observation], Observation]
NOW = 1_796_000_000.0
HOUR = 3600.0
GPU = "0000:3a:00.0"


def facts(
    *,
    serial: str = "1652922011802",
    limit_w: int = 700,
    firmware: str = "28.39.3004",
    packages: tuple[str, ...] = ("libnccl2", "nvidia-driver-565"),
    image: str | None = "/images/pytorch-26.08.sif",
    fec: str = "RS",
) -> Facts:
    """Return what is seen of a node."""
    reading = GpuReading(index=2, pci=GPU, serial=serial, power=Power(limit_mw=limit_w * 1000))
    environ = {} if image is None else {"APPTAINER_CONTAINER": image}
    return {
        GpuHealth: GpuHealth(gpus=(reading,)),
        Ports: Ports(ports=(Port(device="mlx5_3", port=1, fw_ver=firmware),)),
        PackageChanges: PackageChanges(
            tool="rpm", packages=tuple(Placed(name=n, version="1.0", time=1.0) for n in packages)
        ),
        Fec: Fec(ports=(PortFec(name="rail3", speed_mbps=200_000, active=(fec,)),)),
        LocalRanks: LocalRanks(
            ranks=(Rank(pid=4711, comm="python", state="R", start_s=1.0, environ=environ),)
        ),
    }


def told(folder: Path, *looks: tuple[float, Facts], node: str = "gpu-017") -> list[tuple[str, ...]]:
    """Return what the file tells after these looks, each by an agent that was started anew."""
    folder.mkdir(exist_ok=True)
    for at, seen in looks:
        kept = KeptChanges(folder)
        kept.begin(node, "6.8.0-88-generic")

        def newest(shape: type[Observation], seen: Facts = seen) -> Observation | Missing:
            silent = Missing(what=shape.__name__, cause=Cause.TIMEOUT, detail="no answer")
            return seen.get(shape, silent)

        kept.learn(newest, at)
        assert kept.close(60.0)
    changes = noted((folder / NAME).read_text("utf-8"), node)
    return [
        (one.kind, one.name, *(one.serial or (one.before or "", one.after or "")))
        for one in changes
    ]


def test_what_differs_from_before_is_noted_with_both_values(tmp_path: Path) -> None:
    """A serial number, firmware, a setting, a package that is gone, an image that is new."""
    image = "/images/pytorch-26.10.sif"
    after = facts(
        serial="1653120007733",
        limit_w=600,
        firmware="28.43.2026",
        packages=("libnccl2",),
        image=image,
        fec="Off",
    )

    assert [
        ("firmware", "port mlx5_3/1", "28.39.3004", "28.43.2026"),
        ("image", "pytorch-26.10.sif", "", ""),
        ("package", "nvidia-driver-565", "1.0", ""),
        ("part", f"GPU {GPU}", "1652922011802", "1653120007733"),
        ("setting", "FEC of rail3", "RS", "Off"),
        ("setting", f"the power limit of GPU {GPU}", "700 W", "600 W"),
    ] == told(tmp_path, (NOW, facts()), (NOW + HOUR, after))


def test_the_first_look_and_a_blind_one_change_nothing(tmp_path: Path) -> None:
    """What is seen first is no change, and what is not seen was not removed."""
    assert [] == told(tmp_path, (NOW, facts()), (NOW + 30, {}), (NOW + 60, facts()))


def test_a_setting_that_was_put_back_within_the_hour_is_none(tmp_path: Path) -> None:
    """To and fro is nothing; what was left so an hour later is one change."""
    low, lower = facts(limit_w=600), facts(limit_w=500)
    name = f"the power limit of GPU {GPU}"
    back = told(tmp_path / "a", (NOW, facts()), (NOW + 60, low), (NOW + 90, facts()))
    left = told(tmp_path / "b", (NOW, facts()), (NOW + 60, low), (NOW + 90, lower))

    assert ([], [("setting", name, "700 W", "500 W")]) == (back, left)


def test_a_copied_disk_tells_nothing_of_this_node(tmp_path: Path) -> None:
    """Another node's past is forgotten, and its file is not read as this node's."""
    told(tmp_path, (NOW, facts()), node="gpu-001")
    here = told(tmp_path, (NOW + HOUR, facts(serial="1653120007733")))

    assert ([], ()) == (here, noted((tmp_path / NAME).read_text("utf-8"), "gpu-001"))


def test_a_recording_names_none_of_its_serial_numbers_and_images(tmp_path: Path) -> None:
    """What sits there and what sat there is replaced, images too, and it is this node's still."""
    other = facts(serial="1653120007733", image="/images/secret-run.sif")
    told(tmp_path, (NOW, facts()), (NOW + HOUR, other))
    text = (tmp_path / NAME).read_text("utf-8")
    scrub = Scrub()
    scrub.learn(NOTED, text)
    scrub.close()
    clean = scrub.file(NOTED, text)
    node = str(scrub.value("gpu-017", "node"))

    secrets = ("1653120007733", "1652922011802", "secret-run", "pytorch-26.08")

    assert ([2, 1, 1, 0], [0, 0, 0, 0], 2) == (
        [text.count(one) for one in secrets],
        [clean.count(one) for one in secrets],
        len(noted(clean, node)),
    )


def test_after_two_days_it_is_forgotten(tmp_path: Path) -> None:
    """What an incident could no longer tell is not kept."""
    changed = facts(serial="1653120007733")

    assert [] == told(tmp_path, (NOW, facts()), (NOW + 1, changed), (NOW + 49 * HOUR, changed))


@given(
    st.lists(
        st.builds(
            Noted,
            time=st.floats(0, 4e5),
            kind=st.just("setting"),
            name=st.sampled_from("ab"),
            before=st.sampled_from(["1", "2"]),
            after=st.sampled_from(["1", "2"]),
        ),
        max_size=400,
    )
)
def test_what_is_kept_is_bounded_in_order_and_stays_so(changes: list[Noted]) -> None:
    """Folding again changes nothing, and no more than the collector reads is kept."""
    ordered = tuple(sorted(changes, key=lambda one: one.time))
    once = folded(ordered, 4e5)

    assert (once, True) == (folded(once, 4e5), len(once) <= MOST_NOTED)


@given(st.text())
def test_whatever_stands_in_the_file_is_read_or_left(text: str) -> None:
    """A broken file has no changes."""
    assert () == noted(text, "gpu-017")
