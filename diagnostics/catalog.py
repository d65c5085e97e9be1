"""Every check, in the order in which an engineer walks a sick node.

Processes, then driver and firmware, then the network, then the training logs: a fault found early
is often the cause of those that a later stage would report.
"""

from diagnostics.check import Check

PROCESSES: tuple[Check, ...] = ()
DRIVER: tuple[Check, ...] = ()
NETWORK: tuple[Check, ...] = ()
TRAINING: tuple[Check, ...] = ()

WALK: tuple[Check, ...] = PROCESSES + DRIVER + NETWORK + TRAINING
