"""The verbs of the BMC, in band: what it is, its sensors, its event log. Only reads are sent.

A raw request costs 5 to 50 ms on a KCS interface, so that reading all of 200 sensors takes
seconds: the list of sensors is read once for each firmware and kept, and 24 of them are read.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from collectors.helpers.children import ipmi, kept, sdr, sel, sensors
from collectors.helpers.children.ipmi import Reply
from collectors.helpers.children.loop import Refused

DEVICE_ID = (0x06, 0x01)
CHASSIS = (0x00, 0x01)
REPOSITORY = (0x0A, 0x20)

# Below the parents' patience, so that no ipmitool outlives its helper.
ASK_S = 10.0
DUMP_S = 15.0
KEEP_S = 60.0

_lists: dict[bytes, list[sdr.Sensor]] = {}


def bmc_info() -> dict[str, Any]:
    """Return firmware, maker and product of the BMC, and the faults in its chassis status."""
    with _alone():
        identity, chassis = ipmi.ask((DEVICE_ID, CHASSIS), ASK_S)
    return info(identity, chassis)


def info(identity: Reply, chassis: Reply) -> dict[str, Any]:
    """Return what the two replies say; Refused where the BMC does not identify itself."""
    said = identity.data
    if identity.code != 0 or len(said) < 11:  # noqa: PLR2004 - 20.1: the product id ends there
        raise Refused("crashed", "the BMC does not identify itself")
    answer: dict[str, Any] = {
        "firmware": f"{said[2] & 0x7F}.{said[3]:02x}",
        "manufacturer": said[6] | said[7] << 8 | (said[8] & 0x0F) << 16,
        "product": said[9] | said[10] << 8,
    }
    if chassis.code == 0 and len(chassis.data) > 2:  # noqa: PLR2004 - 28.2: three bytes at least
        power, _, misc = chassis.data[:3]
        answer["power_overload"] = bool(power & 0x02)
        answer["power_fault"] = bool(power & 0x08)
        answer["cooling_fault"] = bool(misc & 0x08)
    return answer


def bmc_sensors() -> dict[str, Any]:
    """Return at most 24 readings, one a minute: `sensors`, and how many of each kind are `listed`.

    A sensor holds its `value` in `unit` and the thresholds that the BMC says it has `crossed`, or
    its `states` and `event` (event/reading type), or the reason why it is `silent`.
    """
    with _alone():
        if fresh := kept.recent("bmc-sensors.json", KEEP_S):
            return {**fresh[0], "age_s": round(fresh[1], 3)}
        chosen, listed = sensors.choose(_list())
        answer = {"sensors": sensors.readings(chosen, ASK_S), "listed": listed}
        kept.keep("bmc-sensors.json", answer)
    return {**answer, "age_s": 0.0}


def bmc_sel(after: int = -1) -> dict[str, Any]:
    """Return the event log's entries after id *after*, at most the newest 512; -1: of 24 h.

    `last` is the newest id, for the next question; `time` is seconds since the epoch, None for an
    entry from before the BMC's clock was set.
    """
    if not -1 <= after < sel.LAST:
        raise Refused("denied", f"after={after} is no record id")
    name = f"bmc-sel-{after}.json"
    with _alone():
        if after < 0 and (fresh := kept.recent(name, KEEP_S)):
            return dict(fresh[0])
        names = {sensor.number: sensor.name for sensor in _known()}
        answer = sel.entries(after, names, ASK_S)
        if after < 0:
            kept.keep(name, answer)
    return answer


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Ask as root, and alone on this node."""
    if os.geteuid() != 0:
        raise Refused("denied", "only root may ask the BMC")
    with kept.alone("bmc", ASK_S):
        yield


def _list() -> list[sdr.Sensor]:
    """Return the sensors of this BMC's firmware: from memory, from the folder, else by a dump."""
    identity, repository = ipmi.ask((DEVICE_ID, REPOSITORY), ASK_S)
    if identity.code != 0:
        raise Refused("crashed", "the BMC does not identify itself")
    # 33.9: after version, count and room, the times of the last addition and erasure.
    key = f"{identity.data[:11].hex()}-{repository.data[:13].hex()}".encode()
    if key not in _lists:
        held, dump = _kept()
        if held != key:
            dump = _dump()
            kept.write("bmc-sdr", key + b"\n" + dump)
        _lists.clear()
        _lists[key] = sdr.sensors(dump)
    return _lists[key]


def _kept() -> tuple[bytes, bytes]:
    """Return the list of sensors that was kept, behind the firmware that it belongs to."""
    key, _, dump = (kept.read("bmc-sdr") or b"").partition(b"\n")
    return key, dump


def _known() -> list[sdr.Sensor]:
    """Return the sensors that are known already: names of events are worth no dump."""
    return next(iter(_lists.values())) if _lists else sdr.sensors(_kept()[1])


def _dump() -> bytes:
    """Read the whole list of sensors, which takes seconds on a real BMC."""
    import tempfile  # noqa: PLC0415 - its own imports would cost every start of a helper 5 ms

    try:
        with tempfile.TemporaryDirectory(prefix="sdr-", dir=kept.folder()) as folder:
            ran = ipmi.run(("sdr", "dump", f"{folder}/sdr"), "", DUMP_S)
            with open(f"{folder}/sdr", "rb") as file:
                dump = file.read(kept.MOST_BYTES)
    except OSError as problem:
        raise Refused("crashed", f"the list of sensors could not be put down: {problem}") from None
    if ran.status != 0 or not any(sdr.records(dump)):
        why = f"the BMC does not give its list of sensors: {ipmi.complaint(ran)}"
        raise Refused("crashed", why)
    return dump
