"""What a recorder writes down is answered again by the replay, at the same time of the walk."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.node.live import Live
from collectors.node.protocol import Node
from collectors.node.recorded import Recorded
from collectors.node.recorder import Recorder
from collectors.node.recording.writer import Place, Recording, meta
from tests.collectors.node.keeping import keep, opened, replayed
from tests.recording import write

UPTIME = "/proc/uptime"
STAT = "/proc/[0-9]*/stat"


def tool(folder: Path, text: str) -> str:
    """Write a tool that the table can name."""
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def put(root: Path, path: str, text: str) -> Path:
    """Write a file of a root."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


async def test_a_second_sample_is_found_at_its_time(tmp_path: Path) -> None:
    """A counter read again after a second lies in at/1; what did not change is not repeated."""
    root = tmp_path / "root"
    put(root, "/proc/diskstats", "first\n")
    put(root, "/etc/hostname", "gpu-017\n")
    recorder = Recorder(Live(root=str(root)))
    await recorder.files("/proc/diskstats", "/etc/hostname")
    put(root, "/proc/diskstats", "second\n")
    await recorder.sleep(1.0)
    await recorder.files("/proc/diskstats", "/etc/hostname")
    await recorder.close()
    folder = tmp_path / "kept"
    node = await replayed(recorder, folder)
    later = [str(p.relative_to(folder)) for p in (folder / "at").rglob("*") if p.is_file()]
    first = await node.files("/proc/diskstats")
    await node.sleep(1.0)
    second = await node.files("/proc/diskstats")
    assert (later, first, second) == (
        ["at/1/files/proc/diskstats"],
        Files(texts={"/proc/diskstats": "first\n"}),
        Files(texts={"/proc/diskstats": "second\n"}),
    )


async def test_a_file_that_goes_and_one_that_comes(tmp_path: Path) -> None:
    """A process that ended is ENOENT in the later state; one that began stands there alone."""
    root = tmp_path / "root"
    gone = put(root, "/proc/100/stat", "100 (a) S 1\n")
    put(root, "/proc/1/stat", "1 (init) S 0\n")
    recorder = Recorder(Live(root=str(root)))
    await recorder.files(STAT)
    gone.unlink()
    put(root, "/proc/200/stat", "200 (b) S 1\n")
    await recorder.sleep(0.5)
    await recorder.files(STAT)
    await recorder.close()
    folder = tmp_path / "kept"
    node = await replayed(recorder, folder)
    first = await node.files(STAT)
    await node.sleep(0.5)
    second = await node.files(STAT)
    errors = (folder / "at/0.5/errors.toml").read_text()
    assert isinstance(first, Files)
    assert isinstance(second, Files)
    assert (sorted(first.texts), sorted(second.texts), errors) == (
        ["/proc/1/stat", "/proc/100/stat"],
        ["/proc/1/stat", "/proc/200/stat"],
        '"/proc/100/stat" = "ENOENT"\n',
    )


async def test_the_same_time_has_the_same_answer(tmp_path: Path) -> None:
    """Two collectors that read one file at one time of the walk are told the same, as in a replay.

    So is one whose pattern did not match a process that began between the two: it sees none.
    """
    root = tmp_path / "root"
    put(root, UPTIME, "100.00 1\n")
    put(root, "/proc/1/stat", "1 (init) S 0\n")
    recorder = Recorder(Live(root=str(root)))
    one, two = recorder.branch(), recorder.branch()
    first = await one.files(UPTIME, STAT)
    put(root, UPTIME, "100.30 1\n")
    put(root, "/proc/2/stat", "2 (new) S 0\n")
    second = await two.files(UPTIME, "/proc/*/stat")
    await recorder.close()
    assert first == second


async def test_names_are_known_to_exist_and_no_more(tmp_path: Path) -> None:
    """Of a folder whose name was asked the replay knows that it is there, not what is in it."""
    root = tmp_path / "root"
    put(root, "/sys/module/nvidia/version", "580.65.06\n")
    recorder = Recorder(Live(root=str(root)))
    asked = ("/sys/module/nvidia", "/sys/module/nouveau")
    await recorder.files(names=asked)
    await recorder.close()
    node = await replayed(recorder, tmp_path / "kept")
    known = await node.files(names=asked)
    inside = await node.files("/sys/module/nvidia/version")
    assert isinstance(inside, Missing)
    assert (known, inside.cause) == (
        Files(texts={"/sys/module/nvidia": ""}),
        Cause.NOT_RECORDED,
    )


async def test_an_unreadable_file_is_an_error_again(tmp_path: Path) -> None:
    """A link out of the root is refused with EXDEV, live and in the replay."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/leak").symlink_to("../../secret")
    recorder = Recorder(Live(root=str(root)))
    first = await recorder.files("/etc/*")
    await recorder.close()
    node = await replayed(recorder, tmp_path / "kept")
    second = await node.files("/etc/*")
    assert (first, second) == (Files(texts={}, errors={"/etc/leak": "EXDEV"}),) * 2


async def test_a_command_is_answered_with_its_seconds(tmp_path: Path) -> None:
    """Output, status and duration come back; the replay's clock moves by the same milliseconds."""
    script = tool(tmp_path, "echo 10 packets; echo late >&2; exit 1")
    recorder = Recorder(Live(tools={"ping": script}))
    live = await recorder.command("ping", "-n", "10.0.0.5", deadline_s=5)
    await recorder.close()
    node = await replayed(recorder, tmp_path / "kept")
    again = await node.command("ping", "-n", "10.0.0.5", deadline_s=5)
    assert isinstance(live, Output)
    assert (again, node.monotonic(), live.stdout, live.stderr, live.status) == (
        live,
        recorder.monotonic(),
        "10 packets\n",
        "late\n",
        1,
    )


async def test_a_hang_is_a_hang_again_and_at_once(tmp_path: Path) -> None:
    """A tool that did not end in time is Missing(timeout) in the replay, with the same words."""
    script = tool(tmp_path, "exec sleep 60")
    recorder = Recorder(Live(tools={"ping": script}))
    live = await recorder.command("ping", deadline_s=0.2)
    await recorder.close()
    node = await replayed(recorder, tmp_path / "kept")
    before = asyncio.get_running_loop().time()
    again = await node.command("ping", deadline_s=0.2)
    spent = asyncio.get_running_loop().time() - before
    assert isinstance(live, Missing)
    assert (again, live.cause, node.monotonic(), spent < 0.1) == (live, Cause.TIMEOUT, 0.2, True)


async def test_an_absent_tool_is_absent_and_another_question_is_not_recorded(
    tmp_path: Path,
) -> None:
    """`not installed` holds for any arguments; of a tool that ran, other runs are not known."""
    script = tool(tmp_path, "echo ok")
    recorder = Recorder(Live(tools={"ping": script, "crictl": "/nonexistent/crictl"}))
    await recorder.command("ping", "a", deadline_s=5)
    await recorder.command("crictl", "ps", deadline_s=5)
    await recorder.close()
    node = await replayed(recorder, tmp_path / "kept")
    asked = [("crictl", "version"), ("ping", "b"), ("docker", "ps")]
    answers = [await node.command(name, arg, deadline_s=5) for name, arg in asked]
    causes = [got.cause for got in answers if isinstance(got, Missing)]
    assert causes == [Cause.NO_TOOL, Cause.NOT_RECORDED, Cause.NOT_RECORDED]


async def test_a_log_that_cannot_be_read_is_unreadable_again(tmp_path: Path) -> None:
    """The replay names the same log and says why it was not seen."""
    recorder = Recorder(Live())
    live = await recorder.log(str(tmp_path / "none.log"))
    await recorder.close()
    node = await replayed(recorder, tmp_path / "kept")
    again = await node.log(node.logs[0])
    assert isinstance(live, Missing)
    assert (again, len(node.logs)) == (live, 1)


@pytest.mark.parametrize("first", [90, None])
async def test_a_kept_log_has_its_line_numbers(tmp_path: Path, first: int | None) -> None:
    """A tail keeps the number of its first line, or that nobody counted up to it."""
    source = write(
        tmp_path / "source",
        logs={"train.log": "a\nb\n"},
        answers=[{"kind": "log", "args": {"path": "train.log"}, "answer": {"first_line": first}}],
    )
    recorder = Recorder(await opened(source))
    live = await recorder.log("train.log")
    node = await replayed(recorder, tmp_path / "kept", logs=str)
    again = await node.log("train.log")
    assert (again, getattr(live, "first_line", 0)) == (live, first)


async def test_a_question_for_files_that_got_no_answer(tmp_path: Path) -> None:
    """Where reading files hung, the replay says so of the same question and takes as long."""
    lost = {"cause": "timeout", "detail": "no answer in 5 s", "stuck": "pid 7, state D"}
    args = {"patterns": ["/proc/mounts"], "names": [], "cap": 65_536}
    source = write(
        tmp_path / "source",
        answers=[{"kind": "files", "args": args, "seconds": 5.0, "missing": lost}],
    )
    recorder = Recorder(await opened(source))
    # The recording's clock is the recorder's wall clock here: it moves only by what is done.
    live = await recorder.files("/proc/mounts")
    node = await replayed(recorder, tmp_path / "kept")
    again = await node.files("/proc/mounts")
    assert isinstance(live, Missing)
    assert (again, live.stuck, node.monotonic()) == (live, "pid 7, state D", 5.0)


async def test_what_the_kernel_said_meanwhile_follows(tmp_path: Path) -> None:
    """A later kmsg.log holds only the new records; the replay has them from their time on."""
    source = write(tmp_path / "source", kinds=["kernel_log"])
    (source / "kmsg.log").write_text("6,1,100,-;first\n DEVICE=+pci:0000:4e:00.0\n")
    (source / "at/2").mkdir(parents=True)
    (source / "at/2/kmsg.log").write_text("6,2,200,-;second\n")
    recorder = Recorder(await opened(source))
    await recorder.ask("kernel_log")
    await recorder.sleep(2)
    live = await recorder.ask("kernel_log")
    folder = tmp_path / "kept"
    node = await replayed(recorder, folder)
    await node.sleep(2)
    again = await node.ask("kernel_log")
    later = (folder / "at/2/kmsg.log").read_text()
    assert (again, later, len(live["lines"])) == (live, "6,2,200,-;second\n", 3)


async def test_a_kernel_log_of_another_source_is_an_answer(tmp_path: Path) -> None:
    """kmsg.log cannot say that lines were lost, or that the journal told them; an answer can."""
    told = {"lines": ["6,1,100,-;first"], "lost": 3, "source": "journald"}
    source = write(tmp_path / "source", answers=[{"kind": "kernel_log", "answer": told}])
    recorder = Recorder(await opened(source))
    live = await recorder.ask("kernel_log")
    folder = tmp_path / "kept"
    again = await (await replayed(recorder, folder)).ask("kernel_log")
    assert (live, again, (folder / "kmsg.log").exists()) == (told, told, False)


QUESTIONS: list[Callable[[Node], Any]] = [
    lambda node: node.files("/proc/*/stat", names=("/dev/nvidia0",)),
    lambda node: node.files("/proc/1/stat", "/proc/uptime", cap=4),
    lambda node: node.files(names=("/proc/*", "/sys/none")),
    lambda node: node.command("ping", "a", deadline_s=1.0),
    lambda node: node.command("scontrol", deadline_s=0.25),
    lambda node: node.ask("blocked", pids=[1], deadline_s=1.0),
    lambda node: node.ask("unknown"),
    lambda node: node.sleep(0.7),
    lambda node: node.sleep(0.1),
]
STATE = st.fixed_dictionaries(
    {
        "files": st.dictionaries(
            st.sampled_from(["/proc/1/stat", "/proc/2/stat", "/proc/uptime", "/dev/nvidia0"]),
            st.text(alphabet="ab\né", max_size=6),
        ),
        "errors": st.dictionaries(
            st.sampled_from(["/proc/1/stat", "/proc/3/stat", "/proc/2"]),
            st.sampled_from(["ENOENT", "EACCES"]),
        ),
        "commands": st.lists(
            st.builds(
                lambda argv, seconds, out: {"argv": argv, "seconds": seconds, "stdout": out},
                st.sampled_from([["ping", "a"], ["scontrol"]]),
                st.sampled_from([0.0, 0.1, 0.3, 2.0]),
                st.text(alphabet="xy", max_size=3),
            ),
            max_size=2,
        ),
        "answers": st.lists(
            st.builds(
                lambda answer, seconds: {
                    "kind": "blocked",
                    "args": {"pids": [1]},
                    "answer": answer,
                    "seconds": seconds,
                },
                st.one_of(st.none(), st.integers(), st.lists(st.text(max_size=3))),
                st.sampled_from([0.0, 0.2]),
            ),
            max_size=1,
        ),
    }
)
SCRIPT = st.lists(
    st.lists(st.lists(st.sampled_from(range(len(QUESTIONS))), max_size=5), max_size=3), max_size=3
)


async def walk(node: Node, script: list[list[list[int]]]) -> list[Any]:
    """Ask stage by stage, each stage on branches; return all answers with their times."""
    told: list[Any] = []
    for stage in script:
        branches = [node.branch() for _ in stage]
        for branch, questions in zip(branches, stage, strict=True):
            told += [
                (await QUESTIONS[number](branch), branch.monotonic(), branch.now())
                for number in questions
            ]
        node.join(branches)
    return [*told, node.monotonic()]


@given(states=st.lists(STATE, min_size=1, max_size=4), script=SCRIPT)
async def test_any_walk_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, Any]], script: Any
) -> None:
    """Whatever is asked on whatever branches of a changing node, the replay tells the same.

    What has an answer has one from the start: a tool that comes during a walk holds for all of it.
    """
    folder = tmp_path_factory.mktemp("walk")
    first = dict(states[0])
    first["commands"] = [{"argv": ["ping", "a"]}, {"argv": ["scontrol"]}, *first["commands"]]
    first["answers"] = first["answers"] or [{"kind": "blocked", "args": {"pids": [1]}}]
    source = write(folder / "source", **first, tools=["ping", "scontrol"])
    for number, state in enumerate(states[1:], start=1):
        write(source / "at" / str(number / 2), **state)
    recorder = Recorder(await opened(source))
    live = await walk(recorder, script)
    node = await replayed(recorder, folder / "kept")
    assert await walk(node, script) == live


def test_an_existing_folder_is_left_as_it_is(tmp_path: Path) -> None:
    """A recording is not written over or into anything."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/note").write_text("mine")
    with pytest.raises(FileExistsError), Place(tmp_path / "kept"):
        pass
    assert [p.name for p in tmp_path.rglob("*")] == ["kept", "note"]


def test_an_empty_folder_may_be_named(tmp_path: Path) -> None:
    """`mkdir x; gpudiag record x` is what people do."""
    (tmp_path / "kept").mkdir()
    keep(Recorder(Recorded(write(tmp_path / "source"))), tmp_path / "kept")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept", "source"]


def test_a_failed_recording_leaves_nothing(tmp_path: Path) -> None:
    """Neither the name nor the partial folder is there after an error."""

    def fail() -> None:
        with Place(tmp_path / "kept") as place:
            place.write("files/proc/uptime", "1.0\n")
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
@pytest.mark.serial
@pytest.mark.tool("findmnt")
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """On a file system without room the error is the system's, and no half recording stays."""
    recorder = Recorder(Recorded(write(tmp_path / "source")))
    page = meta(recorder.journal, node="n", taken=recorder.taken)
    small = tmp_path / "small"
    small.mkdir()

    def fill() -> None:
        with Place(small / "kept") as place:
            place.write("files/large", "x" * 200_000)
            Recording(journal=recorder.journal, meta=page).write(place)

    assert os.system(f"mount -t tmpfs -o size=64k tmpfs {small}") == 0  # noqa: S605 - as written
    try:
        with pytest.raises(OSError, match="No space left") as raised:
            fill()
        left = list(small.iterdir())
    finally:
        os.system(f"umount {small}")  # noqa: S605 - as written
    assert (raised.value.errno, left) == (errno.ENOSPC, [])
