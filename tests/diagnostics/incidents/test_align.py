"""Times of different clocks are brought together, and what is not known of them is kept."""

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.finding import Evidence
from diagnostics.incidents import align
from diagnostics.incidents.align import Span
from tests.diagnostics.incidents.made import LOG, finding, roots

NOW = 1_796_000_900.0


def test_an_age_is_a_time_of_the_wall_clock_where_that_is_known() -> None:
    """A kernel log without a boot time tells ages: with the clock of the look they are times."""
    quoted = Evidence(source="dmesg", values={"age_s": 900.0, "last_age_s": 600.0})
    found = finding("gsp_timeout", "critical", quoted)

    assert [
        Span(-900.0, -900.0, -600.0, 0.0, "end"),
        Span(NOW - 900, NOW - 900, NOW - 600, 1.0),
    ] == [align.span(found, now) for now in (None, NOW)]


def test_a_collective_began_when_its_wait_did() -> None:
    """A watchdog tells the end of a wait: its start is that less what it ran for."""
    quoted = Evidence(source="out.log", line=9, text="...", values={"ran_ms": 600_072})
    found = finding("nccl_collective_timeout", "critical", quoted, subject=LOG, first_seen=NOW)

    assert Span(NOW - 600.072, NOW, NOW) == align.span(found)


def test_a_log_without_a_zone_is_uncertain_by_hours() -> None:
    """A stamp without a zone rules out no cause that lies hours before or after it."""
    quoted = Evidence(source="out.log", line=9, text="...", time=NOW, time_error_s=50_400.0)
    log = finding("nccl_collective_timeout", "critical", quoted, subject=LOG)
    kmsg = Evidence(source="kmsg", time=NOW + 28_800, time_error_s=2.0)
    lost = finding("gpu_lost", "critical", kmsg, first_seen=NOW + 28_800)
    spans = [align.span(lost), align.span(log)]
    then, now = (span for span in spans if span is not None)

    assert (50_702.0, True) == (
        align.slack(lost, log, then, now),
        align.before(then, now, align.slack(lost, log, then, now)),
    )


def test_a_stamp_without_a_zone_tells_no_nearness() -> None:
    """An error of memory explains a NaN soon after it, and none that may be half a day away."""
    kmsg = Evidence(source="kmsg", text="NVRM: Xid ...", time=NOW, time_error_s=2.0)
    error = finding("ecc_uncorrectable", "critical", kmsg, stage="driver", first_seen=NOW)
    told = [
        roots(
            error,
            finding(
                "nan_loss",
                "critical",
                Evidence(source="out.log", line=9, text="...", time=at, time_error_s=doubt_s),
                stage="training",
                subject=LOG,
            ),
        )
        for at, doubt_s in ((NOW + 100, 1.0), (NOW + 30_000, 50_400.0))
    ]

    assert [1, 2] == [len(one) for one in told]


def test_one_source_has_one_clock() -> None:
    """What one log tells is in order, however wrong its clock."""
    one, other = (
        finding("xid_13", "critical", Evidence(source="kmsg", time=NOW, time_error_s=120.0))
        for _ in range(2)
    )
    span = Span(NOW, NOW, NOW, 120.0)

    assert 0.0 == align.slack(one, other, span, span)


VALUES = st.dictionaries(
    st.sampled_from(["age_s", "last_age_s", "ran_ms"]),
    st.none() | st.booleans() | st.text(max_size=3) | st.floats() | st.integers(),
)


@given(VALUES, st.none() | st.floats(), st.none() | st.floats())
def test_whatever_evidence_holds_a_span_is_found_or_none(
    values: dict[str, object], at: float | None, now: float | None
) -> None:
    """Values of rules are text of others: none of them makes the alignment fail."""
    found = finding("x", "critical", Evidence(source="s", values=values, time=at), first_seen=at)
    span = align.span(found, now)

    assert (at is None and span is None) or isinstance(span, Span)
