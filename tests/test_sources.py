"""What every source file keeps to: exceptions carry reasons, and no command clears evidence."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("agent", "aggregator", "collectors", "diagnostics", "remediations")
TREES = (*PRODUCT, "deploy", "bench", "tests")

# Short options stand in clusters too (`perfquery -xR`), long ones alone.
CLEARING = {
    "perfquery": ("rR", {"--reset_after_read", "--Reset_only"}),
    "ibqueryerrors": ("kK", {"--clear-errors", "--clear-counts"}),
    "mlxlink": ("", {"--pc", "-pc"}),
    "nvidia-smi": ("p", {"--reset-ecc-errors"}),
    "dmesg": ("cC", {"--clear", "--read-clear"}),
    "ipmitool": ("", {"clear"}),
}


def sources(*trees: str) -> Iterator[Path]:
    """Yield the Python files of some folders."""
    for tree in trees:
        yield from sorted((ROOT / tree).rglob("*.py"))


def unexplained(text: str) -> list[str]:
    """Return the comments that switch a tool off without saying why."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    codes = r"[A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)*"
    explained = re.compile(rf"# (noqa: {codes}|type: ignore\[[a-z, -]+\]) +(- |# ).*\w+")
    switches = [c for c in comments if re.search(r"#\s*(noqa|type:\s*ignore|ruff:)", c)]
    return [comment for comment in switches if not explained.search(comment)]


def words(node: ast.AST) -> list[str]:
    """Return the literal strings of one call, tuple or list, in their order."""
    parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
    return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]


def clears(argv: list[str]) -> bool:
    """Return whether a command, as its words, would take evidence away."""
    tools = [(index, word.rpartition("/")[2]) for index, word in enumerate(argv)]
    for index, tool in tools:
        letters, long = CLEARING.get(tool, ("", set[str]()))
        for word in argv[index + 1 :]:
            cluster = re.fullmatch(r"-([A-Za-z]+)", word)
            if word.partition("=")[0] in long or (cluster and set(cluster[1]) & set(letters)):
                return True
    return False


def clearing_commands(text: str) -> list[list[str]]:
    """Return the commands of one source that would take evidence away."""
    shapes = (ast.Call, ast.Tuple, ast.List)
    found = [words(node) for node in ast.walk(ast.parse(text)) if isinstance(node, shapes)]
    return [argv for argv in found if clears(argv)]


@pytest.mark.parametrize(
    "source",
    [
        'node.command("perfquery", "-x", "-R", "3", deadline_s=5)',
        'ARGV = ("/usr/sbin/perfquery", "-xr")',
        'ARGV = ["ibqueryerrors", "--clear-counts"]',
        'run("mlxlink", "-d", device, "--pc")',
        'TOOLS = {"nvidia-smi": ("nvidia-smi", "--reset-ecc-errors=0")}',
        'ARGV = ("nvidia-smi", "-p", "0")',
        'ARGV = ("dmesg", "--read-clear")',
        'ARGV = ("ipmitool", "-I", "open", "sel", "clear")',
    ],
)
def test_clearing_commands_are_seen(source: str) -> None:
    """The search below finds each command that clears counters, logs or events."""
    assert len(clearing_commands(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'node.command("perfquery", "-x", "3", "1", deadline_s=5)',
        'ARGV = ("nvidia-smi", "-q", "-x")',
        'ARGV = ("dmesg", "--time-format", "iso")',
        'ARGV = ("ping", "-c", "3", "-r")',
    ],
)
def test_reading_commands_pass(source: str) -> None:
    """Commands that only read are no offence, and letters of another tool mean nothing."""
    assert clearing_commands(source) == []


# A reset needs persistence off: on a drained node, after the evidence is saved.
RESET = "remediations/actor/resetting.py: nvidia-smi -pm 0"


def test_no_command_clears_evidence() -> None:
    """Error counters, kernel log and event log are others' evidence too: nothing resets them.

    But the one remedy that is a reset.
    """
    found = {
        f"{path.relative_to(ROOT)}: {' '.join(argv)}"
        for path in sources(*PRODUCT, "deploy")
        for argv in clearing_commands(path.read_text())
    }
    assert found == {RESET}


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("x = 1  # noqa", ["# noqa"]),
        ("x = 1  # noqa: S603", ["# noqa: S603"]),
        ("x = 1  # noqa: S603 - argv is fixed", []),
        ("x = 1  # type: ignore[misc]", ["# type: ignore[misc]"]),
        ("x = 1  # type: ignore[misc]  # the stub lacks it", []),
        ("x = '# noqa'", []),
    ],
)
def test_unexplained_comments_are_seen(comment: str, expected: list[str]) -> None:
    """The search below tells an exception with its reason from one without."""
    assert unexplained(comment + "\n") == expected


def test_exceptions_carry_reasons() -> None:
    """Each line that switches ruff or mypy off says why, on the same line."""
    found = {
        f"{path.relative_to(ROOT)}: {comment}"
        for path in sources(*TREES)
        for comment in unexplained(path.read_text())
    }
    assert found == set()


def test_configuration_carries_reasons() -> None:
    """Each rule that pyproject.toml switches off says why, on the same line."""
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    rules = [line for line in lines if re.match(r'\s+"[A-Z]+[0-9]*",', line)]
    assert [line for line in rules if not re.search(r"# \w+", line)] == []
