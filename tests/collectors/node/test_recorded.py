"""A recording is replayed whole, or refused in one line that names the file."""

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.node.recorded import Recorded, RecordingError
from collectors.node.recording import loader
from tests.collectors.node.keeping import opened
from tests.pace import spent
from tests.recording import write

PING = {"argv": ["ping", "a"], "status": 0, "stdout": "ok\n", "seconds": 0.25}
MOUNTS = {"kind": "mounts", "args": {"x": 1}, "answer": {"a": [1]}, "seconds": 3.0}


def small(folder: Path) -> Path:
    """Write a recording that has one of everything, and a later state."""
    files = {"/proc/uptime": "100.00 1\n", "/proc/1/stat": "1 (init) S 0\n", "/dev/nvidia0": ""}
    write(
        folder,
        files=files,
        errors={"/proc/1/environ": "EACCES"},
        commands=[PING],
        answers=[MOUNTS],
        logs={"train.log": "step 1\n"},
        paths=["/proc", "/dev/nvidia[0-9]*"],
        tools=["ping", "docker"],
        kinds=["mounts"],
    )
    (folder / "kmsg.log").write_text("6,1,100,-;first\n")
    later = {"/proc/uptime": "101.00 1\n"}
    write(folder / "at/1", files=later, errors={"/proc/1": "ENOENT"}, commands=[PING])
    return folder


def refusal(folder: Path) -> str:
    """Return why a recording is refused, without the folder's own name."""
    with pytest.raises(RecordingError) as raised:
        Recorded(folder)
    assert str(raised.value).count("\n") == 0
    return str(raised.value).replace(str(folder), "DIR")


async def test_later_states_move_with_the_clock(tmp_path: Path) -> None:
    """A second on, files have their later text; a folder that is gone is gone with all in it."""
    node = await opened(small(tmp_path / "r"))
    before = await node.files("/proc/uptime", "/proc/*/stat", "/proc/1/environ")
    await node.sleep(1)
    after = await node.files("/proc/uptime", "/proc/*/stat", "/proc/1/environ", names=("/proc/1",))
    assert (before, after) == (
        Files(
            texts={"/proc/uptime": "100.00 1\n", "/proc/1/stat": "1 (init) S 0\n"},
            errors={"/proc/1/environ": "EACCES"},
        ),
        Files(texts={"/proc/uptime": "101.00 1\n"}),
    )


async def test_branches_have_their_own_time(tmp_path: Path) -> None:
    """Work at the same time does not add up; what comes after begins when the last is done."""
    node = await opened(small(tmp_path / "r"))
    one, two = node.branch(), node.branch()
    for _ in range(3):
        await one.command("ping", "a", deadline_s=1)
    await two.sleep(0.1)
    node.join([one, two])
    assert (one.monotonic(), two.monotonic(), node.monotonic()) == (0.75, 0.1, 0.75)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
async def test_the_order_of_tasks_does_not_show(tmp_path: Path, order: tuple[int, ...]) -> None:
    """0.1 + 0.2 + 0.7 s is one time, in whatever order tasks come to their turn."""
    node = await opened(small(tmp_path / "r"))
    for number in order:
        await node.sleep((0.1, 0.2, 0.7)[number])
    assert node.monotonic() == 1.0


async def test_a_recorded_hang_is_judged_against_the_deadline(tmp_path: Path) -> None:
    """An answer that took 3 s is late for who waits 2 s, and it is so at once."""
    node = await opened(small(tmp_path / "r"))
    began = time.perf_counter()
    late = await node.ask("mounts", x=1, deadline_s=2)
    passed = node.monotonic()
    answer = await node.ask("mounts", x=1, deadline_s=5)
    passed_s = time.perf_counter() - began
    expected = Missing(what="mounts", cause=Cause.TIMEOUT, detail="no answer in 2 s")
    assert (late, passed, answer, passed_s < 1) == (expected, 2.0, {"a": [1]}, True)


async def test_inside_what_it_holds_absent_is_absent(tmp_path: Path) -> None:
    """A file, a tool and a device that the node had not are told from what was never asked."""
    node = await opened(small(tmp_path / "r"))
    inside = await node.files("/proc/loadavg", names=("/dev/nvidia1",))
    outside = [
        await node.files("/sys/class/net/*/mtu"),
        await node.files(names=("/dev/kmsg",)),
        await node.command("ping", "b", deadline_s=1),
        await node.command("crictl", deadline_s=1),
        await node.ask("mounts", x=2),
        await node.log("other.log"),
    ]
    absent = await node.command("docker", "ps", deadline_s=1)
    causes = {got.cause for got in outside if isinstance(got, Missing)}
    assert (inside, causes, len(outside), absent) == (
        Files(texts={}),
        {Cause.NOT_RECORDED},
        6,
        Missing(what="docker", cause=Cause.NO_TOOL, detail="docker is not installed"),
    )


async def test_it_can_be_edited_by_hand(tmp_path: Path) -> None:
    """A file taken away is absent, and a value that was changed is the changed one."""
    folder = small(tmp_path / "r")
    (folder / "files/proc/1/stat").unlink()
    (folder / "files/proc/uptime").write_text("7.00 1\n")
    (folder / "commands/0000.json").write_text('{"argv": ["ping", "a"], "status": 2}')
    (folder / "at/1/commands/0000.json").unlink()
    node = await opened(folder)
    seen = await node.files("/proc/uptime", "/proc/*/stat")
    ran = await node.command("ping", "a", deadline_s=1)
    expected = Output(argv=("ping", "a"), status=2, stdout="")
    assert (seen, ran) == (Files(texts={"/proc/uptime": "7.00 1\n"}), expected)


async def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are shown as the live node shows them."""
    folder = small(tmp_path / "r")
    (folder / "files/proc/uptime").write_bytes(b"a\xff\xfeb")
    node = await opened(folder)
    assert await node.files("/proc/uptime") == Files(texts={"/proc/uptime": "a\\xff\\xfeb"})


async def test_a_dot_file_needs_its_dot(tmp_path: Path) -> None:
    """`*` passes over names that begin with a dot, as it does on a live node."""
    node = await opened(write(tmp_path / "r", files={"/etc/.hidden": "a", "/etc/b": "b"}))
    assert [await node.files("/etc/*"), await node.files("/etc/.*")] == [
        Files(texts={"/etc/b": "b"}),
        Files(texts={"/etc/.hidden": "a"}),
    ]


REFUSED: dict[str, tuple[str, str, str]] = {
    "schema": (
        "meta.toml",
        'schema = "gpudiag.recording/2"\nnew = 1\n',
        "DIR/meta.toml: schema 'gpudiag.recording/2'; this gpudiag reads 'gpudiag.recording/1'",
    ),
    "unknown answer key": (
        "answers/mounts/x.json",
        '{"kind": "mounts", "answr": 1}',
        "DIR/answers/mounts/x.json: Object contains unknown field `answr`",
    ),
    "cause": (
        "commands/x.json",
        '{"argv": ["ping"], "missing": {"cause": "tired", "detail": "x"}}',
        "DIR/commands/x.json: Invalid enum value 'tired' - at `$.missing.cause`",
    ),
    "seconds": (
        "commands/x.json",
        '{"argv": ["ping"], "seconds": -1}',
        "DIR/commands/x.json: Expected `float` >= 0.0 - at `$.seconds`",
    ),
    "dots": (
        "errors.toml",
        '"/proc/../etc/shadow" = "EACCES"\n',
        "DIR/errors.toml: '/proc/../etc/shadow' is no absolute path without `..`",
    ),
    "errno": (
        "errors.toml",
        '"/proc/x" = "oh no"\n',
        "DIR/errors.toml: /proc/x: 'oh no' is no errno name such as EACCES",
    ),
    "time": (
        "at/soon/errors.toml",
        "",
        "DIR/at/soon: its name is not a number of seconds",
    ),
    "the same time": ("at/1.0/errors.toml", "", "DIR/at/1: the same time as at/1.0"),
    "nan": ("at/nan/errors.toml", "", "DIR/at/nan: its name is not a number of seconds"),
    "kernel log": (
        "kmsg.log",
        "[  1.0] dmesg's form\n",
        "DIR/kmsg.log: line 1 is not of the form `6,1042,5123456,-;text`, as /dev/kmsg gives it",
    ),
    "json": (
        "commands/x.json",
        '{"argv": ["pi',
        "DIR/commands/x.json: cut short or not JSON (13 characters: Input data was truncated)",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_refused(tmp_path: Path, case: tuple[str, str, str]) -> None:
    """Each thing that is wrong is one line that names the file and what is wrong in it."""
    path, text, why = case
    folder = small(tmp_path / "r")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    assert refusal(folder) == why


@pytest.mark.parametrize(
    ("line", "by", "why"),
    [
        ("node =", "nodes =", "Object contains unknown field `nodes`"),
        ('taken = "2026', 'extra = 1\ntaken = "2026', "Object contains unknown field `extra`"),
        ("09Z", "09", "taken: '2026-11-30T02:11:09' is no time with its zone"),
        ("2026-11-30T02", "yesterday", "taken: Invalid isoformat string: 'yesterday:11:09Z'"),
        ("[holds]", "[held]", "Object contains unknown field `held`"),
        ("kinds =", "kind =", "Object contains unknown field `kind` - at `$.holds`"),
        (
            'paths = ["/proc"',
            'paths = ["/../etc"',
            "holds: '/../etc' is no absolute path without `..`",
        ),
    ],
)
def test_a_wrong_first_page(tmp_path: Path, line: str, by: str, why: str) -> None:
    """meta.toml is checked key by key; a time without its zone would differ by the reader's."""
    folder = small(tmp_path / "r")
    text = (folder / "meta.toml").read_text()
    assert line in text
    (folder / "meta.toml").write_text(text.replace(line, by))
    assert refusal(folder) == f"DIR/meta.toml: {why}"


@pytest.mark.parametrize(
    "place", ["files/proc/link", "link", "meta.toml", "errors.toml", "logs/x", "at/2", "commands"]
)
@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "meta.toml", "/proc"])
def test_links_are_refused(tmp_path: Path, place: str, target: str) -> None:
    """Wherever a link stands and wherever it points, nothing is read through it."""
    folder = small(tmp_path / "r")
    path = folder / place
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    expected = f"DIR/{place}: is a link or a special file; a recording has none"
    assert refusal(folder) == expected


def test_a_fifo_is_refused_and_not_opened(tmp_path: Path) -> None:
    """A FIFO would hold the reader for ever."""
    folder = small(tmp_path / "r")
    os.mkfifo(folder / "files/proc/pipe")
    why = "DIR/files/proc/pipe: is a link or a special file; a recording has none"
    assert refusal(folder) == why


def test_no_recording(tmp_path: Path) -> None:
    """A folder without a first page, and no folder at all, are said to be no recording."""
    (tmp_path / "empty").mkdir()
    assert [refusal(tmp_path / "empty"), refusal(tmp_path / "none")] == [
        "DIR is no recording: it has no meta.toml",
        "DIR is no recording: no such folder",
    ]


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    """A file name of other bytes could not be printed in a report."""
    folder = small(tmp_path / "r")
    (folder / os.fsdecode(b"files/proc/\xff")).write_text("x")
    assert refusal(folder) == "DIR/files/proc/\\udcff: its name is not plain UTF-8 text"


def test_too_deep(tmp_path: Path) -> None:
    """Folders in folders end somewhere."""
    folder = small(tmp_path / "r")
    (folder / "files" / "/".join("d" * 70)).mkdir(parents=True)
    assert refusal(folder).endswith(": more than 64 folders deep")


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than the bound is not read into memory to find out; a sparse file is large."""
    monkeypatch.setattr(loader, "MOST_BYTES", 1 << 20)
    folder = small(tmp_path / "r")
    with (folder / "files/proc/huge").open("wb") as handle:
        handle.truncate(1 << 40)
    assert refusal(folder) == "DIR is larger than 1 MiB"


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a number of files that no node has."""
    monkeypatch.setattr(loader, "MOST_FILES", 3)
    assert "more than 3 files" in refusal(small(tmp_path / "r"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_nesting_without_end(tmp_path: Path, text: str) -> None:
    """JSON nested a hundred thousand deep is refused like any that is not whole."""
    folder = small(tmp_path / "r")
    (folder / "answers/mounts/x.json").write_text('{"kind": "m", "answer": ' + text)
    assert refusal(folder).startswith("DIR/answers/mounts/x.json: cut short or not JSON (")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the recording that is cut below."""
    return small(tmp_path_factory.mktemp("whole") / "r")


async def asked(node: Recorded) -> list[Any]:
    """Ask everything that the small recording can answer, at both its times."""
    told: list[Any] = []
    for _ in range(2):
        told += [
            await node.identity(),
            await node.files("/proc/*", "/proc/*/*", names=("/dev/nvidia0", "/proc/1")),
            await node.command("ping", "a", deadline_s=1),
            await node.command("docker", deadline_s=1),
            await node.ask("mounts", x=1),
            await node.ask("kernel_log"),
            await node.log("train.log"),
        ]
        await node.sleep(1)
    return told


FILES = [
    "answers/mounts/0000.json",
    "at/1/commands/0000.json",
    "at/1/errors.toml",
    "commands/0000.json",
    "errors.toml",
    "files/proc/uptime",
    "kmsg.log",
    "logs/train.log",
    "meta.toml",
]


@given(name=st.sampled_from(FILES), part=st.floats(0, 1), junk=st.binary(max_size=3))
async def test_cut_short_anywhere(
    whole: Path,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    part: float,
    junk: bytes,
) -> None:
    """Cut at any byte, with junk behind or not, it is refused by the file's name, or replayed."""
    folder = tmp_path_factory.mktemp("cut") / "r"
    shutil.copytree(whole, folder)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(len(data) * part)] + junk)
    try:
        told = f"{len(await asked(await opened(folder)))} answers"
    except RecordingError as problem:
        told = str(problem)[: len(f"{folder}/{name}: ")]
    assert told in ("14 answers", f"{folder}/{name}: ")


def test_every_cut_of_the_first_page_is_seen(whole: Path, tmp_path: Path) -> None:
    """A first page that lost its end is no recording of an empty node; only a line end may go."""
    folder = tmp_path / "r"
    shutil.copytree(whole, folder)
    text = (folder / "meta.toml").read_text()
    passed = []
    for length in range(len(text)):
        (folder / "meta.toml").write_text(text[:length])
        try:
            Recorded(folder)
        except RecordingError:
            continue
        passed.append(length)
    assert passed == [len(text) - 1]


def test_a_large_node_is_opened_in_a_moment(tmp_path: Path) -> None:
    """600 processes and two states cost no more than ten times what reading their files does."""
    stat = {f"/proc/{n}/{name}": f"{n} (a) S 1\n" for n in range(600) for name in ("stat", "comm")}
    folder = write(tmp_path / "r", files=stat)
    write(folder / "at/1", files={p: t + "1" for p, t in stat.items() if p.endswith("stat")})
    files = [path for path in folder.rglob("*") if path.is_file()]
    # The best of three each, in turns: how slow files are here and now weighs on both alike.
    turns = [(spent(lambda: read(files)), spent(lambda: Recorded(folder))) for _ in range(3)]
    plain, opened_in = (min(seconds) for seconds in zip(*turns, strict=True))
    assert (True, plain, opened_in) == (opened_in < 10 * plain, plain, opened_in)


def read(files: Iterable[Path]) -> None:
    """Read all of them, and keep nothing."""
    for path in files:
        path.read_bytes()
