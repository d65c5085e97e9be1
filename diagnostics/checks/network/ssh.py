"""Do the peers accept ssh connections."""

from collections.abc import Iterator

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.jobs.ranks import LocalRanks
from collectors.network.tcp import TcpAnswer, TcpAnswers
from diagnostics.check import check
from diagnostics.checks.network.hostlist import hosts
from diagnostics.checks.network.peers import NO_PEERS
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

# Slurm's own list of a job's nodes, as each rank has it in its environment.
LIST = "SLURM_JOB_NODELIST"


@check("network.ssh", stage="network", faults=("ssh_unreachable",), proved="real-tool")
def ssh(seen: TcpAnswers, ranks: LocalRanks | Missing) -> Iterator[Statement]:
    """Port 22 of each peer with an address accepts, and its sshd says its first line.

    A host that accepts and then says nothing is alive in its kernel and stuck above it: out of
    memory, or its disk does not answer. Many sites run no sshd on compute nodes; so silence is a
    fault only of a node of a job that runs here, and only if it spoke since the agent's start.
    """
    if not seen.answers:
        yield NotApplicable(why=f"{NO_PEERS} (with address)")
        return
    reasons = {one.missing.why(): one.missing for one in seen.answers if one.missing}
    yield from (Unseen(missing=missing) for missing in reasons.values())
    asked = [one for one in seen.answers if one.missing is None]
    nodes = jobs_nodes(ranks)
    yield from (_silent(one, nodes) for one in asked if not one.answered)
    if spoke := sum(one.answered for one in asked):
        yield Well(message=f"{spoke} of {len(asked)} peers answer on port 22")


def jobs_nodes(ranks: LocalRanks | Missing) -> frozenset[str]:
    """Return the hosts of the jobs that have ranks here."""
    if isinstance(ranks, Missing):
        return frozenset()
    lists = {rank.environ.get(LIST, "") for rank in ranks.ranks}
    return frozenset().union(*(hosts(text) for text in sorted(lists)))


def _silent(one: TcpAnswer, nodes: frozenset[str]) -> Finding:
    of_job = one.peer in nodes or one.peer.partition(".")[0] in nodes
    lost = of_job and one.answered_s is not None
    return found(
        "ssh_unreachable",
        "warning" if lost else "info",
        Subject(kind="node", name=one.peer, peer=one.peer),
        "port {port} of {peer} ({target}), a node of a job that runs here, {how}; it answered "
        "{ago} s ago"
        if lost
        else "port {port} of {peer} ({target}) {how}",
        Evidence(
            source=f"TCP connection to {one.target}:{one.port}",
            text=one.error or None,
            values={"connected": one.connected, "refused": one.refused, "seconds": one.seconds},
        ),
        variant="lost" if lost else "",
        confidence=0.9 if lost else 0.5,
        port=one.port,
        peer=one.peer,
        target=one.target,
        how=_how(one),
        ago=round(one.answered_s or 0.0),
    )


def _how(one: TcpAnswer) -> str:
    if one.refused:
        return "refuses connections: the host lives, and no sshd listens"
    if one.connected:
        return "accepts, and then says nothing"
    return f"does not accept: {one.error or 'no reason given'}"
