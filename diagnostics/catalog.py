"""Every check, in the order in which an engineer walks a sick node.

Processes, then driver and firmware, then the network, then the training logs: a fault found early
is often the cause of those that a later stage would report.
"""

from diagnostics.check import Check
from diagnostics.checks.network import devices, ibping, interfaces, ping, ports

PROCESSES: tuple[Check, ...] = ()
DRIVER: tuple[Check, ...] = ()
NETWORK: tuple[Check, ...] = (
    devices.devices,
    ports.ports,
    interfaces.interfaces,
    ibping.ibping,
    ping.ping,
)
TRAINING: tuple[Check, ...] = ()

WALK: tuple[Check, ...] = PROCESSES + DRIVER + NETWORK + TRAINING
