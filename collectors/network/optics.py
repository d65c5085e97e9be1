"""Modules of Ethernet cards, by what they say of their own heat and light: every ten minutes."""

import re
from typing import Any

import msgspec

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.statistics import cards
from collectors.network.tiers import Tier
from collectors.node.protocol import Node

DEADLINE_S = 6.0
MOST_CARDS = 64

# Behind a tab: Module temperature                        : 51.37 degrees C / 124.47 degrees F
# Module temperature high alarm threshold     : 75.00 degrees C / 167.00 degrees F
HEAT = re.compile(
    r"^\s*Module temperature(?P<limit> high (?:alarm|warning) threshold)?\s*:\s*"
    r"(?P<celsius>-?\d{1,3}(?:\.\d{1,4})?) degrees C",
    re.MULTILINE,
)
# Vendor name                               : Mellanox
# Vendor PN                                 : MCP4Y10-N002
PART = re.compile(r"^\s*Vendor (name|PN|rev)\s*:\s*(\S[^\n]{0,40}?)\s*$", re.MULTILINE)
# Cannot get module EEPROM information: Operation not supported
NO_MODULE = ("Operation not supported", "No such device", "Input/output error")


class Said(msgspec.Struct, frozen=True):
    """The reader's answer: what the tool printed."""

    status: int
    stdout: str = ""
    stderr: str = ""


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """One module; temperatures in degrees C. A copper cable tells its part, and no heat."""

    name: str
    part: str | None = None
    celsius: float | None = None
    warning_celsius: float | None = None
    alarm_celsius: float | None = None


class Optics(Observation, frozen=True, kw_only=True):
    """The modules of all Ethernet cards with a carrier; `silent` are those that gave no answer."""

    modules: tuple[Module, ...] = ()
    silent: tuple[Missing, ...] = ()


class Looking:
    """Modules looked at again and again, until the kernel or a card says that we may not."""

    def __init__(self) -> None:
        self._tier = Tier("ethtool -m")

    async def collect(
        self, node: Node, wanted: Wanted, log: KernelLog | Missing
    ) -> Optics | Missing:
        """Ask for each module; a refusal ends it for this boot."""
        del wanted
        if (stopped := await self._tier.stopped(node, log)) is not None:
            return stopped
        names = await cards(node)
        if isinstance(names, Missing):
            return names
        modules, silent = [], []
        for name in names[:MOST_CARDS]:
            got = _output(await node.ask("module", deadline_s=DEADLINE_S, device=name))
            if (refused := await self._tier.denied(node, got)) is not None:
                silent.append(refused)
                break
            assert isinstance(got, Output)
            if not any(word in got.stderr for word in NO_MODULE):
                modules.append(parse(name, got.stdout))
        if silent and not modules:
            return silent[0]
        return Optics(modules=tuple(modules), silent=tuple(silent))


async def collect(node: Node, wanted: Wanted, log: KernelLog | Missing) -> Optics | Missing:
    """Ask for each module once."""
    return await Looking().collect(node, wanted, log)


def _output(answer: Any) -> Output | Missing:  # noqa: ANN401 - JSON of a helper
    if isinstance(answer, Missing):
        return answer
    try:
        said = msgspec.convert(answer, Said)
    except msgspec.ValidationError as problem:
        return Missing(what="ethtool -m", cause=Cause.GARBLED, detail=str(problem)[:200])
    argv = ("ethtool", "-m")
    return Output(argv=argv, status=said.status, stdout=said.stdout, stderr=said.stderr)


def parse(name: str, text: str) -> Module:
    """Return what a module says."""
    heat = {(hit["limit"] or "").strip(): float(hit["celsius"]) for hit in HEAT.finditer(text)}
    part = dict(PART.findall(text))
    words = [part[key] for key in ("name", "PN", "rev") if key in part]
    return Module(
        name=name,
        part=" ".join(words) or None,
        celsius=heat.get(""),
        warning_celsius=heat.get("high warning threshold"),
        alarm_celsius=heat.get("high alarm threshold"),
    )
