"""What the libraries beside NCCL are told to use: Gloo's interfaces, UCX's devices."""

import re
from collections.abc import Callable, Iterator, Sequence

from collectors.facts.observation import Missing
from collectors.jobs.nccl import RankSettings
from collectors.network.interfaces import Interfaces
from collectors.network.ports import Ports
from diagnostics.finding import Finding, found
from diagnostics.nccl import words

# Bridges and ends of pairs for containers and guests: their addresses are the same on every node.
INSIDE = re.compile(
    r"lo|br-[0-9a-f]{12}|vxlan\.calico"
    r"|(?:docker|virbr|cni|flannel|cali|veth|tunl|podman|lxc|lxdbr|kube-|nodelocaldns|cilium_"
    r"|weave|dummy|ifb)\S*"
)
GLOO, UCX = "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES"
ALL = "all"
# mlx5_0:1 is a port of a device; UCX takes * for any part of a name.
PATTERN = re.compile(r"[*?\[]")


def beside(
    job: str, ranks: Sequence[RankSettings], interfaces: Interfaces, ports: Ports | Missing
) -> Iterator[Finding]:
    """Yield notes on names that lead nowhere; a job may never use the library, so no warnings."""
    able = {one.name for one in interfaces.interfaces if one.up and one.running}
    yield from _led(job, ranks, GLOO, lambda name: name in able and not INSIDE.fullmatch(name))
    if isinstance(ports, Missing):
        return
    active = {f"{port.device}:{port.port}" for port in ports.ports if port.active}
    yield from _led(job, ranks, UCX, lambda name: name in active | able)


def _led(
    job: str, ranks: Sequence[RankSettings], setting: str, leads: Callable[[str], bool]
) -> Iterator[Finding]:
    """Yield one note for each value none of whose names leads anywhere."""
    values: dict[str, list[RankSettings]] = {}
    for rank in ranks:
        if one := rank.settings.get(setting):
            values.setdefault(one.value, []).append(rank)
    for value, having in values.items():
        names = [name.strip() for name in value.split(",") if name.strip()]
        # A pattern, or a list that is turned around, is not looked into.
        if not names or ALL in names or any(PATTERN.search(n) or n[0] in "^=" for n in names):
            continue
        if any(leads(name) for name in names):
            continue
        yield found(
            "nccl_wrong_interface",
            "info",
            words.subject(job, having),
            "{setting}={value} of job {job} names nothing here that leads to another node; for the "
            "next start: {change}",
            words.evidence(having, setting),
            variant=setting.partition("_")[0].lower(),
            confidence=0.7,
            job=job,
            setting=setting,
            value=value,
            change=words.change(setting, having[0].settings[setting], None),
        )
