"""What a daemon is made of before its loop runs: what opens files is opened by then."""

import random
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from agent.daemon.alarm import Alarm
from agent.daemon.keeping import Keeping
from agent.daemon.kernel import Listen
from agent.daemon.log import Limit, Log
from agent.daemon.past import KeptPast
from agent.daemon.probed import KeptProbes
from agent.settings.load import Settings
from collectors.catalog import Source
from collectors.node.protocol import Node
from remediations.act.hand import SOCKET

if TYPE_CHECKING:
    # It brings what speaks HTTP, for which a node without aggregator does not pay.
    from agent.daemon.reporting import Reporting


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a daemon is given: `read` reads the settings anew, and raises Mistake.

    `listening` is the local socket, `group` the id of the users who may see all. `reporting` makes
    what tells the aggregator. `past` is what this node had, `alarm` rings where a link changes,
    `listen` waits for the kernel to say something, `actor` is the socket of the only hand,
    `probed` when peers answered in this boot.
    """

    node: Node
    sources: Sequence[Source]
    settings: Settings
    read: Callable[[], Settings]
    keeping: Keeping
    listening: socket.socket
    group: int | None
    log: Log
    limit: Limit
    chance: random.Random
    reporting: "Reporting | None" = None
    past: KeptPast | None = None
    alarm: Alarm | None = None
    listen: Listen | None = None
    actor: str = SOCKET
    probed: KeptProbes | None = None
