"""Nothing that we run clears a counter, a log or a list of events: others read them too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.node.tools import TOOLS

ROOT = Path(__file__).parents[1]
PACKAGES = ("agent", "aggregator", "collectors", "diagnostics", "remediations", "deploy")
# Tool, and what behind it clears something: perfquery -r and -R, ibqueryerrors -k and -K,
# mlxlink --pc, nvidia-smi -p (ECC counts) and -r (a reset), dmesg -c and -C, ipmitool sel clear.
CLEARING = (
    ("perfquery", re.compile(r"-[A-Za-z]*[rR]|--reset_after_read|--Reset_only")),
    ("ibqueryerrors", re.compile(r"-[A-Za-z]*[kK]|--clear-errors|--clear-counts")),
    ("ibclearcounters", re.compile(r".*")),
    ("ibclearerrors", re.compile(r".*")),
    ("mlxlink", re.compile(r"--pc|-pc")),
    ("nvidia-smi", re.compile(r"-p|--reset-ecc-errors(=.*)?|-r|--gpu-reset")),
    ("dmesg", re.compile(r"-[A-Za-z]*[cC]|--clear|--read-clear")),
    ("sel", re.compile(r"clear")),
    ("ethtool", re.compile(r"--reset|-r|--negotiate|-s|--change")),
)
STRINGS = re.compile(r"\S+")


def words(text: str) -> list[str]:
    return STRINGS.findall(text)


def clears(argv: list[str]) -> bool:
    """Return whether a list of words has a tool and, anywhere behind it, what clears."""
    for tool, option in CLEARING:
        for at, word in enumerate(argv):
            rest = argv[at + 1 :]
            found = any(option.fullmatch(one) for one in (*rest, ""))
            if word.rpartition("/")[2] == tool and found:
                return True
    return False


def argvs(source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row of strings in Python text that could be an argv: calls, tuples, lists.

    Strings in one are taken as words, so that a command line in one string is seen as well.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            items = node.args
        elif isinstance(node, ast.Tuple | ast.List):
            items = node.elts
        else:
            continue
        texts = [one.value for one in items if isinstance(one, ast.Constant)]
        said = [word for text in texts if isinstance(text, str) for word in words(text)]
        if said:
            yield node.lineno, said


def sources() -> list[Path]:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return [path for path in files if "__pycache__" not in path.parts]


def test_no_argv_in_the_code_clears_anything() -> None:
    """Only the actor's reset of a drained GPU has a clearing option behind its tool."""
    found = [
        f"{path.relative_to(ROOT)}: {' '.join(argv)}"
        for path in sources()
        for _, argv in argvs(path.read_text("utf-8"))
        if clears(argv)
    ]
    assert ["remediations/actor/resetting.py: nvidia-smi --gpu-reset"] == found


def test_no_tool_of_the_table_is_one_that_only_clears() -> None:
    """The tool table holds every program that is started, and none whose purpose is to clear."""
    only = {tool for tool, option in CLEARING if option.fullmatch("")}

    assert (set(), {"ibclearcounters", "ibclearerrors"}) == (only & set(TOOLS), only)


@pytest.mark.parametrize(
    "line",
    [
        "perfquery -R",
        "perfquery -x -r 4 1",
        "/usr/sbin/perfquery -xR",
        "ibqueryerrors -k",
        "ibqueryerrors --data -K",
        "mlxlink -d mlx5_0 --pc",
        "nvidia-smi -i 0 -p 0",
        "dmesg -C",
        "ipmitool sel clear",
        "ipmitool -I open sel clear",
        "ibclearcounters",
    ],
)
def test_what_clears_is_found(line: str) -> None:
    """The test that finds nothing would find each of these, in one string or in many."""
    one = f'run("{line}")'
    many = f"run({', '.join(map(repr, line.split()))})"

    assert [True, True] == [
        any(clears(argv) for _, argv in argvs(source)) for source in (one, many)
    ]


@pytest.mark.parametrize(
    "line", ["perfquery -x 4 1", "ibqueryerrors --data", "dmesg -T", "ipmitool sel elist"]
)
def test_what_only_reads_is_not_found(line: str) -> None:
    """Reading is allowed."""
    assert False is any(clears(argv) for _, argv in argvs(f'run("{line}")'))
