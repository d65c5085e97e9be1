"""What holds of the network's checks whatever is seen."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause
from collectors.network.ibping import IbPings
from collectors.network.peers import Probe
from collectors.network.ping import Pings
from collectors.network.ports import Port, Ports
from diagnostics.checks.network.ibping import ibping
from diagnostics.checks.network.ping import ping
from diagnostics.checks.network.ports import ports
from diagnostics.document import numbered
from diagnostics.finding import RANK
from diagnostics.incidents.join import explain

STATES = st.sampled_from([None, "NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER", "?"])
PORT = st.builds(
    Port,
    device=st.sampled_from([f"mlx5_{number}" for number in range(4)]),
    port=st.integers(1, 2),
    state=STATES,
    phys_state=st.sampled_from([None, "Polling", "Disabled", "LinkUp", "LinkErrorRecovery"]),
    rate_gbps=st.none() | st.sampled_from([10.0, 100.0, 200.0, 400.0]),
    width=st.none() | st.sampled_from([1, 2, 4]),
    link_layer=st.sampled_from(["InfiniBand", "Ethernet"]),
    lid=st.none() | st.integers(0, 0xFFFF),
    sm_lid=st.none() | st.integers(0, 0xFFFF),
    virtual=st.booleans(),
)
PROBE = st.builds(
    Probe,
    peer=st.sampled_from(["gpu-018", "gpu-019"]),
    target=st.just("12"),
    sent=st.integers(0, 10),
    received=st.integers(0, 10),
    rtt_min_ms=st.none() | st.floats(0, 100),
    rtt_avg_ms=st.none() | st.floats(0, 100),
    said=st.text(),
)


@given(st.lists(PORT, max_size=6))
def test_ports_are_always_judged(seen: list[Port]) -> None:
    """No set of ports makes the check crash, and what is above info quotes its file."""
    result = ports.run({Ports: Ports(ports=tuple(seen))})

    loud = [finding for finding in result.findings if RANK[finding.severity]]
    quoted = [f for f in loud if f.evidence[0].source.startswith("/sys/class/infiniband/")]
    crashes = [missing for missing in result.missing if missing.cause is Cause.CRASHED]
    assert (loud, []) == (quoted, crashes)


@given(st.lists(PORT, max_size=6))
def test_what_is_not_used_is_no_fault(seen: list[Port]) -> None:
    """Ports of virtual functions alone never make a finding."""
    virtual = tuple(Port(device=p.device, port=p.port, state=p.state, virtual=True) for p in seen)

    result = ports.run({Ports: Ports(ports=virtual)})

    assert ("not_applicable", ()) == (result.verdict, result.findings)


@given(st.lists(PROBE, min_size=1, max_size=5))
def test_probes_are_always_judged(probes: list[Probe]) -> None:
    """No numbers of a tool make a check crash; a peer that never answered is always told."""
    over_ib = ibping.run({IbPings: IbPings(probes=tuple(probes))})
    over_ip = ping.run({Pings: Pings(probes=tuple(probes))})

    silent = not all(probe.answered for probe in probes)
    told = [
        any(finding.fault == fault for finding in result.findings)
        for result, fault in ((over_ib, "ib_ping_unreachable"), (over_ip, "ping_unreachable"))
    ]
    assert ([silent, silent], (), ()) == (told, over_ib.missing, over_ip.missing)


def test_a_port_that_is_down_explains_peers_that_do_not_answer() -> None:
    """Of a port without its link and peers without an answer, the port is the cause."""
    down = Port(device="mlx5_0", port=1, state="DOWN", phys_state="Polling", lid=4, sm_lid=1)
    lost = tuple(Probe(peer=peer, target="12", sent=10) for peer in ("gpu-018", "gpu-019"))
    known = Ports(ports=(down,))
    asked = IbPings(probes=lost)

    over_sysfs = ports.run({Ports: known}).findings
    over_fabric = ibping.run({IbPings: asked, Ports: known}).findings
    joined = explain(numbered((*over_sysfs, *over_fabric)))

    causes = {finding.fault: finding.explained_by for finding in joined}
    port = next(finding.id for finding in joined if finding.fault == "ib_port_down")
    assert {"ib_port_down": None, "ib_ping_unreachable": port} == causes
