"""NVMe drives: what is on PCI, which controller lives, what the drive says of itself (SMART)."""

import re
from functools import partial
from typing import Any

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.at_once import at_once
from collectors.node.protocol import Node

UEVENT = "/sys/bus/pci/devices/*/uevent"
CONTROLLER = "/sys/class/nvme/nvme*"
NAMES = ("address", "state", "model", "serial", "transport")
# PCI_CLASS=10802: mass storage, NVM, NVM Express
CLASS = re.compile(r"^PCI_CLASS=0?108[0-9A-F]{2}$", re.MULTILINE)
DRIVER = re.compile(r"^DRIVER=(\S+)$", re.MULTILINE)
SMART_S = 10.0
MOST_ASKED = 16


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The SMART / health log (02h): `critical_warning` is its byte 0, shares are in per cent."""

    critical_warning: int | None = None
    available_spare: int | None = None
    available_spare_threshold: int | None = None
    percentage_used: int | None = None
    media_errors: int | None = None
    temperature: int | None = None


class Drive(msgspec.Struct, frozen=True, kw_only=True):
    """One NVMe function on PCI; `name` and `state` are its controller's, None where it has none.

    One of `health` and `missing` is known for a drive whose controller is live.
    """

    address: str
    driver: str | None = None
    name: str | None = None
    state: str | None = None
    model: str | None = None
    serial: str | None = None
    health: Health | None = None
    missing: Missing | None = None


class NvmeDrives(Observation, frozen=True, kw_only=True):
    """All NVMe drives of the node by PCI address, without those reached over a network."""

    drives: tuple[Drive, ...]


async def collect(node: Node, wanted: Wanted) -> NvmeDrives | Missing:
    """Join PCI with the controllers, then ask each live one for its health, all at once."""
    del wanted
    seen = await node.files(UEVENT, *(f"{CONTROLLER}/{name}" for name in NAMES), cap=4096)
    if isinstance(seen, Missing):
        return seen
    asks = [partial(_with_health, drive) for drive in joined(seen)]
    drives: list[Drive] = []
    for start in range(0, len(asks), MOST_ASKED):
        drives += await at_once(node, asks[start : start + MOST_ASKED])
    return NvmeDrives(drives=tuple(drives))


def joined(seen: Files) -> list[Drive]:
    """Return the drives on PCI with the controllers that answer for them."""
    names = {
        address.strip(): name
        for (name,), address in seen.match(f"{CONTROLLER}/address")
        if (seen.get(f"/sys/class/nvme/{name}/transport") or "pcie").strip() == "pcie"
    }
    found = []
    for (address,), text in seen.match(UEVENT):
        if CLASS.search(text) is None:
            continue
        driver = DRIVER.search(text)
        drive = Drive(address=address, driver=driver[1] if driver else None)
        found.append(_controlled(seen, drive, names.get(address)))
    return found


def _controlled(seen: Files, drive: Drive, name: str | None) -> Drive:
    if name is None:
        return drive
    values = {
        key: seen.get(f"/sys/class/nvme/{name}/{key}") for key in ("state", "model", "serial")
    }
    return msgspec.structs.replace(
        drive, name=name, **{key: value.strip() if value else None for key, value in values.items()}
    )


async def _with_health(drive: Drive, node: Node) -> Drive:
    if drive.name is None or drive.state != "live":
        return drive
    answer = await node.ask("smart", deadline_s=SMART_S, device=drive.name)
    if not isinstance(answer, Missing):
        health = parse(answer)
        if health is not None:
            return msgspec.structs.replace(drive, health=health)
        detail = "smartctl's answer has no NVMe health log"
        answer = Missing(what="smart", cause=Cause.GARBLED, detail=detail)
    missing = msgspec.structs.replace(answer, what=f"SMART of {drive.name}")
    return msgspec.structs.replace(drive, missing=missing)


def parse(answer: Any) -> Health | None:  # noqa: ANN401 - JSON
    """Return the health log of smartctl's JSON; a value of another type is not reported."""
    log = answer.get("nvme_smart_health_information_log") if isinstance(answer, dict) else None
    if not isinstance(log, dict):
        return None
    fields = Health.__struct_fields__
    known = {key: log[key] for key in fields if type(log.get(key)) is int and log[key] >= 0}
    return Health(**known) if "critical_warning" in known else None
