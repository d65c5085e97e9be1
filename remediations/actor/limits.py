"""Which limit a cap is set on: the GPU's own, or the node's by the way that the site chose."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from remediations.actor import power
from remediations.actor.dcmi import Dcmi
from remediations.actor.held import Held
from remediations.actor.redfish import Redfish
from remediations.actor.registry import Refused
from remediations.actor.target import Target
from remediations.policy import Heat, Policy

DCMI, REDFISH = "dcmi", "redfish"
BY_NODE = (DCMI, REDFISH)
# By what a GPU is held down, where it is not by its power limit.
CLOCKS = {"by": "clocks"}
NOTHING_SAID = Heat()


def of_node(policy: Policy) -> tuple[str, Mapping[str, str]]:
    """Return how the site lets the node be held down, and what is needed to lift that again."""
    heat = policy.heat
    if heat.redfish and heat.redfish_url:
        way = {"url": heat.redfish_url, "credentials": heat.redfish_credentials}
        return REDFISH, way | {"sha256": heat.redfish_sha256}
    if heat.dcmi:
        return DCMI, {}
    raise Refused(
        "denied", "the policy allows no limit of the BMC: [heat] dcmi, or redfish with its url"
    )


def opened(
    name: str, one: Held | None, way: Mapping[str, str], heat: Heat = NOTHING_SAID
) -> AbstractContextManager[Target]:
    """Return the limit that the cap called *name* is set on; *one* is the cap that is on.

    What is on is lifted by the way that it was set, whatever the policy says by then.
    """
    base = None if one is None else one.cap.before
    if name == DCMI:
        return nullcontext(Dcmi(base, {} if one is None else one.way))
    if name == REDFISH:
        return nullcontext(Redfish(way if one is None else one.way, base))
    if (way if one is None else one.way) == CLOCKS:
        held = None if one is None else one.cap.limit
        return power.opened(name, partial(power.GpuClocks, held=held))
    return power.opened(name, partial(power.GpuLimit, standing=heat.standing_mw))
