"""The BMC itself: whether there is one, whether it answers, and what its chassis status says."""

from typing import Any, TypeVar

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

DEVICES = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0")
# ipmi_msghandler makes one for each BMC that has identified itself.
BOUND = "/sys/bus/platform/devices/ipmi_bmc.*"
# All questions go to one helper, one at a time: the last one waits for the others.
PATIENCE_S = 19.0


class OfBmc(Observation, frozen=True, kw_only=True):
    """Something that a BMC says; `present` is False on a node that has none."""

    present: bool = True


class Bmc(OfBmc, frozen=True, kw_only=True):
    """The node's BMC; `missing` says why one that is there did not answer.

    `manufacturer` is the IANA enterprise number, `product` that maker's. The faults are bits of the
    chassis status (IPMI 2.0, 28.2), None where the BMC does not tell them.
    """

    firmware: str | None = None
    manufacturer: int | None = None
    product: int | None = None
    power_overload: bool | None = None
    power_fault: bool | None = None
    cooling_fault: bool | None = None
    missing: Missing | None = None


Shape = TypeVar("Shape", bound=OfBmc)


async def collect(node: Node, wanted: Wanted) -> Bmc | Missing:
    """Look whether the kernel has a BMC, and if so ask it who it is."""
    del wanted
    seen = await node.files(names=(*DEVICES, BOUND))
    if isinstance(seen, Missing):
        return seen
    bmc = there(seen)
    return await _identified(node) if bmc.present and bmc.missing is None else bmc


def there(seen: Files) -> Bmc:
    """Return the BMC that the kernel knows of, unasked."""
    if any(device in seen.texts for device in DEVICES):
        return Bmc()
    if not seen.names(BOUND):
        return Bmc(present=False)
    detail = "no /dev/ipmi0, though the kernel knows a BMC: modprobe ipmi_devintf"
    return Bmc(missing=Missing(what="Bmc", cause=Cause.NO_TOOL, detail=detail))


async def _identified(node: Node) -> Bmc:
    answer = read(await node.ask("bmc_info", deadline_s=PATIENCE_S), Bmc)
    return Bmc(missing=answer) if isinstance(answer, Missing) else answer


async def ask(
    node: Node, bmc: Bmc | Missing, kind: str, shape: type[Shape], **args: int
) -> Shape | Missing:
    """Return what the reader says; a BMC that is not there or gave no answer is not asked."""
    if isinstance(bmc, Missing):
        return bmc
    if not bmc.present:
        return shape(present=False)
    if bmc.missing is not None:
        return bmc.missing
    return read(await node.ask(kind, deadline_s=PATIENCE_S, **args), shape)


def read(answer: Any, shape: type[Shape]) -> Shape | Missing:  # noqa: ANN401 - JSON
    """Return the reader's answer as its shape, or Missing where it is none."""
    if isinstance(answer, Missing):
        return answer
    try:
        return msgspec.convert(answer, shape)
    except ValueError as problem:
        return Missing(what=shape.__name__, cause=Cause.GARBLED, detail=str(problem)[:200])
