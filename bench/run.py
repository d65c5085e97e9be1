"""Seconds and memory of the commands, side by side with a bare Python: `make bench`.

Targets are those of the project; a number over its target is marked, not failed, because it
depends on the machine. The ratio to `python -I -c pass` is what compares between machines.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEALTHY = ROOT / "tests" / "nodes" / "vm-real"
SIMULATED = ROOT / "tests" / "nodes" / "h100-idle"
VERDICTS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Job:
    """A command with its targets, None where there is none."""

    name: str
    argv: tuple[str, ...]
    seconds: float | None = None
    peak_mib: float | None = None


@dataclass(frozen=True)
class Run:
    """One run: wall clock, processor time of the whole family, peak of its largest process."""

    seconds: float
    cpu_s: float
    peak_mib: float


def jobs(log: Path) -> list[Job]:
    """Return what is measured; the bare Python comes first, as the measure of the machine."""
    python = (sys.executable, "-I")
    agent = (*python, "-m", "agent")
    return [
        Job("python -I -c pass", (*python, "-c", "pass")),
        Job("gpudiag --help", (*agent, "--help"), 0.1),
        Job("gpudiag explain gpu_lost", (*agent, "explain", "gpu_lost")),
        Job("gpudiag logs (1 MiB)", (*agent, "logs", str(log))),
        Job("gpudiag run --replay", (*agent, "run", "--replay", str(HEALTHY)), 0.5, 80),
        # Its NVML is a scenario, so a helper with the simulator starts too; the target is the same.
        Job("... of simulated GPUs", (*agent, "run", "--replay", str(SIMULATED)), 0.5, 80),
    ]


def once(job: Job) -> Run:
    """Run a job with its output thrown away and measure it; a failure ends the bench."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1)]
    started = time.perf_counter()
    pid = os.posix_spawn(job.argv[0], job.argv, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - started
    os.close(null)
    code = os.waitstatus_to_exitcode(status)
    if code not in VERDICTS:
        sys.exit(f"bench: {job.name}: ended with {code}; run it by hand: {' '.join(job.argv)}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(runs: list[Run]) -> Run:
    """Return the median of each measure on its own."""
    return Run(
        statistics.median(run.seconds for run in runs),
        statistics.median(run.cpu_s for run in runs),
        statistics.median(run.peak_mib for run in runs),
    )


def marked(value: float, target: float | None, form: str) -> str:
    """Return a number, and its target with a mark where it is over."""
    if target is None:
        return format(value, form)
    sign = "OVER" if value > target else "of"
    return f"{value:{form}} {sign} {target:g}"


def show(measured: list[tuple[Job, Run]]) -> None:
    """Print one row a command."""
    bare = measured[0][1].seconds
    print(f"{'command':<26}{'seconds':>16}{'x python':>10}{'cpu s':>8}{'peak MiB':>14}")
    for job, run in measured:
        seconds = marked(run.seconds, job.seconds, ".3f")
        peak = marked(run.peak_mib, job.peak_mib, ".0f")
        ratio = run.seconds / bare
        print(f"{job.name:<26}{seconds:>16}{ratio:>10.1f}{run.cpu_s:>8.3f}{peak:>14}")


def main() -> None:
    """Measure in turns, so that a slow moment of the machine touches all commands alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="runs of each command (15)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "train.log"
        log.write_text("".join(f"step {n} loss 2.31 grad norm 0.4\n" for n in range(32_000)))
        wanted = jobs(log)
        runs: list[list[Run]] = [[] for _ in wanted]
        for turn in range(rounds + 1):
            for job, kept in zip(wanted, runs, strict=True):
                run = once(job)
                if turn:  # the first turn fills caches of files and bytecode
                    kept.append(run)
    show([(job, median(kept)) for job, kept in zip(wanted, runs, strict=True)])


if __name__ == "__main__":
    main()
