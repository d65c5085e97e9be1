"""The BMC's event log (SEL) of the last 24 h, as the reader read it; nothing is taken out of it."""

import msgspec

from collectors.bmc import controller
from collectors.bmc.controller import Bmc, OfBmc
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One record (IPMI 2.0, 32.1); `time` is seconds since the epoch by the node's clock.

    It is None where the BMC's clock was not set. `sensor_type`, `event` and `offset` say what
    happened, as numbers of tables 42-1 to 42-3; an OEM record has none of them.
    """

    id: int
    time: float | None = None
    record_type: int = 0x02
    sensor_type: int | None = None
    sensor: int | None = None
    name: str | None = None
    event: int | None = None
    offset: int | None = None
    asserted: bool = True
    data: tuple[int, ...] = ()


class BmcEvents(OfBmc, frozen=True, kw_only=True):
    """The newest entries, oldest first; `total` are in the log, `last` is the newest id.

    A `full` log takes no new entries; `truncated` means that older ones of the day were not read.
    `declined` counts those that the BMC did not give when it was asked.
    """

    entries: tuple[Entry, ...] = ()
    total: int = 0
    last: int = 0
    full: bool = False
    truncated: bool = False
    declined: int = 0


async def collect(node: Node, wanted: Wanted, bmc: Bmc | Missing) -> BmcEvents | Missing:
    """Ask the reader for the log's last day of a BMC that answers."""
    del wanted
    return await controller.ask(node, bmc, "bmc_sel", BmcEvents, after=-1)
