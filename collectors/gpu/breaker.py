"""What the kernel log forbids: no driver call after a GSP timeout, none to a GPU off the bus.

A call into a driver whose GPU firmware hangs blocks for 45 s or for ever, and each process that
is stuck in it is one more that keeps the node from being repaired. A person who knows better can
have it asked all the same: `Wanted.ask_driver`.
"""

import re

import msgspec

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Cause, Missing
from collectors.facts.pci import function

# NVRM: Xid (PCI:0000:90:00): 119, pid=70411, name=nvidia-smi, Timeout after 6s of waiting for RPC
# NVRM: Xid (PCI:0000:4e:00 GPU-I:05): 79, pid='<unknown>', name=<unknown>, GPU has fallen off
XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?(?P<gpu>[0-9a-f:.]{7,16})(?: GPU-[^)]{1,32})?\): (?P<xid>79|119|120)\b",
    re.IGNORECASE,
)
# NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.
FALLEN = re.compile(
    r"NVRM: GPU (?P<gpu>[0-9a-f:.]{7,16}): GPU has fallen off the bus", re.IGNORECASE
)
# NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025
LOADED = re.compile(r"NVRM: loading NVIDIA UNIX ")


class Breaker(msgspec.Struct, frozen=True):
    """What must not be asked: the whole driver since `silent`, or the GPUs of `lost`."""

    silent: Record | None = None
    lost: tuple[str, ...] = ()

    def held_back(self, what: str, log: KernelLog) -> Missing | None:
        """Return why the driver is not asked for *what*, None where it can be."""
        if self.silent is None:
            return None
        hit = XID.search(self.silent.text)
        code = hit["xid"] if hit else ""
        gpu = function(hit["gpu"]) if hit else ""
        ago = round(log.age_s(self.silent))
        detail = (
            f"Xid {code} of GPU {gpu} {ago} s ago; the driver is not asked again until reboot, "
            "or by a person with --ask-driver"
        )
        return Missing(what=what, cause=Cause.HELD_BACK, detail=detail)


# The records that were read last, with what they forbid: several ask of the same ones, again and
# again, and a log without news is the same tuple.
_read: list[tuple[tuple[Record, ...], Breaker]] = []


def breaker(log: KernelLog | Missing) -> Breaker:
    """Return what this boot's log forbids; a log that cannot be read forbids nothing.

    A driver that was loaded anew since has no memory of what came before.
    """
    if isinstance(log, Missing):
        return Breaker()
    if not _read or _read[0][0] is not log.records:
        _read[:] = [(log.records, _forbidden(log))]
    return _read[0][1]


def _forbidden(log: KernelLog) -> Breaker:
    silent: Record | None = None
    lost: dict[str, None] = {}
    for record in log.by_kernel():
        # Who asks often asks of thousands of lines that are not the driver's.
        if record.text[:5].upper() != "NVRM:":
            continue
        if LOADED.match(record.text):
            silent, lost = None, {}
        elif hit := XID.match(record.text) or FALLEN.match(record.text):
            if hit.groupdict().get("xid", "79") == "79":
                lost[function(hit["gpu"])] = None
            else:
                silent = record
    return Breaker(silent, tuple(lost))
