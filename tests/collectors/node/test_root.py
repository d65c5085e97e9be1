"""Under --root only files below that folder are seen, wherever links point."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing
from collectors.helpers.children import rooted
from collectors.helpers.children.files import files
from collectors.node.live import Live


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a root with a secret beside it that no link may reach."""
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/os-release").write_text("ID=debian\n")
    (root / "etc/hostname").write_text("gpu-017\n")
    return root


def read(root: Path, *patterns: str) -> tuple[dict[str, str], dict[str, str]]:
    """Read files below a root as the reader's child does."""
    got = files(str(root), list(patterns), [], 4096)
    return got["texts"], got["errors"]


def test_an_absolute_link_means_a_path_below_the_root(root: Path) -> None:
    """/etc/os-release -> /usr/lib/os-release of a mounted image is the image's file."""
    (root / "etc/os-release").symlink_to("/usr/lib/os-release")
    assert read(root, "/etc/os-release") == ({"/etc/os-release": "ID=debian\n"}, {})


@pytest.mark.parametrize(
    ("target", "errors"),
    [
        ("../../secret", {"/etc/leak": "EXDEV"}),
        ("../../../../../../etc/passwd", {"/etc/leak": "EXDEV"}),
        ("/etc/passwd", {}),
        ("leak", {"/etc/leak": "ELOOP"}),
    ],
)
def test_no_link_leaves_the_root(root: Path, target: str, errors: dict[str, str]) -> None:
    """A link that climbs out is refused by name; an absolute one is looked for inside."""
    (root / "etc/leak").symlink_to(target)
    assert read(root, "/etc/leak") == ({}, errors)


def test_a_linked_folder_does_not_leave_the_root(root: Path, tmp_path: Path) -> None:
    """A wildcard below a link to a folder outside finds nothing of it."""
    (root / "class").symlink_to(tmp_path)
    (root / "up").symlink_to("..")
    assert read(root, "/class/*", "/up/*", "/up/secret") == ({}, {})


def test_links_inside_are_followed(root: Path) -> None:
    """/sys/class holds links into /sys/devices; they are the way to every port."""
    port = root / "sys/devices/pci0000:4d/0000:4e:00.0/infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n")
    (root / "sys/class/infiniband").mkdir(parents=True)
    target = "../../devices/pci0000:4d/0000:4e:00.0/infiniband/mlx5_0"
    (root / "sys/class/infiniband/mlx5_0").symlink_to(target)
    path = "/sys/class/infiniband/mlx5_0/ports/1/state"
    assert read(root, "/sys/class/infiniband/*/ports/*/state") == ({path: "4: ACTIVE\n"}, {})


@pytest.mark.root
def test_a_device_below_the_root_is_not_opened(root: Path) -> None:
    """/dev/kmsg of an image is a door to this machine's kernel, and not to the image's."""
    import os  # noqa: PLC0415 - for the one test that makes a device

    (root / "dev").mkdir()
    os.mknod(root / "dev/kmsg", 0o600 | 0o020000, os.makedev(1, 11))
    assert read(root, "/dev/kmsg") == ({}, {"/dev/kmsg": "ENXIO"})


def test_a_fifo_is_not_waited_for(root: Path) -> None:
    """A FIFO where a file should be has no writer and must not hold the reader."""
    import os  # noqa: PLC0415 - for the one test that makes a FIFO

    os.mkfifo(root / "etc/fifo")
    assert read(root, "/etc/fifo") == ({}, {"/etc/fifo": "ENXIO"})


@given(st.lists(st.sampled_from(["..", ".", "", "etc", "usr", "lib", "a"]), max_size=8))
def test_whatever_the_path_it_resolves_inside(
    tmp_path_factory: pytest.TempPathFactory, segments: list[str]
) -> None:
    """No path of any segments names a place outside of the root."""
    root = tmp_path_factory.mktemp("root")
    (root / "usr/lib").mkdir(parents=True)
    (root / "etc").symlink_to("/usr")
    (root / "a").symlink_to("usr/../a2")
    (root / "a2").symlink_to("../..")
    try:
        place = rooted.resolve(str(root), "/".join(segments))
    except OSError:
        place = str(root)
    assert Path(place).is_relative_to(root.resolve())


WORDS = st.lists(st.sampled_from(["..", ".", "", "etc", "usr", "lib", "a", "b"]), max_size=6)


def placed(call: Callable[[], str]) -> str:
    """Return the place, or the number of the error."""
    try:
        return call()
    except OSError as problem:
        return str(problem.errno)


@given(st.lists(WORDS, max_size=6))
def test_a_folder_that_is_known_is_where_it_was(
    tmp_path_factory: pytest.TempPathFactory, paths: list[list[str]]
) -> None:
    """Places that are kept for one question are those that each path has by itself."""
    root = tmp_path_factory.mktemp("root")
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/b").touch()
    (root / "etc").symlink_to("/usr")
    (root / "a").symlink_to("usr/../a2")
    (root / "a2").symlink_to("../..")
    (root / "b").symlink_to("etc/lib")
    names = ["/" + "/".join(words) for words in paths]
    known: dict[str, str] = {}

    assert [placed(partial(rooted.resolve, str(root), name)) for name in names] == [
        placed(partial(rooted.within, str(root), name, known)) for name in names
    ]


def test_a_folder_is_looked_for_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred files of one folder are a hundred looks, and not one at each folder above too."""
    import os  # noqa: PLC0415 - for the one test that counts its calls

    deep = root / "sys/devices/pci0000:15/a/b/c/d"
    deep.mkdir(parents=True)
    for number in range(100):
        (deep / f"f{number}").touch()
    looks: list[object] = []
    look = os.lstat

    def counted(path: str) -> os.stat_result:
        looks.append(path)
        return look(path)

    monkeypatch.setattr(os, "lstat", counted)
    known: dict[str, str] = {}
    for number in range(100):
        rooted.within(str(root), f"/sys/devices/pci0000:15/a/b/c/d/f{number}", known)

    inside = [path for path in looks if str(path).startswith(f"{deep}/")]
    assert (100, True) == (len(inside), len(looks) < 150)


async def test_only_files_are_seen(root: Path) -> None:
    """Tools, driver and logs' machine are Missing under --root, and the files are the root's."""
    node = Live(root=str(root))
    seen = await node.files("/etc/hostname")
    ran = await node.command("ping", "-n", "127.0.0.1", deadline_s=5)
    asked = await node.ask("kernel_log")
    identity = await node.identity()
    await node.close()
    causes = [got.cause for got in (ran, asked) if isinstance(got, Missing)]
    assert (seen, causes, identity.node) == (
        Files(texts={"/etc/hostname": "gpu-017\n"}),
        [Cause.NOT_RECORDED, Cause.NOT_RECORDED],
        "gpu-017",
    )
