"""Pages of faults: complete, short, no two alike, and a first command that only reads."""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.knowledge.pages import FAMILIES, Page, Pages, PagesError, load, near, parse

PAGES = sorted(load().items())
ONE = """
[disk_burns]
stage = "processes"
severity = "critical"
title = "burns"
meaning = "It burns."
causes = ["heat"]
look = "dmesg -T"
do = ["leave the room"]
never = "do not fan it"
"""

# Tools that change nothing, whatever follows them; redirections are refused for all.
READERS = frozenset(
    """
    awk cat df du findmnt free getent getfacl grep head ibping ibstat
    id iostat last ls lsmod lspci mtr nfsstat ping ps quota sacct
    show_gids sinfo sminfo smpquery sort squeue ss tail torchfrtrace tr uniq wc
    """.split()  # noqa: SIM905 - one name a line would be half a screen
)
# Tools that can also change a machine: the whole of what may follow.
CAREFUL = {
    "chronyc": r"tracking",
    "curl": r"-sS -m \d+ https://\S+",
    "dmesg": r"-T",
    "ethtool": r"((-S|-m) )?DEV",
    "gpudiag": r"run --all|status|config show|fleet (drift|nodes)|logs LOG --plot",
    "ibqueryerrors": r"--data",
    "ip": r"-br (addr|link)( show)?|route get \w+|neigh show",
    "ipmitool": r"(-I lanplus -H BMC -U USER )?(sdr (elist|type \w+)|sel elist|mc info"
    r"|dcmi power (reading|get_limit)|chassis power status)",
    "journalctl": r"((-k|-b( -1)?|-n \d+|-u \w+|--grep \S+|--since \w+|--no-pager)( |$))+",
    "kubectl": r"(get|describe) .+",
    "lfs": r"quota .+",
    "mlxlink": r"-d mlx5_0( --show_\w+)*",
    "nvidia-smi": r"((-q|-L|-i N|-d [A-Z_,]+|--query-[a-z-]+=[\w.,]+|--format=[a-z,]+)( |$))*"
    r"|topo -m|nvlink -[se]( -i N)?|pmon -c \d+|dmon -s \w+ -c \d+",
    "nvme": r"smart-log DEVICE",
    "perfquery": r"(-x)?",
    "py-spy": r"dump --pid PID",
    "python": r"-m pip list|-c QUOTED",
    "rdma": r"resource show",
    "scontrol": r"show .+",
    "smartctl": r"-a DEVICE",
    "ssh": r"(-o \w+=\w+ )+NODE hostname",
    "systemctl": r"(status|show) .+",
    "taskset": r"-cp PID",
}


def unsafe(look: str) -> list[str]:
    """The parts of a command line that are not known to only read."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "QUOTED", look)
    refused = [bare] if re.search(r"[>`&]|\$\(", bare) or "system(" in look else []
    for part in re.split(r"[;|]", bare):
        tool, _, rest = re.sub(r"^timeout \d+ ", "", part.strip()).partition(" ")
        if tool in READERS:
            continue
        if tool not in CAREFUL or not re.fullmatch(CAREFUL[tool], rest):
            refused.append(part.strip())
    return refused


def sentences(page: Page) -> set[str]:
    parts = {page.title, page.never, *page.causes, *page.do}
    parts.update(re.split(r"(?<=\.)\s+", page.meaning))
    return {part.rstrip(".").lower() for part in parts}


def shared(groups: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """Every text that stands in more than one group, with the groups it stands in."""
    seen: dict[str, list[str]] = defaultdict(list)
    for name, texts in groups:
        for text in texts:
            seen[text].append(name)
    return {text: names for text, names in seen.items() if len(names) > 1}


def rendered(page: Page) -> list[str]:
    """The page at 100 columns as `explain` lays it out: blocks beside a label of 16 columns."""
    head = [page.fault, *textwrap.wrap(page.title, 98), *textwrap.wrap(page.meaning, 98)]
    lists = (page.causes, (page.look,), page.do, (page.never,), page.apart, page.references)
    blocks = [[line for item in items for line in textwrap.wrap(item, 81)] for items in lists]
    return [line for block in (head, *filter(None, blocks)) for line in (*block, "")][:-1]


def too_long(page: Page) -> list[str]:
    limits = [(page.title, 90), (page.meaning, 220), (page.never, 110), (page.look, 160)]
    limits += [(text, 110) for text in (*page.causes, *page.do, *page.apart)]
    limits += [(text, 80) for text in page.references]
    return [f"{len(text)} > {most}: {text}" for text, most in limits if not 0 < len(text) <= most]


def folder() -> Traversable:
    return files("diagnostics.knowledge") / "pages"


def test_each_family_holds_its_pages() -> None:
    """The vocabulary counts some 200 faults; a page that got lost is missed."""
    counts = {
        entry.name.removesuffix(".toml"): len(parse(entry.name, entry.read_text(encoding="utf-8")))
        for entry in folder().iterdir()
    }
    expected = {
        "processes": 36,
        "storage": 14,
        "driver": 45,
        "chassis": 15,
        "network": 55,
        "training": 33,
        "user_code": 9,
        "scheduler": 13,
        "observer": 4,
    }
    assert expected == counts


def test_every_file_is_loaded() -> None:
    """The families that are loaded are the files of the folder."""
    names = sorted(entry.name.removesuffix(".toml") for entry in folder().iterdir())
    assert sorted(FAMILIES) == names


def test_ids_are_snake_case() -> None:
    """An id is one snake_case word, so that it can be a label and an argument."""
    odd = [fault for fault, _ in PAGES if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", fault)]
    expected: list[str] = []
    assert expected == odd


def test_a_page_knows_its_id() -> None:
    """A page carries the key under which it is found."""
    assert [fault for fault, _ in PAGES] == [page.fault for _, page in PAGES]


def test_no_two_pages_share_a_sentence() -> None:
    """Title, meaning, causes, steps and prohibition of a page stand in no other page."""
    repeated = shared((fault, sentences(page)) for fault, page in PAGES)
    expected: dict[str, list[str]] = {}
    assert expected == repeated


def test_a_shared_sentence_is_found() -> None:
    """The comparison sees one sentence in two meanings, whatever its case and full stop."""
    first = parse("a.toml", ONE)["disk_burns"]
    second = msgspec.structs.replace(first, fault="b", title="x", meaning="Smoke. it Burns.")
    texts = shared((page.fault, sentences(page)) for page in (first, second))
    assert {"it burns", "heat", "leave the room", "do not fan it"} == set(texts)


def test_fields_are_filled_and_short() -> None:
    """No field is empty or longer than a reader takes in at a glance."""
    wrong = {fault: too_long(page) for fault, page in PAGES if too_long(page)}
    expected: dict[str, list[str]] = {}
    assert expected == wrong


def test_lists_are_short() -> None:
    """A page names two to four causes and one to four steps."""
    wrong = [
        fault
        for fault, page in PAGES
        if len(page.causes) not in range(2, 5) or len(page.do) not in range(1, 5)
    ]
    expected: list[str] = []
    assert expected == wrong


def test_a_page_has_under_25_lines() -> None:
    """A page fits a terminal of 100 columns and 25 lines."""
    wrong = {fault: len(rendered(page)) for fault, page in PAGES if len(rendered(page)) >= 25}
    expected: dict[str, int] = {}
    assert expected == wrong


def test_a_title_follows_its_subject() -> None:
    """A title reads on after "subject: ": no capital at its start, no full stop at its end."""
    wrong = [fault for fault, page in PAGES if re.search(r"^[A-Z][a-z]|\.$|^$", page.title)]
    expected: list[str] = []
    assert expected == wrong


def test_look_alikes_exist() -> None:
    """Each entry of `apart` names another fault that has a page."""
    known = load().keys()
    wrong = [
        (fault, entry)
        for fault, page in PAGES
        for entry in page.apart
        if entry.partition(": ")[0] not in known - {fault}
    ]
    expected: list[tuple[str, str]] = []
    assert expected == wrong


def test_the_first_command_only_reads() -> None:
    """The command under `look` changes nothing and clears nothing: each part is on the list."""
    wrong = {fault: unsafe(page.look) for fault, page in PAGES if unsafe(page.look)}
    expected: dict[str, list[str]] = {}
    assert expected == wrong


@pytest.mark.parametrize(
    "command",
    [
        "perfquery -R",
        "perfquery -x -r",
        "dmesg -C",
        "dmesg -T -c",
        "ipmitool sel clear",
        "ipmitool chassis power cycle",
        "nvidia-smi -p 0",
        "nvidia-smi --gpu-reset -i N",
        "nvidia-smi -q -pl 300",
        "nvidia-smi nvlink -r 0",
        "ibqueryerrors -k",
        "systemctl restart nvidia-fabricmanager",
        "scontrol update nodename=N state=drain",
        "kubectl delete pod POD",
        "journalctl --vacuum-size=1M",
        "ip link set DEV down",
        "ethtool -G DEV rx 4096",
        "cat /etc/nccl.conf > /tmp/x",
        "ps aux | xargs kill",
        "ls; rm -rf /dev/shm/x",
        "timeout 5 modprobe nvidia",
        "awk 'BEGIN {system(\"reboot\")}'",
        "echo $(reboot)",
    ],
)
def test_a_command_that_changes_is_refused(command: str) -> None:
    """What clears a counter or log, changes a state or writes a file does not pass as a look."""
    expected = True
    assert expected == bool(unsafe(command))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a_b", "pages/x.toml: no TOML: Expected ']' at the end of a table declaration"),
        ("a_b = 1", "pages/x.toml: [a_b] is no table; put it under a [fault_id]"),
        (
            ONE.replace("critical", "fatal"),
            "[disk_burns] Invalid enum value 'fatal' - at `$.severity`",
        ),
        (ONE.replace("processes", "gpu"), "[disk_burns] Invalid enum value 'gpu' - at `$.stage`"),
        (ONE.replace("look =", "see ="), "[disk_burns] Object contains unknown field `see`"),
        (ONE.replace("never =", "# never"), "[disk_burns] Object missing required field `never`"),
        (
            ONE.replace('["heat"]', '"heat"'),
            "[disk_burns] Expected `array`, got `str` - at `$.causes`",
        ),
    ],
)
def test_a_broken_page_is_one_clear_line(text: str, message: str) -> None:
    """The error names file, fault and key."""
    with pytest.raises(PagesError) as error:
        parse("x.toml", text)
    expected = (True, 1)
    assert expected == (message in str(error.value), len(str(error.value).splitlines()))


@given(st.text())
def test_any_text_is_pages_or_a_pages_error(text: str) -> None:
    """No text of a file raises anything but PagesError."""
    try:
        outcome: object = parse("x.toml", text)
    except PagesError as error:
        outcome = error
    assert isinstance(outcome, dict | PagesError)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("gpu_fel_off_bus", "gpu_fell_off_bus"),
        ("gpu_fell_of_the_bus", "gpu_fell_off_bus"),
        ("nan_los", "nan_loss"),
        ("ib_port_downn", "ib_port_down"),
        ("zzzz", None),
        ("", None),
    ],
)
def test_a_near_miss_is_named(wanted: str, expected: str | None) -> None:
    """A mistyped id leads to the one that was meant; what is like nothing leads nowhere."""
    assert expected == near(wanted, load())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_page_alone_is_what_its_file_says(family: str) -> None:
    """Each is parsed by itself when it is asked for: that tells the same as the whole file."""
    text = files("diagnostics.knowledge").joinpath(f"pages/{family}.toml").read_text("utf-8")
    whole = parse(f"{family}.toml", text)

    assert whole == {fault: load()[fault] for fault in whole}


def test_an_id_that_stands_twice_is_refused() -> None:
    """Nobody knows which of two pages is meant, whether in one file or in two."""
    for texts in ({"driver.toml": ONE * 2}, {"driver.toml": ONE, "network.toml": ONE}):
        with pytest.raises(PagesError) as error:
            Pages(texts)

        assert "[disk_burns] stands in another place too; keep one" in str(error.value)
