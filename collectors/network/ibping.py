"""`ibping` to the peers that have a LID or a port GUID: the statistics line alone.

Its exit status is 0 at 100 % loss. Its times are wrong: `time_stamp()` of infiniband-diags divides
nanoseconds by 10000 instead of 1000 (rdma-core 28 to 64), so that 5 ms print as 0.5 ms and a ping
across a whole second as 900 ms. Neither is used: how long the tool ran is measured outside.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Peer, Wanted
from collectors.network import traffic
from collectors.network.peers import Probe, each, others
from collectors.node.protocol import Node

# -f: without it the tool sleeps a second after each ping. Three tries of 200 ms for each.
OPTIONS = ("-f", "-c", "10", "-t", "200")
DEADLINE_S = 8.0
READER_S = 18.0
SAID_CAP = 200

# 10 packets transmitted, 7 received, 30% packet loss, time 1800 ms
SENT = re.compile(r"^(\d{1,6}) packets transmitted, (\d{1,6}) received.{0,80}$", re.MULTILINE)
# ibwarn: [4242] get_abi_version: can't read ABI version from /sys/class/infiniband_mad/abi_version
NO_UMAD = "can't read ABI version"
# ibping: iberror: failed: Failed to open '(null)' port '0'
CLOSED = "Failed to open"
# ibping: iberror: failed: can't resolve destination port 0x506b4b0300a1b2c3
UNRESOLVED = re.compile(r"can't resolve destination port 0x[0-9a-fA-F]{1,16}")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's answer for one target: what the tool printed, or why there is nothing."""

    status: int = 0
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    missing: Cause | None = None
    detail: str = ""


class IbPings(Observation, frozen=True, kw_only=True):
    """What `ibping` said of each peer that has a LID or GUID, in the settings' order."""

    probes: tuple[Probe, ...] = ()


async def collect(node: Node, wanted: Wanted) -> IbPings | Missing:
    """Ping each peer ten times; the reader does it where we may not open the device."""
    peers = [peer for peer in await others(node, wanted.peers) if target(peer)]
    if peers and (held := await traffic.heavy(node, wanted.sample_s)):
        return held
    return IbPings(probes=await ping(node, peers, patient=wanted.patient))


async def ping(node: Node, peers: Sequence[Peer], *, patient: bool = False) -> tuple[Probe, ...]:
    """Ping these peers, whatever the ports carry."""
    probes = await each(node, peers, _probe, patient=patient)
    denied = [p for p in probes if p.missing and p.missing.cause is Cause.DENIED]
    if not denied:
        return probes
    answers = await _ask_reader(node, list(dict.fromkeys((p.target, p.rail) for p in denied)))
    return tuple(_answered(probe, answers) for probe in probes)


def target(peer: Peer) -> str:
    """Return the LID as digits, else the port GUID as 0x..., else nothing."""
    return str(peer.lid) if peer.lid is not None else peer.port_guid or ""


async def _probe(node: Node, peer: Peer) -> Probe:
    to = target(peer)
    # The tool takes the first active port of the machine where no device is named.
    device = ("-C", peer.rail, "-P", "1") if peer.rail else ()
    option = "-L" if peer.lid is not None else "-G"
    got = await node.command("ibping", *OPTIONS, *device, option, to, deadline_s=DEADLINE_S)
    read = (
        Probe(peer=peer.name, target=to, missing=got)
        if isinstance(got, Missing)
        else parse(peer.name, to, got)
    )
    return msgspec.structs.replace(read, rail=peer.rail, serves=peer.serves)


Way = tuple[str, str]


async def _ask_reader(node: Node, ways: Sequence[Way]) -> Mapping[Way, Said] | Missing:
    rails = [rail for _, rail in ways]
    named = {"devices": rails} if any(rails) else {}
    targets = [to for to, _ in ways]
    got: Any = await node.ask("ibping", deadline_s=READER_S, targets=targets, **named)
    if isinstance(got, Missing):
        verb = "ibping" if got.cause is Cause.DENIED else got.verb
        return Missing(what="ibping", cause=got.cause, detail=got.detail, verb=verb)
    try:
        said = msgspec.convert(got, list[Said])
        return dict(zip(ways, said, strict=True))
    except ValueError as problem:
        return Missing(what="ibping", cause=Cause.GARBLED, detail=str(problem)[:SAID_CAP])


def _answered(probe: Probe, answers: Mapping[Way, Said] | Missing) -> Probe:
    if probe.missing is None or probe.missing.cause is not Cause.DENIED:
        return probe
    if isinstance(answers, Missing):
        return msgspec.structs.replace(probe, missing=answers)
    said = answers[probe.target, probe.rail]
    if said.missing is not None:
        missing = Missing(what="ibping", cause=said.missing, detail=said.detail[:SAID_CAP])
        return msgspec.structs.replace(probe, missing=missing)
    output = Output(
        argv=("ibping",),
        status=said.status,
        stdout=said.stdout,
        stderr=said.stderr,
        seconds=said.seconds,
    )
    read = msgspec.structs.replace(
        parse(probe.peer, probe.target, output), rail=probe.rail, serves=probe.serves
    )
    if read.missing is not None and read.missing.cause is Cause.DENIED:
        detail = "root cannot open /dev/infiniband/umad* either"
        missing = Missing(what="ibping", cause=Cause.CRASHED, detail=detail)
        return msgspec.structs.replace(probe, missing=missing)
    return read


def parse(peer: str, to: str, got: Output) -> Probe:
    """Return what the statistics line says; an unknown GUID is an answer, a closed device none."""
    sent = SENT.search(got.stdout)
    if sent:
        return Probe(
            peer=peer,
            target=to,
            sent=int(sent[1]),
            received=min(int(sent[2]), int(sent[1])),
            seconds=got.seconds,
            said=sent[0][:SAID_CAP],
        )
    text = got.stdout + got.stderr
    if unresolved := UNRESOLVED.search(text):
        return Probe(peer=peer, target=to, said=unresolved[0])
    return Probe(peer=peer, target=to, missing=_unusable(text))


def _unusable(text: str) -> Missing:
    if NO_UMAD in text:
        return Missing(what="ibping", cause=Cause.NO_TOOL, detail="ib_umad is not loaded")
    if CLOSED in text:
        detail = "/dev/infiniband/umad* cannot be opened"
        return Missing(what="ibping", cause=Cause.DENIED, detail=detail, verb="ibping")
    detail = (text.strip().splitlines() or ["no output"])[-1][:SAID_CAP]
    return Missing(what="ibping", cause=Cause.GARBLED, detail=detail)
