"""The verb `files`: what a pattern names, and nothing said of what is not there."""

import glob
import os
import time
import tracemalloc
from pathlib import Path

import pytest

from collectors.helpers.children.files import files, log_tail
from collectors.helpers.children.matching import Listed
from tests.pace import slower


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for pid in ("1", "22", "333"):
        (tmp_path / pid / "task").mkdir(parents=True)
        (tmp_path / pid / "stat").write_text(f"{pid} (sh) S")
    (tmp_path / "22" / "stat").unlink()
    (tmp_path / "4444").write_text("a file where others are folders")
    (tmp_path / "333" / "gone").symlink_to("nowhere")
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    ["[0-9]*/stat", "[0-9]*/task/../stat", "[0-9]*/gone", "1/stat", "22/stat", "[x]/stat", "*"],
)
def test_a_pattern_names_what_a_shell_would(tree: Path, pattern: str) -> None:
    """Whatever is readable of what matches is there; what is absent is no error."""
    whole = f"{tree}/{pattern}"
    got = files("/", [whole], [], 100)
    there = glob.glob(whole)  # noqa: PTH207 - the standard library's matching is the measure
    expected = {p: Path(p).read_text() for p in there if Path(p).is_file()}
    folders = {p: "EISDIR" for p in there if Path(p).is_dir()}

    assert (expected, folders) == (got["texts"], got["errors"])


@pytest.mark.root
def test_what_is_forbidden_is_said_and_what_cannot_be_told_is_not(tree: Path) -> None:
    """A file that may not be read is EACCES; in a closed folder nobody can tell what is there."""
    for folder in (tree, *tree.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    (tree / "1" / "stat").chmod(0o000)
    (tree / "333").chmod(0o000)
    os.seteuid(65534)
    try:
        got = files("/", [f"{tree}/[0-9]*/stat"], [], 100)
    finally:
        os.seteuid(0)

    assert ({}, {f"{tree}/1/stat": "EACCES"}) == (got["texts"], got["errors"])


def test_a_line_without_end_takes_no_more_memory_than_its_cap(tmp_path: Path) -> None:
    """R16: of 300 MB without a line end nothing is a whole line, and some MiB are held."""
    log = tmp_path / "huge.log"
    with log.open("wb") as file:
        file.truncate(300 << 20)
    tracemalloc.start()
    got = log_tail(str(log), 1 << 20)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert ({"text": "", "first_line": 1, "skipped_bytes": 300 << 20}, True) == (
        got,
        held < 8 << 20,
    )


def test_the_end_of_a_log_of_ten_gigabytes_has_no_number(tmp_path: Path) -> None:
    """Its lines are not counted: the read is of the end alone, and done within its deadline."""
    log = tmp_path / "huge.log"
    end = b"\nstep 88123 loss 2.71\n"
    with log.open("wb") as file:
        file.truncate(10 << 30)
        file.seek(-len(end), os.SEEK_END)
        file.write(end)
    began = time.process_time()
    got = log_tail(str(log), 1 << 20)
    used_s = time.process_time() - began

    expected = {
        "text": "step 88123 loss 2.71\n",
        "first_line": None,
        "skipped_bytes": (10 << 30) - len(end) + 1,
    }
    assert (expected, True) == (got, used_s < 1.0 * slower())


@pytest.mark.parametrize(
    "pattern",
    [
        "lib/libcuda.so.*",
        "lib/lib*",
        "lib/.h*",
        "lib/*",
        "none/lib*",
        "l?b/libcuda.so",
        "l*/*/",
        "*/lib[!c]*",
        "*/*/*",
        "lib/*/../libc.so.6",
    ],
)
def test_names_are_those_that_glob_gives(tmp_path: Path, pattern: str) -> None:
    """A folder is listed once for all patterns; what matches is what it always was."""
    (tmp_path / "lib").mkdir()
    for name in ("libcuda.so", "libcuda.so.1", "libcuda.so.580.95.05", "libc.so.6", ".hidden"):
        (tmp_path / "lib" / name).touch()
    got = files("/", [], [f"{tmp_path}/{pattern}", f"{tmp_path}/lib/libcuda.so.1"], 100)["texts"]

    matched = glob.glob(f"{tmp_path}/{pattern}")  # noqa: PTH207 - it is what is compared with
    assert {*matched, f"{tmp_path}/lib/libcuda.so.1"} == set(got)


def test_a_folder_without_news_is_not_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of libraries are listed once; one that came, or went, is seen at the next look."""
    (tmp_path / "libnvidia-ml.so.580.95.05").touch()
    os.utime(tmp_path, (1_700_000_000, 1_700_000_000))
    listed: list[str] = []
    real = os.listdir

    def counted(path: str) -> list[str]:
        listed.append(path)
        return real(path)

    monkeypatch.setattr(os, "listdir", counted)
    of = Listed()
    looks = [of.matching(str(tmp_path), "libnvidia-ml.so.*") for _ in range(3)]
    (tmp_path / "libnvidia-ml.so.580.126.09").touch()
    later = of.matching(str(tmp_path), "libnvidia-ml.so.*")

    assert ([["libnvidia-ml.so.580.95.05"]] * 3, 2, 2) == (looks, len(listed), len(later or ()))


def test_a_folder_that_just_changed_is_listed_each_time(tmp_path: Path) -> None:
    """Two changes within one tick of a file system's clock leave the same time: both are seen."""
    of = Listed()
    stamp = time.time_ns()
    os.utime(tmp_path, ns=(stamp, stamp))
    before = of.matching(str(tmp_path), "lib*")
    (tmp_path / "libcuda.so.1").touch()
    os.utime(tmp_path, ns=(stamp, stamp))

    assert ([], ["libcuda.so.1"]) == (before, of.matching(str(tmp_path), "lib*"))


@pytest.mark.parametrize("folder", ["/proc", "/sys/class/net", "/dev", "/run", ""])
def test_what_the_kernel_shows_is_listed_each_time(folder: str) -> None:
    """The time of such a folder says nothing of what is in it."""
    assert None is Listed().matching(folder, "a*")


@pytest.mark.parametrize("pattern", ["/sys/class/net/*/type", "/proc/[0-9]*/stat"])
def test_what_is_one_piece_is_read_whole(pattern: str) -> None:
    """A short answer of the kernel is the whole file: it is what another reading of it says."""
    got = files("/", [pattern], [], 4096)["texts"]
    mine = {path: text for path, text in got.items() if "/proc/" not in path or "/self/" in path}
    ends = {text[-1:] for text in got.values()}

    assert ({"\n"}, {p: Path(p).read_text() for p in mine}) == (ends, mine)


def test_a_folder_is_listed_once_for_all_patterns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels of one tree, and the files in them, are patterns of their own, and one walk."""
    for at in ("a/b/c", "a/d"):
        (tmp_path / at).mkdir(parents=True)
        (tmp_path / at / "uevent").write_text(at)
    listed: list[str] = []
    real = os.listdir

    def counted(path: str) -> list[str]:
        listed.append(path)
        return real(path)

    monkeypatch.setattr(os, "listdir", counted)
    levels = [f"{tmp_path}/*", f"{tmp_path}/*/*", f"{tmp_path}/*/*/*"]
    got = files("/", [f"{one}/uevent" for one in levels], [f"{one}/physfn" for one in levels], 99)

    assert (["a/b/c", "a/d"], len(set(listed))) == (sorted(got["texts"].values()), len(listed))
