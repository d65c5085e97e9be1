"""How fast `gpudiag logs` searches, beside ripgrep and grep with the same anchors: `make bench`.

All three search the same file in turns, each on one core, and each number is a median. Ordinary
text is made here: lines of the true shape, of which none, or one in ten thousand, hits.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.knowledge import known

ROUNDS = 5
TARGET_MB_S = 500
DENSE_MB_S = 40
WORDS = (
    "Loading checkpoint shard {a} of 96 from /data/run-{b}/step_{c}",
    "[rank{a}]: saved optimizer state of layer {b} in {c} ms",
    "INFO:root:prefetched batch {c} from shard {b:05d}.tar (queue depth {a})",
    "gpu-{b:03d}:{c}:{c} [{a}] NCCL INFO Channel {b:02d}/0 : {a}[{a}] -> {b}[{b}] via P2P/CUMEM",
    "2026-11-30 02:11:{a:02d},{b:03d} trainer.data WARNING skipped sample {c}: text of {b} tokens",
    "Epoch {a}: data loader worker {b} has read {c} samples since its start",
    "DEBUG urllib3.connectionpool:{b} https://store:443 GET /bucket/part-{c} HTTP/1.1 200 {c}",
)
KERNEL = (
    "Nov 30 02:11:{a:02d} gpu-017 systemd[1]: Started session {c} of user root.",
    "Nov 30 02:11:{a:02d} gpu-017 kernel: [{c}.{c:06d}] audit: type=1400 audit({c}.{b:03d}:{b})",
    "Nov 30 02:11:{a:02d} gpu-017 sshd[{c}]: Accepted publickey for root from 10.0.0.{a} port {c}",
    "Nov 30 02:11:{a:02d} gpu-017 kernel: [{c}.{c:06d}] perf: interrupt took too long ({b} > {a})",
)
XID = (
    "[{n:5d}.{c:06d}] NVRM: Xid (PCI:0000:4e:00): 31, pid={p}, name=python3, Ch 00000008,"
    " intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1c_a4000000."
    " Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
)
OOM = (
    "[rank{a}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {b}.00 MiB. GPU {a}"
    " has a total capacity of 79.11 GiB of which {c}.06 MiB is free. Including non-PyTorch memory,"
    " this process has 78.37 GiB memory in use."
)
ITERATION = (
    " [2026-11-30 02:11:{a:02d}] iteration {n:8d}/ 500000 | consumed samples: {n:12d} |"
    " elapsed time per iteration (ms): 30{a:02d}.4 | learning rate: 1.200E-04 |"
    " global batch size:  1024 | lm loss: 1.93{b:04d}E+00 | loss scale: 1.0 | grad norm: 0.310 |"
    " number of skipped iterations:   0 | number of nan iterations:   0 |"
)


def lines(forms: tuple[str, ...], count: int, seed: int) -> Iterator[str]:
    """Yield lines with values that change."""
    draw = random.Random(seed)  # noqa: S311 - text, no secret
    for n in range(count):
        a, b, c = draw.randrange(8), draw.randrange(1000), draw.randrange(1_000_000)
        yield draw.choice(forms).format(a=a, b=b, c=c, n=n, p=40_000 + a)


def made(folder: Path, name: str, forms: tuple[str, ...], megabytes: int) -> Path:
    """Write a log; a block of ten megabytes is repeated, since making lines is slow."""
    path = folder / f"{name}.log"
    block = "\n".join(lines(forms, 60_000, 7)).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(max(megabytes * 1_000_000 // len(block), 1)):
            file.write(block)
    return path


def once(argv: list[str]) -> float:
    """Return the seconds of processor time that one run took."""
    # A file, not /dev/null: grep stops at the first hit where nobody reads what it says.
    with tempfile.TemporaryFile() as out:
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
        _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime


def tools(folder: Path, anchors: list[str]) -> dict[str, list[str]]:
    """Return how each tool is called, but for the file; one that is not installed is left out."""
    (folder / "anchors").write_text("".join(f"{anchor}\n" for anchor in anchors))
    # POSIX knows no group that captures nothing, and no class of digits.
    extended = (anchor.replace("(?:", "(").replace(r"\d", "[0-9]") for anchor in anchors)
    (folder / "extended").write_text("".join(f"{anchor}\n" for anchor in extended))
    found = {"gpudiag": [sys.executable, "-I", "-m", "agent", "logs", "--json"]}
    if rg := shutil.which("rg"):
        found["ripgrep"] = [rg, "--no-unicode", "-j1", "-iac", "-f", str(folder / "anchors")]
    if grep := shutil.which("grep"):
        found["grep -E"] = [grep, "-Eiac", "-f", str(folder / "extended")]
    return found


def speeds(calls: dict[str, list[str]], path: Path, rounds: int) -> dict[str, float]:
    """Return megabytes a second of each tool; they take turns, so that a slow moment hits all."""
    taken: dict[str, list[float]] = {tool: [] for tool in calls}
    for turn in range(rounds + 1):
        for tool, argv in calls.items():
            seconds = once([*argv, str(path)])
            if turn:  # the first turn fills the caches
                taken[tool].append(seconds)
    size = path.stat().st_size / 1e6
    return {tool: size / statistics.median(each) for tool, each in taken.items()}


def main() -> None:
    """Measure and print one row a log; what is under its target, or behind ripgrep, is marked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--megabytes", type=int, default=300, help="size of each ordinary log")
    asked = parser.parse_args()
    entries = known().index.entries
    anchors = sorted({entry.anchor for entry in entries})
    small = max(asked.megabytes // 6, 1)
    logs = {
        "training": (WORDS, asked.megabytes, TARGET_MB_S),
        "training, rare hits": ((*WORDS * 1_400, OOM), asked.megabytes, TARGET_MB_S),
        "syslog": (KERNEL, asked.megabytes, TARGET_MB_S),
        "all Xid": ((XID,), small, DENSE_MB_S),
        "all out of memory": ((OOM,), small, DENSE_MB_S),
        "all iterations": ((ITERATION,), small, DENSE_MB_S),
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        calls = tools(folder, anchors)
        print(
            f"{len(entries)} rules, {len(anchors)} anchors; MB/s of processor time, start included"
        )
        print(f"{'log':<22}" + "".join(f"{tool:>10}" for tool in calls) + f"{'target':>8}")
        for name, (forms, megabytes, target) in logs.items():
            path = made(folder, "log", forms, megabytes)
            measured = speeds(calls, path, asked.rounds)
            ours = measured["gpudiag"]
            row = "".join(f"{speed:>10.0f}" for speed in measured.values())
            under = " UNDER" if ours < target else ""
            behind = " BEHIND ripgrep" if under and ours < measured.get("ripgrep", 0) else ""
            print(f"{name:<22}{row}{target:>8}{under}{behind}", flush=True)


if __name__ == "__main__":
    main()
