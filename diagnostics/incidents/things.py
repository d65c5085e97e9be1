"""Whether two findings are of one thing, in the sense of an edge that joins them."""

import re

from diagnostics.finding import Finding
from diagnostics.incidents.edge import Same
from diagnostics.incidents.rank import quote

# nvme3n1[0] nvme1n1p2 sdb1 of /proc/mdstat, and of the kernel's word of a member that failed.
DISK = re.compile(r"\b(nvme\d{1,3}|sd[a-z]{1,2}|vd[a-z]{1,2})(?=n?\d|\b)")
# How evidence names a card beside its subject: `pci` and `nic` hold an address of PCI.
CARD = ("pci", "nic", "interface", "ibdev", "device")
KIND = re.compile(r"[a-z]{2,4}")


def alike_in(same: Same, cause: Finding, consequence: Finding) -> bool:
    """Return whether two findings that share a key are of the same, in an edge's own sense."""
    if same == "whole":
        of_part = cause.subject.kind != "node" or cause.fault != consequence.fault
        return consequence.subject.kind == "node" and of_part
    if same == "above":
        return _stands_above(cause, consequence)
    if same == "nic":
        return _one_card(cause, consequence)
    if same == "array":
        return _of_array(cause, consequence)
    return same != "heard" or cause.stage != "training"


def _one_card(cause: Finding, consequence: Finding) -> bool:
    one, other = _names(cause), _names(consequence)
    return bool(one & other)


def _names(finding: Finding) -> frozenset[str]:
    """Return how the card is called that a finding is of, or that its evidence names.

    `mlx5_0` of `mlx5_0/1`, `ib0` of its child `ib0.8001`, its interfaces and its PCI address, as
    far as they are told.
    """
    subject = finding.subject
    values = [one.values for one in finding.evidence]
    told = [value[name] for value in values for name in CARD if value.get(name)]
    told += [name for value in values for name in value.get("netdevs") or ()]
    if subject.kind not in ("nic", "port"):
        return frozenset(map(str, told))
    own = subject.name.partition("/")[0]
    bare = own if ":" in own else own.partition(".")[0]
    return frozenset({own, bare, *map(str, told)})


def _of_array(cause: Finding, consequence: Finding) -> bool:
    """Return whether a drive can have been a member of an array, by the members that it quotes."""
    quoted = [one.text for one in consequence.evidence if one.text is not None]
    members = {hit[1] for text in quoted for hit in DISK.finditer(text)}
    kinds = {kind[0] for name in members if (kind := KIND.match(name))}
    kind = KIND.match(cause.subject.name)
    return not members or kind is None or kind[0] in kinds


def _stands_above(cause: Finding, consequence: Finding) -> bool:
    """Return whether it was told first: by its line in one log, by its time in several."""
    one, other = quote(cause), quote(consequence)
    if one is not None and other is not None and one.source == other.source:
        return (one.line or 0) < (other.line or 0)
    then, now = cause.first_seen, consequence.first_seen
    return then is not None and now is not None and then < now
