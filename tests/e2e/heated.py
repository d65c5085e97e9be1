"""A real agent, a real actor, a simulated BMC and simulated GPUs, in a quicker time."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import DEVNULL, Popen, run
from typing import Any, Self

from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from collectors.gpu.simulator.settings import Settings
from remediations.act.hand import ActorHand, Done
from remediations.actor import dcmi
from tests.e2e.agents import Agent, agent
from tests.lab.ipmi.bmc import Bmc

# 30 s are 0.6 s, 5 min 6 s, 15 min 18 s.
FACTOR = 0.02
SOAK = int(os.environ.get("GPUDIAG_KILLS", "5")) > 5
# Only a soak waits for each step up as long as the other times say.
UP_S = 900 * FACTOR if SOAK else 2.0
PATIENCE_S = 150.0
GPU = "0001:10:00.0"
SCENARIO = """model = "h100-sxm"
count = 1
[gpu.0]
pci = "00000001:10:00.0"
"""
POLICY = """users = []
allow_unproved = ["gpu.power_cap"]
[mode]
"gpu.power_cap" = "act"
[heat]
dcmi = true
"""
SETTINGS = """[agent]
metrics = ""
[walk]
sample_s = 0.2
[tools]
ipmitool = "{ipmitool}"
"""
# The agent as it is, but for where it looks, and how often.
AGENT = """
import json, sys
import msgspec
from agent.daemon import heat, sampler, service
from agent.walk import sources
from collectors.bmc import controller
from collectors.gpu import asking, caps
from collectors.node import live
from remediations.act import hand
given = json.loads(sys.argv.pop(1))
real = live.child_argv
reader = "import sys; from collectors.helpers.children import bmc, reader; bmc.KEEP_S = 0.0; "
reader += "sys.exit(reader.main())"
def child_argv(name):
    if name == "nvml":
        return (*real(name), "--scenario", given["plan"])
    return (sys.executable, "-I", "-c", reader) if name == "reader" else real(name)
live.child_argv = child_argv
live.Live.share_helpers = lambda self: None
asking.DRIVER, controller.DEVICES = "/proc/version", ("/proc/version",)
pace = heat.PACE.times(given["factor"])
service.PACE = msgspec.structs.replace(pace, up_s=given["up_s"])
sampler.STALE_AFTER = 10
heat.PATH, hand.SOCKET, caps.PATH = given["policy"], given["socket"], given["caps"]
often = {"GpuSnapshot", "GpuHealth", "Bmc", "BmcSensors", "PowerCaps", "KernelLog"}
sources.SOURCES = tuple(
    msgspec.structs.replace(one, period_s=1.0) if one.shape.__name__ in often else one
    for one in sources.SOURCES
)
from agent.cli.main import main
sys.argv[0] = "gpudiag"
main()
"""
# The actor as it is, but for its library, its ipmitool, and its clock.
ACTOR = """
import json, sys
from collectors.gpu.simulator import library
from collectors.helpers.children import tools
from remediations.actor import __main__ as program, caps, registry, verbs
given = json.loads(sys.argv.pop(1))
verbs.load()
with open(given["plan"]) as file:
    library.install(json.load(file))
tools.given = {"ipmitool": given["ipmitool"]}
caps.factor = given["actor_factor"]
registry.TICKS["caps_tick"] = registry.TICKS["caps_tick"]._replace(seconds=0.5)
sys.exit(program.main())
"""


def until(true: Callable[[], Any], what: str) -> None:
    """Wait until *true* is: four steps up take over a minute, however quick the time is."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"not in {PATIENCE_S:g} s: {what}"
        time.sleep(0.1)


class Heated:
    """One node that can be made hot; used as a context, all of it is ended with it."""

    def __init__(self, folder: Path, lent: float = 1.0) -> None:
        self.folder = folder
        # The actor lends for this share of the time that the agent believes.
        self.lent = lent
        self.policy = folder / "acting.toml"
        self.socket = str(folder / "actor.sock")
        self.settings = Settings(str(folder / "nvml-settings"))
        self.agent: Agent | None = None
        self.actor: Popen[bytes] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for name in ("bmc", "state", "run", "cache", "agent"):
            (self.folder / name).mkdir(mode=0o700)
        with ExitStack() as on_failure:
            on_failure.push(self._stack)
            self.bmc = self._stack.enter_context(Bmc(self.folder / "bmc", dcmi=True))
            self.policy.write_text(POLICY)
            made = plan(read(SCENARIO, "a test"))
            made["settings"] = str(self.folder / "nvml-settings")
            (self.folder / "plan").write_text(json.dumps(made))
            self._stack.callback(self.kill_actor)
            self.start_actor()
            settings = SETTINGS.format(ipmitool=self.bmc.tool)
            os.environ["CACHE_DIRECTORY"] = str(self.folder / "cache")
            self._stack.callback(os.environ.pop, "CACHE_DIRECTORY", None)
            program = ("-c", AGENT, json.dumps(self._given()))
            self.agent = self._stack.enter_context(agent(self.folder / "agent", settings, program))
            on_failure.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _given(self) -> dict[str, Any]:
        return {
            "plan": str(self.folder / "plan"),
            "policy": str(self.policy),
            "socket": self.socket,
            "caps": str(self.folder / "run" / "caps.json"),
            "ipmitool": self.bmc.tool,
            "factor": FACTOR,
            "actor_factor": FACTOR * self.lent,
            "up_s": UP_S,
        }

    def start_actor(self) -> None:
        """Start the actor, and wait until it answers."""
        places = {"RUNTIME_DIRECTORY": str(self.folder / "run")}
        places["CACHE_DIRECTORY"] = str(self.folder / "cache")
        argv = ["--socket", self.socket, "--policy", str(self.policy)]
        argv += ["--state", str(self.folder / "state")]
        self.actor = Popen(
            [sys.executable, "-I", "-c", ACTOR, json.dumps(self._given()), *argv],
            env={**os.environ, **places},
            stdin=DEVNULL,
        )
        until(lambda: self.caps() is not None, "the actor answers")

    def kill_actor(self) -> None:
        """Kill the actor, as a power cut would."""
        if self.actor is not None:
            self.actor.kill()
            self.actor.wait()
            self.actor = None

    def kill_agent(self) -> None:
        """Kill the agent."""
        assert self.agent is not None
        self.agent.process.kill()
        self.agent.process.wait()

    def held(self) -> list[dict[str, Any]] | None:
        """Return the caps that are on, by the actor's word; None where it does not answer."""
        answer = asyncio.run(ActorHand(self.socket).ask("caps", {}))
        if not isinstance(answer, Done):
            return None
        found: list[dict[str, Any]] = answer.value["held"]
        return found

    def caps(self) -> dict[str, int] | None:
        """Return the limits that are held; None where the actor does not answer."""
        held = self.held()
        return None if held is None else {one["subject"]: one["limit"] for one in held}

    def left_s(self) -> float:
        """Return how long what is held still holds."""
        return min((one["left_s"] for one in self.held() or ()), default=0.0)

    def margin(self, celsius: int) -> None:
        """Let the driver tell a margin, and a temperature that goes with it."""
        told = {"temperature.margin_c": celsius, "temperature.gpu_c": 85 - celsius}
        self.settings.keep(0, told)

    def blind(self) -> None:
        """Let the driver tell no temperature at all."""
        names = ("margin_c", "gpu_c", "memory_c")
        self.settings.keep(0, {f"temperature.{name}": None for name in names})

    def room(self, inlet: int, gpu: int) -> None:
        """Let the BMC's sensors show these temperatures: the files that they follow change."""
        self.bmc.set("Inlet Temp", inlet)
        self.bmc.set("GPU0 Temp", gpu)

    def watts(self) -> int:
        """Return the GPU's limit, as the driver keeps it."""
        kept = json.loads((self.folder / "nvml-settings").read_text())
        return int(kept["0"].get("power.limit_mw", 700_000)) // 1000

    def node_limit(self) -> int | None:
        """Return the node's limit by its BMC, in W; None where none is active."""
        argv = [self.bmc.tool, "dcmi", "power", "get_limit"]
        ran = run(argv, capture_output=True, text=True, check=True)
        now = dcmi.limit(ran.stdout)
        return now.watts if now.active else None

    def limits(self) -> tuple[int, int | None]:
        """Return both limits."""
        return self.watts(), self.node_limit()

    def free(self) -> bool:
        """Return whether nothing is held down any more, and nothing is kept of it."""
        return self.limits() == (700, None) and self.caps() == {}

    def ended(self) -> list[dict[str, Any]]:
        """Return how caps ended."""
        told = json.loads((self.folder / "run" / "caps.json").read_text())
        found: list[dict[str, Any]] = told["ended"]
        return found

    def log(self, event: str) -> list[dict[str, Any]]:
        """Return the agent's lines of one event."""
        assert self.agent is not None
        return [line for line in self.agent.log() if line["event"] == event]
