"""The actor lifts what is lent when it is disabled, goes, or has a bad policy; else it keeps it."""

import json
import os
import sys
from pathlib import Path
from subprocess import run

import pytest

from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read

pytestmark = pytest.mark.root

PROGRAM = """
import json, sys
from collectors.gpu.simulator import library
from collectors.helpers.children import tools
from remediations.actor import __main__ as program, caps, registry
from remediations.policy import parse
plan, systemctl = sys.argv.pop(1), sys.argv.pop(1)
with open(plan) as file:
    library.install(json.load(file))
tools.given = {"systemctl": systemctl}
if "--cap" in sys.argv:
    from pathlib import Path
    state = Path(sys.argv[-1])
    policy = parse('allow_unproved = ["gpu.power_cap"]')
    caps.cap_gpu(registry.Kept(state, policy), "0000:10:00.0", 630_000, "a test")
else:
    sys.exit(program.main())
"""


class Program:
    """The actor's program, on one simulated GPU whose settings outlive it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.state.mkdir(mode=0o700)
        self.settings = folder / "settings"
        made = plan(
            read('model = "h100-sxm"\ncount = 1\n[gpu.0]\npci = "00000000:10:00.0"\n', "a test")
        )
        (folder / "plan").write_text(json.dumps(made | {"settings": str(self.settings)}))
        self.enabled(yes=True)
        self.run("--cap")

    def enabled(self, *, yes: bool) -> None:
        """Let systemd say whether the unit is enabled."""
        tool = self.folder / "systemctl"
        tool.write_text(f"#!/bin/sh\nexit {0 if yes else 1}\n")
        tool.chmod(0o755)

    def run(self, *words: str) -> str:
        """Run it to its end; return what it printed."""
        given = (str(self.folder / "plan"), str(self.folder / "systemctl"))
        argv = [sys.executable, "-I", "-c", PROGRAM, *given, *words, "--state", str(self.state)]
        env = {key: value for key, value in os.environ.items() if key != "RUNTIME_DIRECTORY"}
        ran = run(argv, capture_output=True, text=True, env=env, timeout=60, check=False)
        return ran.stdout + ran.stderr

    def watts(self) -> int:
        """Return the limit of the GPU."""
        return int(json.loads(self.settings.read_text())["0"]["power.limit_mw"]) // 1000


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return the program, with one cap on."""
    made = Program(tmp_path)
    assert 630 == made.watts()
    return made


def test_kept_through_an_upgrade(program: Program) -> None:
    """A unit that stops and is still enabled leaves the cap on."""
    assert ("", 630) == (program.run("--lift-if-disabled"), program.watts())


def test_lifted_at_disable(program: Program) -> None:
    """A unit that was disabled lifts it when it stops."""
    program.enabled(yes=False)

    assert ("0000:10:00.0: restored to 700000 mW\n", 700) == (
        program.run("--lift-if-disabled"),
        program.watts(),
    )


def test_lifted_at_purge(program: Program) -> None:
    """The package lifts it before it goes, enabled or not."""
    assert ("0000:10:00.0: restored to 700000 mW\n", 700) == (
        program.run("--lift"),
        program.watts(),
    )


@pytest.mark.parametrize(("over", "watts"), [(False, 630), (True, 700)])
def test_a_stopped_actor_holds_nothing_for_ever(program: Program, over: bool, watts: int) -> None:  # noqa: FBT001 - a case
    """The timer lifts a cap that ran out, and leaves one that is still lent."""
    policy = program.folder / "acting.toml"
    policy.write_text(
        'allow_unproved = ["gpu.power_cap"]\n[mode]\n"gpu.power_cap" = "act"\n', "utf-8"
    )
    policy.chmod(0o600)
    held = program.state / "caps.json"
    known = json.loads(held.read_text())
    known["held"]["0000:10:00.0"]["until"] -= 901.0 if over else 0.0
    held.write_text(json.dumps(known))

    assert ("", watts) == (program.run("--lift-overdue", "--policy", str(policy)), program.watts())


def test_lifted_where_the_policy_is_not_trusted(program: Program) -> None:
    """A policy that others can write lets nothing start, and what was lent is lifted first."""
    policy = program.folder / "acting.toml"
    policy.write_text("users = []\n")
    policy.chmod(0o666)
    said = program.run("--policy", str(policy), "--socket", str(program.folder / "sock"))

    assert 700 == program.watts()
    assert said.startswith(f"error: {policy} is refused: chown root")
