"""What adapters say of their own health and firmware, by `devlink`: every ten minutes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.ports import Ports
from collectors.network.tiers import Tier
from collectors.node.protocol import Node

DEADLINE_S = 6.0
SAID_CAP = 200
MOST_DEVICES, MOST_REPORTERS = 256, 32
WORD_CAP = 64

# pci/0000:1a:00.0       of a port of it: pci/0000:1a:00.0/65535
HANDLE = re.compile(r"pci/(?P<pci>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:/\d{1,10})?")


class Reporter(msgspec.Struct, frozen=True, kw_only=True):
    """One health reporter (`fw`, `fw_fatal`, `tx`) of the function at `pci`.

    `state` is "healthy", or "error" until it has recovered. `errors` and `recoveries` count since
    the driver was loaded.
    """

    pci: str
    name: str
    state: str
    errors: int = 0
    recoveries: int = 0


class AdapterFirmware(msgspec.Struct, frozen=True, kw_only=True):
    """The firmware that runs, and the one in flash, which runs after the next reset; PSID."""

    pci: str
    psid: str | None = None
    running: str | None = None
    stored: str | None = None

    @property
    def pending(self) -> bool:
        """Return whether another firmware waits for a reset."""
        return bool(self.running and self.stored) and self.running != self.stored


class AdapterHealth(Observation, frozen=True, kw_only=True):
    """All adapters that devlink knows; `silent` is what was not answered."""

    reporters: tuple[Reporter, ...] = ()
    firmware: tuple[AdapterFirmware, ...] = ()
    silent: tuple[Missing, ...] = ()


class Looking:
    """Adapters asked again and again, until the kernel or a card says that we may not."""

    def __init__(self) -> None:
        self._tier = Tier("devlink")

    async def collect(
        self, node: Node, wanted: Wanted, ports: Ports | Missing, log: KernelLog | Missing
    ) -> AdapterHealth | Missing:
        """Ask for reporters, and for firmware, of all adapters at once; none without an adapter."""
        del wanted
        if isinstance(ports, Missing):
            return ports
        if all(port.virtual for port in ports.ports):
            return AdapterHealth()
        if (stopped := await self._tier.stopped(node, log)) is not None:
            return stopped
        health = await self._said(node, "health", "show")
        firmware = await self._said(node, "dev", "info")
        silent = tuple(one for one in (health, firmware) if isinstance(one, Missing))
        if isinstance(health, Missing) and isinstance(firmware, Missing):
            return health
        return AdapterHealth(
            reporters=() if isinstance(health, Missing) else tuple(reporters(health)),
            firmware=() if isinstance(firmware, Missing) else tuple(firmwares(firmware)),
            silent=silent,
        )

    async def _said(self, node: Node, *words: str) -> Mapping[str, Any] | Missing:
        got = await node.command("devlink", "-j", *words, deadline_s=DEADLINE_S)
        if (refused := await self._tier.denied(node, got)) is not None:
            return refused
        assert isinstance(got, Output)
        return parse(" ".join(("devlink", *words)), got)


async def collect(
    node: Node, wanted: Wanted, ports: Ports | Missing, log: KernelLog | Missing
) -> AdapterHealth | Missing:
    """Ask once."""
    return await Looking().collect(node, wanted, ports, log)


def parse(what: str, got: Output) -> Mapping[str, Any] | Missing:
    """Return what stands in the one table that devlink prints, by its handles."""
    try:
        tables = msgspec.json.decode(got.stdout, type=dict[str, dict[str, Any]])
    except ValueError:
        # Failed to connect to devlink Netlink
        said = (got.stderr or got.stdout).strip()
        return Missing(what=what, cause=Cause.GARBLED, detail=said[:SAID_CAP] or "no output")
    table = next(iter(tables.values()), {})
    return dict(list(table.items())[:MOST_DEVICES])


def reporters(table: Mapping[str, Any]) -> Iterator[Reporter]:
    """Yield the reporters of functions and of their ports; of other buses there are none."""
    for handle, rows in table.items():
        hit = HANDLE.fullmatch(handle)
        for row in rows[:MOST_REPORTERS] if hit and isinstance(rows, list) else ():
            if hit and isinstance(row, dict) and isinstance(row.get("state"), str):
                yield Reporter(
                    pci=hit["pci"],
                    name=str(row.get("reporter"))[:WORD_CAP],
                    state=row["state"][:WORD_CAP],
                    errors=_count(row.get("error")),
                    recoveries=_count(row.get("recover")),
                )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def firmwares(table: Mapping[str, Any]) -> Iterator[AdapterFirmware]:
    """Yield the firmware of each function; of its versions `fw.version`, or `fw` where alone."""
    for handle, row in table.items():
        hit = HANDLE.fullmatch(handle)
        versions = row.get("versions") if hit and isinstance(row, dict) else None
        if hit and isinstance(versions, dict):
            yield AdapterFirmware(
                pci=hit["pci"],
                psid=_version(versions, "fixed", "fw.psid"),
                running=_version(versions, "running", "fw.version", "fw"),
                stored=_version(versions, "stored", "fw.version", "fw"),
            )


def _version(versions: Mapping[str, Any], kind: str, *names: str) -> str | None:
    table = versions.get(kind)
    listed = [table.get(name) for name in names] if isinstance(table, dict) else []
    return next((text[:WORD_CAP] for text in listed if isinstance(text, str)), None)
