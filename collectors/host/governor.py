"""How the CPUs choose their clock: cpufreq's policies."""

from collections import Counter

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

FOLDER = "/sys/devices/system/cpu/cpufreq/policy[0-9]*"
NAMES = ("scaling_governor", "scaling_driver", "energy_performance_preference")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """CPUs that are steered alike, and how many policies of the node are like this."""

    governor: str
    driver: str
    preference: str | None = None
    count: int = 1


class CpuPolicies(Observation, frozen=True, kw_only=True):
    """The kinds of policy in use, none where the CPUs' clock is not the system's to steer."""

    policies: tuple[Policy, ...]


async def collect(node: Node, wanted: Wanted) -> CpuPolicies | Missing:
    """Read governor, driver and preference of every policy."""
    del wanted
    seen = await node.files(*(f"{FOLDER}/{name}" for name in NAMES), cap=256)
    if isinstance(seen, Missing):
        return seen
    table = {
        name: {keys[0]: text.strip() for keys, text in seen.match(f"{FOLDER}/{name}")}
        for name in NAMES
    }
    governors, drivers, preferences = (table[name] for name in NAMES)
    found = [(g, drivers.get(key, ""), preferences.get(key)) for key, g in governors.items()]
    return CpuPolicies(policies=kinds(found))


def kinds(found: list[tuple[str, str, str | None]]) -> tuple[Policy, ...]:
    """Return each kind of (governor, driver, preference) once, with its count."""
    return tuple(
        Policy(governor=kind[0], driver=kind[1], preference=kind[2], count=count)
        for kind, count in Counter(found).items()
    )
