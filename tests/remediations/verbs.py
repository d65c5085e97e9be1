"""The actor with verbs of the tests: they change a folder instead of a node."""

import json
import os
import sys
import time
from pathlib import Path

from collectors.gpu.simulator import library
from collectors.helpers.children import tools, unit
from remediations.actor import __main__ as program
from remediations.actor import gpu_holders, letting_go
from remediations.actor.registry import Refused, Turn, question, verb

NODE = Path(os.environ["NODE"])
# Stand-ins of a test for tools of the machine, by name.
if "GPUDIAG_TEST_TOOLS" in os.environ:
    tools.given = json.loads(os.environ["GPUDIAG_TEST_TOOLS"])
# Simulated GPUs; the actor's own PID namespace stands for the machine's first.
if "PLAN" in os.environ:
    library.install(json.loads(Path(os.environ["PLAN"]).read_text()))
    gpu_holders.FIRST_NAMESPACE = Path("/proc/self/ns/pid").stat().st_ino
    letting_go.AGENT = f"{NODE}/agent.sock"


@verb("slurm.drain", "gpu.reset")
def put(turn: Turn, name: str) -> str:
    """Write a file; hang before or after it where the folder says so."""
    del turn
    if (NODE / f"hang-before-{name}").exists():
        time.sleep(600)
    if (NODE / f"refuse-{name}").exists():
        raise Refused("denied", "the node says no")
    if (NODE / f"slow-{name}").exists():
        time.sleep(1)
    with (NODE / "done").open("a") as log:
        log.write(f"put {name}\n")
    (NODE / f"is-{name}").touch()
    if (NODE / f"hang-after-{name}").exists():
        time.sleep(600)
    return f"{name} is put"


@verb("slurm.drain", "gpu.reset", undoes={"slurm.drain": "put", "gpu.reset": "put"})
def take(turn: Turn, name: str) -> str:
    """Remove the file."""
    del turn
    with (NODE / "done").open("a") as log:
        log.write(f"take {name}\n")
    (NODE / f"is-{name}").unlink(missing_ok=True)
    if (NODE / f"hang-taking-{name}").exists():
        time.sleep(600)
    return f"{name} is taken"


@question
def many(state: Path, names: list[str]) -> int:
    """Return how many they are."""
    del state
    return len(names)


@question
def is_taken(state: Path, name: str) -> bool:
    """Return whether the file is gone."""
    return not is_put(state, name)


@question
def is_put(state: Path, name: str) -> bool:
    """Return whether the file is there."""
    del state
    return (NODE / f"is-{name}").exists()


def main() -> int:
    """Say on standard output when the socket is bound."""
    bind = unit.listener

    def listener(path: str | None) -> object:
        bound = bind(path)
        sys.stdout.write("listens\n")
        sys.stdout.flush()
        return bound

    unit.listener = listener  # type: ignore[assignment] # as the one that it stands for, and says so
    return program.main()


if __name__ == "__main__":
    sys.exit(main())
