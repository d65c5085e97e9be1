"""How fast `gpudiag logs` searches, beside ripgrep and grep with the same anchors: `make bench`.

All three search the same file in turns, each on one core; a number is a median, and the ratio to
ripgrep is the median of the turns' ratios. Ordinary text is made here: lines of the true shape, of
which none, or one in ten thousand, hits. With `--rules 500` rules of the same shape are added to
those that are shipped until there are so many; with `--gigabyte` whole gigabytes of dense logs are
read too, which takes some minutes.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.log_lines import (
    DICT,
    ITERATION,
    KERNEL,
    LOST,
    OOM,
    PROGRAM,
    RANKS_LOST,
    SHORT,
    TIMER,
    TITAN,
    WORDS,
    XID,
    lines,
)

ROUNDS = 5
LAST_STATUS = 3
PART = 4 << 20
FRESH = 50_000_000
TARGET_MB_S = 500
# What no log of the small size falls below: what 40,000 lines of it cost to read is in it.
FLOOR_MB_S = 40
# A gigabyte of a dense training log is read within 15 s.
GIGABYTE, GIGABYTE_MB_S = 1_000, 1_000 / 15
# Rules that a site could have: each with words of its own, and fields.
SHAPE = """[[rule]]
id = "bench.made_{n}"
fault = "site_made_{n}"
severity = "warning"
anchor = "{anchor}"
pattern = '''{anchor} (?P<place>[\\w.-]{{1,32}})(?: after (?P<seconds>\\d{{1,6}}) s)?'''
message = "{{place}} was refused"
fields = {{ place = "text", seconds = "int" }}
example = ["{anchor} rack-4 after 12 s"]
not_example = ["{anchor}"]
"""
PARTS = (
    "lease",
    "quorum",
    "shard",
    "mount",
    "token",
    "volume",
    "tunnel",
    "journal",
    "replica",
    "pool",
)
ENDS = (
    "refused by",
    "lost on",
    "expired at",
    "torn down by",
    "not served by",
    "rejected by",
    "kept from",
)
# Run the command with the rules of a folder, and print all that they look for.
SITE = "import sys; from agent import knowledge; knowledge.site.__defaults__ = (sys.argv.pop(1),)"
COMMAND = f"{SITE}; from agent.cli.main import main; main()"
ANCHORS = f"{SITE}; print('\\0'.join(knowledge.knowledge(knowledge.site()).anchors.expressions))"
RULES = f"{SITE}; print(len(knowledge.known(knowledge.site()).index.entries))"


def made(folder: Path, name: str, forms: tuple[str, ...], megabytes: int) -> Path:
    """Write a log; beyond some megabytes it repeats itself, since making lines is slow."""
    path = folder / f"{name}.log"
    size, written = megabytes * 1_000_000, 0
    with path.open("w") as file:
        for line in lines(forms, 7):
            written += file.write(line + "\n")
            if written >= min(size, FRESH):
                break
    block = path.read_bytes() if written < size else b""
    with path.open("ab") as more:
        for _ in range(-(-(size - written) // len(block)) if block else 0):
            more.write(block)
    return path


def asked_of(program: str, place: Path) -> str:
    """Return what a short program prints: this one stays small, or its peak is its children's."""
    argv = [sys.executable, "-I", "-c", program, str(place)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.rstrip("\n")


def rules(folder: Path, wanted: int) -> Path:
    """Write as many rules as are lacking, and return their folder."""
    place = folder / "rules.d"
    place.mkdir()
    lacking = max(wanted - int(asked_of(RULES, place)), 0)
    words = [f"{one} {two} {end}" for one in PARTS for two in PARTS for end in ENDS][:lacking]
    text = "\n".join(SHAPE.format(n=n, anchor=anchor) for n, anchor in enumerate(words))
    if lacking:
        (place / "made.toml").write_text(text)
    return place


def once(argv: list[str]) -> tuple[float, float]:
    """Return the seconds of processor time that one run took, and its peak in MiB."""
    # A file, not /dev/null: grep stops at the first hit where nobody reads what it says.
    with tempfile.TemporaryFile() as out:
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        pid = os.posix_spawn(argv[0], argv, os.environ | {"LC_ALL": "C"}, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
    # 0 to 3 are verdicts; ripgrep and grep end with 1 where nothing is found.
    assert os.waitstatus_to_exitcode(status) <= LAST_STATUS, argv
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def tools(folder: Path, place: Path, expressions: list[str]) -> dict[str, list[str]]:
    """Return how each tool is called, but for the file; one that is not installed is left out."""
    # What ends with a line's end is looked for with it, which the others write otherwise.
    anchors = [one.replace(r"\n", "$").replace(r"\"", '"') for one in expressions]
    (folder / "anchors").write_text("".join(f"{anchor}\n" for anchor in anchors))
    # POSIX knows no group that captures nothing, and no class of digits.
    extended = (anchor.replace("(?:", "(").replace(r"\d", "[0-9]") for anchor in anchors)
    (folder / "extended").write_text("".join(f"{anchor}\n" for anchor in extended))
    found = {"gpudiag": [sys.executable, "-I", "-c", COMMAND, str(place), "logs", "--json"]}
    if rg := shutil.which("rg"):
        found["ripgrep"] = [rg, "--no-unicode", "-j1", "-iac", "-f", str(folder / "anchors")]
    if grep := shutil.which("grep"):
        found["grep -E"] = [grep, "-Eiac", "-f", str(folder / "extended")]
    return found


class Measured:
    """What each tool took for one file, in turns that a slow moment hits alike."""

    def __init__(self, calls: dict[str, list[str]], path: Path, rounds: int) -> None:
        # With so many expressions grep takes minutes for what the others read in a second.
        part = path.with_suffix(".part")
        with path.open("rb") as file:
            part.write_bytes(file.read(PART))
        read = {tool: part if tool.startswith("grep") else path for tool in calls}
        taken: dict[str, list[float]] = {tool: [] for tool in calls}
        self.peak = 0.0
        for turn in range(rounds + 1):
            for tool, argv in calls.items():
                seconds, peak = once([*argv, str(read[tool])])
                if turn:  # the first turn fills the caches
                    taken[tool].append(seconds)
                    self.peak = max(self.peak, peak) if tool == "gpudiag" else self.peak
        self._taken = taken
        self.speeds = {
            tool: read[tool].stat().st_size / 1e6 / statistics.median(each)
            for tool, each in taken.items()
        }

    @property
    def ratio(self) -> float | None:
        """Return how many times as fast as ripgrep it is, where that is installed."""
        if "ripgrep" not in self._taken:
            return None
        turns = zip(self._taken["ripgrep"], self._taken["gpudiag"], strict=True)
        return statistics.median(theirs / ours for theirs, ours in turns)


def logs(megabytes: int) -> dict[str, tuple[tuple[str, ...], int, float]]:
    """Return the logs by name: their lines, their size, and how fast they should be read."""
    small = max(megabytes // 3, 1)
    step = (ITERATION, *[TIMER, *WORDS] * 2)
    return {
        "training": (WORDS, megabytes, TARGET_MB_S),
        "training, rare hits": ((*WORDS * 1_400, OOM), megabytes, TARGET_MB_S),
        "syslog": (KERNEL, megabytes, TARGET_MB_S),
        "Megatron, a line in six": (step, small, FLOOR_MB_S),
        "all Xid": ((XID,), small, FLOOR_MB_S),
        "all out of memory": ((OOM,), small, FLOOR_MB_S),
        "all iterations": ((ITERATION,), small, FLOOR_MB_S),
        "all of torchtitan": ((TITAN,), small, FLOOR_MB_S),
        "all dicts": ((DICT,), small, FLOOR_MB_S),
        "all short numbers": ((SHORT,), small, FLOOR_MB_S),
        "all short, NaN": ((LOST,), small, FLOOR_MB_S),
        "all NaN of 8 ranks": ((RANKS_LOST,), small, FLOOR_MB_S),
        "all of a program": ((PROGRAM,), small, FLOOR_MB_S),
        "mixed": ((OOM, ITERATION, XID), small, FLOOR_MB_S),
    }


def gigabytes() -> dict[str, tuple[tuple[str, ...], int, float]]:
    """Return the logs of a gigabyte in which every line hits."""
    forms = {"iterations": (ITERATION,), "mixed": (OOM, ITERATION, XID), "NaN": (LOST,)}
    return {f"1 GB of {name}": (lines, GIGABYTE, GIGABYTE_MB_S) for name, lines in forms.items()}


def main() -> None:
    """Measure and print one row a log; what is under its target, or behind ripgrep, is marked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--megabytes", type=int, default=300, help="size of an ordinary log")
    parser.add_argument("--rules", type=int, default=0, help="add rules until there are so many")
    parser.add_argument("--gigabyte", action="store_true", help="also dense logs of that size")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        own = rules(folder, asked.rules)
        expressions = asked_of(ANCHORS, own).split("\0")
        calls = tools(folder, own, expressions)
        empty = made(folder, "empty", ("step",), 0)
        start = statistics.median(once([*calls["gpudiag"], str(empty)])[0] for _ in range(ROUNDS))
        print(f"{asked_of(RULES, own)} rules, {len(expressions)} anchors;")
        print(f"MB/s of processor time, start of {start:.2f} s included; peak of gpudiag in MiB")
        print(f"{'log':<22}{'MB':>6}" + "".join(f"{tool:>10}" for tool in calls) + _head())
        measured = logs(asked.megabytes) | (gigabytes() if asked.gigabyte else {})
        for name, (forms, megabytes, target) in measured.items():
            path = made(folder, "log", forms, megabytes)
            _row(name, megabytes, Measured(calls, path, asked.rounds), target)


def _head() -> str:
    return f"{'x ripgrep':>11}{'peak':>6}{'target':>8}"


def _row(name: str, megabytes: int, measured: Measured, target: float) -> None:
    speeds = "".join(f"{speed:>10.0f}" for speed in measured.speeds.values())
    ratio = measured.ratio
    beside = "" if ratio is None else f"{ratio:.2f}"
    under = " UNDER" if measured.speeds["gpudiag"] < target else ""
    ordinary = target >= TARGET_MB_S
    behind = " BEHIND ripgrep" if ordinary and ratio is not None and ratio < 1 else ""
    row = f"{name:<22}{megabytes:>6}{speeds}{beside:>11}{measured.peak:>6.0f}{target:>8.0f}"
    print(row + under + behind, flush=True)


if __name__ == "__main__":
    main()
