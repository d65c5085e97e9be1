"""The driver's helper of a recording that holds a scenario of GPUs instead of its answers."""

import asyncio
import json
import os
import sys
import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

from collectors.helpers.helper import Helper
from collectors.helpers.link import Child

CHILD = "collectors.helpers.children.nvml"
AT_S = 20.0


class ScenarioDriver:
    """The real helper on a simulated library, whose scenario runs by the recording's clock."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        # Held in memory: the helper reads it from there, and nothing is left behind.
        self._plan = os.memfd_create("gpudiag-scenario")
        weakref.finalize(self, os.close, self._plan)
        with os.fdopen(os.dup(self._plan), "wb") as file:
            file.write(json.dumps(plan).encode())
        path = f"/proc/{os.getpid()}/fd/{self._plan}"
        argv = (sys.executable, "-I", "-m", CHILD, "--scenario", path)
        self._helper = Helper("nvml", partial(Child.start, argv))
        self._lock = asyncio.Lock()

    @classmethod
    def read(cls, text: str, path: str) -> Self:
        """Return the driver of a scenario's text; ValueError names *path*, table and key.

        Reads files of our own, so before a loop runs.
        """
        from collectors.gpu.simulator import plan, scenario  # noqa: PLC0415 - costs 80 ms, and few recordings hold a scenario

        return cls(plan.plan(scenario.read(text, path)))

    async def ask(self, kind: str, passed_s: float, deadline_s: float, args: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Ask the helper as it is *passed_s* after the recording's start."""
        async with self._lock:
            await self._helper.ask("at", deadline_s=AT_S, seconds=float(passed_s))
            return await self._helper.ask(kind, deadline_s=deadline_s, **args)

    async def close(self) -> None:
        """End the helper."""
        await self._helper.close()
