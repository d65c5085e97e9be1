"""Do error and congestion counters of InfiniBand and RoCE ports rise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.jobs.expected import Expected
from collectors.network.counters import FOLDERS, PortCounters
from collectors.network.ports import CLASS, Port, Ports
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.network.congestion import congested
from diagnostics.checks.network.counting import Breach, Row, breaches
from diagnostics.finding import RANK, Evidence, Finding, NotApplicable, Statement, Well, found

# Lanes of 50 Gb/s and more are PAM4 (HDR and above): lost symbols are normal there.
PAM4_GBPS = 50.0
SIBLINGS = 3
SHOWN = 4


class CounterLimits(Limits, frozen=True, kw_only=True):
    """Limits of rates, from NVSentinel's NIC monitor unless the description says otherwise."""

    symbols_per_s: Annotated[float, msgspec.Meta(ge=0, description="symbol errors a second")] = 10.0
    symbols_per_h: Annotated[
        float, msgspec.Meta(ge=0, description="symbol errors an hour on lanes below 50 Gb/s (IBTA)")
    ] = 120.0
    recoveries_per_min: Annotated[
        float, msgspec.Meta(ge=0, description="retrainings of the link a minute")
    ] = 5.0
    received_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="packets received with errors a second")
    ] = 10.0
    discards_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="packets dropped on send a second")
    ] = 100.0
    drops_per_h: Annotated[
        float, msgspec.Meta(ge=0, description="times that the link went down in an hour (gpud)")
    ] = 2.0
    timeouts_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="packets not acknowledged in time a second")
    ] = 1.0
    restarts_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="slow restarts of RoCE a second")
    ] = 10.0
    lost_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="packets out of order or lost a second (our default)")
    ] = 10.0
    over_siblings: Annotated[
        float,
        msgspec.Meta(
            gt=1, description="times the middle of the siblings, or of its own hours (our default)"
        ),
    ] = 10.0


def rows(limits: CounterLimits, *, pam4: bool, infiniband: bool) -> list[Row]:
    """Return what is judged of one port.

    NVSentinel: symbol errors 10/s, recoveries 5/min, receive errors 10/s, discards 100/s, integrity
    and overrun none, acknowledge timeouts 1/s, receiver-not-ready none, slow restarts 10/s. What
    the transport counts rises too when a job on the other side ends: a single reading is a note.
    """
    symbols = "ib_symbol_errors" if infiniband else "nic_errors_rate"
    error = "ib_port_error" if infiniband else "nic_errors_rate"
    lost = "ib_transport_errors"
    judged = [
        ("symbol_error", symbols, limits.symbols_per_s, "s", "symbol errors", "warning"),
        ("link_error_recovery", "ib_link_recovery_rate", limits.recoveries_per_min, "min",
         "link recoveries", "info"),
        ("port_rcv_errors", error, limits.received_per_s, "s", "receive errors", "warning"),
        ("port_xmit_discards", error, limits.discards_per_s, "s", "discards on send", "info"),
        ("link_downed", error, limits.drops_per_h, "h", "times down", "warning"),
        ("local_link_integrity_errors", error, 0, "h", "link integrity errors", "warning"),
        ("excessive_buffer_overrun_errors", error, 0, "h", "buffer overruns", "warning"),
        ("local_ack_timeout_err", lost, limits.timeouts_per_s, "s", "acknowledge timeouts", "info"),
        ("rnr_nak_retry_err", lost, 0, "s", "receiver-not-ready retries used up", "info"),
        ("packet_seq_err", lost, limits.lost_per_s, "s", "lost packets", "info"),
        ("out_of_sequence", lost, limits.lost_per_s, "s", "packets out of order", "info"),
        ("rx_icrc_encapsulated", lost, 0, "s", "packets with a wrong checksum", "info"),
        ("roce_slow_restart", lost, limits.restarts_per_s, "s", "slow restarts", "info"),
    ]  # fmt: skip
    found_rows = [
        Row(counter=counter, fault=fault, most=most, per=per, what=what, once=once)  # type: ignore[arg-type]  # a row's words
        for counter, fault, most, per, what, once in judged
    ]
    if not pam4:
        found_rows.append(
            Row(
                counter="symbol_error",
                fault=symbols,
                most=limits.symbols_per_h,
                per="h",
                what="symbol errors",
            )
        )
    return found_rows


@check(
    "network.counters",
    stage="network",
    faults=(
        "ib_symbol_errors",
        "ib_link_recovery_rate",
        "ib_port_error",
        "nic_errors_rate",
        "ib_transport_errors",
        "roce_congestion",
        "ib_congestion",
    ),
    proved="recorded",
)
def counters(
    seen: PortCounters, ports: Ports | Missing, expected: Expected | Missing, limits: CounterLimits
) -> Iterator[Statement]:
    """No port's error counters rise faster than a good cable and a lossless fabric let them.

    Each error is a packet that is sent again, and all ranks wait for it. Only what rises between
    two readings counts, never how high a counter stands: it holds all since the driver was loaded.
    Congestion has no limit that holds for all: a port is compared with its siblings and with its
    own hours, and noted.
    """
    if not seen.seen:
        yield NotApplicable(why="no InfiniBand or RoCE port has counters")
        return
    known = {} if isinstance(ports, Missing) else {port.name: port for port in ports.ports}
    single = seen.watched_s <= seen.reading_s
    over = {
        rises.name: tuple(breaches(rises, _rows(known.get(rises.name), limits), single))
        for rises in seen.ports
    }
    findings = [*_told(over, seen, known), *congested(seen, known, expected, limits.over_siblings)]
    yield from findings
    if not any(finding.severity != "info" for finding in findings):
        yield Well(message=f"counters of {seen.seen} ports, read {seen.reading_s:g} s apart")


def _rows(port: Port | None, limits: CounterLimits) -> list[Row]:
    lane = (port.rate_gbps or 0.0) / (port.width or 4) if port else PAM4_GBPS
    return rows(limits, pam4=lane >= PAM4_GBPS, infiniband=port is None or port.infiniband)


def _told(
    over: Mapping[str, Sequence[Breach]], seen: PortCounters, known: Mapping[str, Port]
) -> Iterator[Finding]:
    """Yield one finding for each port and fault; one for all where three ports or more have it."""
    faults = dict.fromkeys(breach.row.fault for some in over.values() for breach in some)
    for fault in faults:
        by_port = {
            name: [breach for breach in some if breach.row.fault == fault]
            for name, some in over.items()
        }
        by_port = {name: some for name, some in by_port.items() if some}
        if len(by_port) >= max(SIBLINGS, seen.seen / 2):
            yield _of_many(fault, by_port, seen)
        else:
            yield from (_of_one(fault, known.get(n), n, some) for n, some in by_port.items())


def _worst(some: Sequence[Breach]) -> Breach:
    return max(some, key=lambda breach: RANK[breach.severity])


def _of_one(fault: str, port: Port | None, name: str, some: Sequence[Breach]) -> Finding:
    card = {"netdevs": list(port.netdevs), "pci": port.pci} if port else {}
    return found(
        fault,
        _worst(some).severity,
        Subject(kind="port", name=name),
        "port {port}: {what}",
        *(_evidence(name, breach, **card) for breach in some),
        confidence=0.6 if some[0].single else 0.9,
        port=name,
        what="; ".join(breach.words for breach in some),
    )


def _of_many(fault: str, by_port: Mapping[str, Sequence[Breach]], seen: PortCounters) -> Finding:
    name, some = max(by_port.items(), key=lambda item: max(b.rate for b in item[1]))
    more = f" and {len(by_port) - SHOWN} more" if len(by_port) > SHOWN else ""
    return found(
        fault,
        _worst([b for breaches_ in by_port.values() for b in breaches_]).severity,
        NODE,
        "{ports} of {all} ports ({names}) count errors, {port} most: {what}; what they share is "
        "the fabric or the peers of a job, and no single cable",
        *(_evidence(port, breach) for port, some_ in by_port.items() for breach in some_),
        variant="many",
        confidence=0.7,
        ports=len(by_port),
        all=seen.seen,
        names=", ".join(list(by_port)[:SHOWN]) + more,
        port=name,
        what="; ".join(breach.words for breach in some),
    )


def _evidence(name: str, breach: Breach, **card: object) -> Evidence:
    device, _, port = name.rpartition("/")
    counter = breach.row.counter
    return Evidence(
        source=f"{CLASS}/{device}/ports/{port}/{FOLDERS[counter]}/{counter}",
        values={
            f"rises_per_{breach.row.per}": round(breach.rate, 3),
            "limit": breach.row.most,
            **card,
        },
    )
