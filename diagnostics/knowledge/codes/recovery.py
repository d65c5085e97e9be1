"""What brings a GPU back: the driver's own word, else the sub-events of its lines, else the codes.

NVIDIA's drivers state it since R565: in an Xid 154 when it changes, and as a field of NVML.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from diagnostics.knowledge.codes.tables import Recovery, sxids, xids

By = Literal["driver", "sub_event", "code", "person"]

# nvml.h, nvmlDeviceGpuRecoveryAction_t. Up to here all releases agree: 5 is a reset of the bus in
# driver 580 and the recovery of an IMEX domain from 610 on.
STATED: Mapping[int, Recovery] = {
    0: "none",
    1: "reset_gpu",
    2: "reboot_node",
    3: "stop_peers",
    4: "drain_and_reset",
}

STEPS: Mapping[Recovery, str] = {
    "none": "nothing is to be done",
    "watch": "watch it: nothing is to be done while it stays alone",
    "restart_job": "start the job again; the GPU needs nothing",
    "update_software": "bring driver and firmware to versions that fit together",
    "restart_fabric_manager": "start fabric manager again when no job runs",
    "run_diagnostics": "drain the node and run dcgmi diag -r 3",
    "call_vendor": "drain the node and report it to the vendor",
    "stop_peers": "stop the peers' traffic to this GPU, then reset it",
    "reset_gpu": "reset the GPU when nothing holds it",
    "drain_and_reset": "let the jobs on this GPU end, then reset it",
    "reset_fabric": "drain the node and reset all its GPUs and switches together",
    "reboot_node": "drain and reboot the node; if that fails, cut its power through the BMC",
    "check_power_and_cables": "drain the node, then look at power cables, cooling and seat",
}
# Which of two holds for one GPU: the later includes the earlier, or cannot be put off for it.
ORDER: tuple[Recovery, ...] = tuple(STEPS)
# Memory that could not be corrected, and its repair, which the next reset activates.
MEMORY, REPAIRED = 48, frozenset({63, 64})


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """A code that was heard of a GPU or switch, and the recovery of its sub-event, if any."""

    code: int
    switch: bool = False
    sub_event: Recovery | None = None


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, and by whose word; a value that releases explain differently is `raw`."""

    action: Recovery | None
    by: By
    raw: int | None = None

    @property
    def step(self) -> str:
        """Return it as a step for a person."""
        if self.action is None:
            return (
                f"the driver asks for recovery action {self.raw}, which its releases mean"
                " differently: look it up for this one"
            )
        return STEPS[self.action]


def recovery(
    heard: Iterable[Heard], *, xid_154: int | None = None, nvml: int | None = None
) -> Advice | None:
    """Return what brings the GPU back, None where nothing that was heard says it.

    *nvml* is the driver's answer of now and *xid_154* its last word in the log: the first holds
    where both are known. A driver that wants nothing does not bring back a job, and does not
    speak for a code that it states no recovery for.
    """
    heard = tuple(heard)
    stated = nvml if nvml is not None else xid_154
    if stated is not None and stated not in STATED:
        return Advice(action=None, by="person", raw=stated)
    if stated:
        return Advice(action=STATED[stated], by="driver")
    told = _gravest(heard)
    if stated == 0 and (told is None or _spoken_for(told, heard)):
        return Advice(action="none", by="driver")
    return told


def _spoken_for(told: Advice, heard: Iterable[Heard]) -> bool:
    return told.action != "restart_job" and all(
        not one.switch and (code := xids().get(one.code)) is not None and code.told_by_154
        for one in heard
    )


def _gravest(heard: tuple[Heard, ...]) -> Advice | None:
    codes = {one.code for one in heard if not one.switch}
    if MEMORY in codes and codes & REPAIRED:
        heard = (*heard, Heard(code=MEMORY, sub_event="drain_and_reset"))
    advices = [advice for one in heard if (advice := _of(one)) is not None]
    return max(advices, key=_rank, default=None)


def _rank(advice: Advice) -> int:
    return ORDER.index(advice.action) if advice.action else len(ORDER)


def _of(heard: Heard) -> Advice | None:
    if heard.sub_event is not None:
        return Advice(action=heard.sub_event, by="sub_event")
    code = (sxids() if heard.switch else xids()).get(heard.code)
    return Advice(action=code.recovery, by="code") if code is not None else None
