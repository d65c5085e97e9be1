"""Whether devices of one model in one node run the same firmware."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.switches import INFORMATION, NvSwitches
from collectors.network.ports import Port, Ports
from diagnostics.check import NODE, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import (
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)

ODD = "{what} {version} on {which}, {usual} on the other {others} of {model}"
SPLIT = "{what} differs among {all} of {model}: {versions}"

# Another board of the same product, from another delivery, can carry another VBIOS by right.
OF_GPU: tuple[tuple[str, str, Callable[[GpuReading], str | None]], ...] = (
    ("VBIOS", "nvmlDeviceGetVbiosVersion", lambda gpu: gpu.vbios),
    ("InfoROM image", "nvmlDeviceGetInforomImageVersion", lambda gpu: gpu.inforom),
    ("GSP firmware", "nvmlDeviceGetGspFirmwareVersion", lambda gpu: gpu.modes.gsp_version),
)
# One board among at least so many of another kind is worth a note; two kinds of cards, one for the
# compute network and one for storage, are how nodes are built.
KIND = 3


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A device that can be compared: how it is called, of which model, what it runs."""

    subject: Subject
    called: str
    model: str
    version: str
    board: str | None = None


@check("gpu.firmware", stage="driver", faults=("firmware_mixed",), proved="documented")
def firmware(
    health: GpuHealth | Missing,
    switches: NvSwitches | Missing,
    ports: Ports | Missing,
    bios: Bios | Missing,
) -> Iterator[Statement]:
    """GPUs, NVSwitches and network cards of one model run the same firmware in this node.

    Another version among siblings often came with a part that was exchanged. Its limits and the
    way it handles errors differ, and what a job sees of that is one slow or odd rank.
    """
    facts = (health, switches, ports)
    yield from (Unseen(missing=fact) for fact in facts if isinstance(fact, Missing))
    groups = [*_gpus(health), *_switches(switches), *_cards(ports)]
    known = _bios(bios)
    findings = [f for what, source, devices in groups for f in _judge(what, source, devices, known)]
    findings += _boards(ports)
    yield from findings
    if not groups:
        yield NotApplicable(why="no two devices of one model tell their firmware")
    elif not findings:
        told = "; ".join(dict.fromkeys(f"{w} {d[0].version}" for w, _, d in groups))
        yield Well(message=f"firmware is the same among siblings: {told}")


Group = tuple[str, str, list[Device]]


def _gpus(health: GpuHealth | Missing) -> Iterator[Group]:
    if isinstance(health, Missing) or asked.asked(health) is not None:
        return
    for gpus in asked.by_product(health.answering()):
        for what, source, of in OF_GPU:
            devices = [
                Device(
                    subject=asked.subject(gpu),
                    called=f"GPU {asked.named(gpu)}",
                    model=gpu.name or "one product",
                    version=version,
                    board=gpu.board_part,
                )
                for gpu in gpus
                if (version := of(gpu))
            ]
            if len(devices) > 1:
                yield what, source, devices


def _switches(switches: NvSwitches | Missing) -> Iterator[Group]:
    """Yield the switches: a baseboard has those of one kind."""
    if isinstance(switches, Missing):
        return
    devices = [
        Device(
            subject=Subject(kind="nvswitch", name=switch.address),
            called=f"NVSwitch {switch.address}",
            model="this node",
            version=switch.bios,
        )
        for switch in switches.switches
        if switch.bios
    ]
    if len(devices) > 1:
        yield "NVSwitch firmware", INFORMATION, devices


def _cards(ports: Ports | Missing) -> Iterator[Group]:
    """Yield the cards of each board kind (PSID): firmware is made for one of them."""
    boards: dict[str, list[Device]] = {}
    for port in _physical(ports):
        if port.board_id and port.fw_ver:
            card = Device(
                subject=Subject(kind="nic", name=port.pci or port.device),
                called=port.device,
                model=f"{port.hca_type or 'one card'} ({port.board_id})",
                version=port.fw_ver,
            )
            boards.setdefault(port.board_id, []).append(card)
    for devices in boards.values():
        if len(devices) > 1:
            yield "card firmware", "/sys/class/infiniband/*/fw_ver", devices


def _physical(ports: Ports | Missing) -> list[Port]:
    """Return one port of each card."""
    if isinstance(ports, Missing):
        return []
    return list({port.device: port for port in ports.ports if not port.virtual}.values())


def _judge(
    what: str, source: str, devices: Sequence[Device], bios: Sequence[Evidence]
) -> Iterator[Finding]:
    versions = Counter(device.version for device in devices)
    if len(versions) < 2:  # noqa: PLR2004 - one version for all
        return
    evidence = (
        Evidence(source=source, values={d.subject.name: d.version for d in devices}),
        *bios,
    )
    usual, most = versions.most_common(1)[0]
    odd = [device for device in devices if device.version != usual]
    severity: Severity = "info" if _other_boards(odd, devices, usual) else "warning"
    if most <= len(odd):
        yield _split(what, devices, versions, severity, evidence)
        return
    yield found(
        "firmware_mixed",
        severity,
        odd[0].subject if len(odd) == 1 else NODE,
        ODD,
        *evidence,
        confidence=0.95,
        what=what,
        version=" and ".join(dict.fromkeys(device.version for device in odd)),
        which=", ".join(device.called for device in odd),
        usual=usual,
        others=most,
        model=devices[0].model,
    )


def _split(
    what: str,
    devices: Sequence[Device],
    versions: Mapping[str, int],
    severity: Severity,
    evidence: Sequence[Evidence],
) -> Finding:
    return found(
        "firmware_mixed",
        severity,
        NODE,
        SPLIT,
        *evidence,
        variant="split",
        confidence=0.95,
        what=what,
        all=len(devices),
        model=devices[0].model,
        versions=", ".join(f"{version} on {number}" for version, number in versions.items()),
    )


def _other_boards(odd: Sequence[Device], devices: Sequence[Device], usual: str) -> bool:
    """Return whether each odd one is a board of another part number than all usual ones."""
    boards = {device.board for device in devices if device.version == usual}
    return all(device.board is not None and device.board not in boards for device in odd)


def _boards(ports: Ports | Missing) -> Iterator[Finding]:
    """Note the one card of a model that is another board than all others."""
    models: dict[str, list[Port]] = {}
    for port in _physical(ports):
        if port.hca_type and port.board_id:
            models.setdefault(port.hca_type, []).append(port)
    for model, cards in models.items():
        kinds = Counter(card.board_id for card in cards)
        usual, most = kinds.most_common(1)[0]
        odd = [card for card in cards if card.board_id != usual]
        if len(odd) == 1 and most >= KIND and len({card.rate_gbps for card in cards}) == 1:
            yield found(
                "firmware_mixed",
                "info",
                Subject(kind="nic", name=odd[0].pci or odd[0].device),
                ODD,
                Evidence(
                    source="/sys/class/infiniband/*/board_id",
                    values={card.device: card.board_id for card in cards},
                ),
                variant="board",
                what="board (PSID)",
                version=odd[0].board_id,
                which=odd[0].device,
                usual=usual,
                others=most,
                model=model,
            )


def _bios(bios: Bios | Missing) -> Sequence[Evidence]:
    if isinstance(bios, Missing):
        return ()
    return (Evidence(source="/sys/class/dmi/id", values=msgspec.structs.asdict(bios)),)
