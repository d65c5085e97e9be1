"""The daemon's log: JSON lines, bounded a minute, without rich."""

import io
import json
import logging
import subprocess
import sys

import structlog

from agent.daemon.log import MOST_A_MINUTE, Limit, configure


def test_a_line_is_one_json_object() -> None:
    """Event, level, time and facts stand in one object on one line, whatever the facts hold."""
    sink = io.StringIO()
    log, _ = configure(sink)

    log.warning("source_failing", source="GpuHealth", why="a\nb\x1b[31m")
    logging.getLogger("asyncio").warning("took %s s", 3)
    lines = [json.loads(line) for line in sink.getvalue().splitlines()]

    assert [
        ("source_failing", "warning", "a\nb\x1b[31m", True),
        ("library_asyncio", "warning", "took 3 s", True),
    ] == [(x["event"], x["level"], x.get("why", x.get("said")), "timestamp" in x) for x in lines]


def test_a_flood_is_cut_and_counted() -> None:
    """Of 1,000 lines of one event in a minute 20 are written; the next minute says how many not."""
    now = [0.0]
    limit = Limit(structlog.DropEvent, lambda: now[0])

    def through() -> dict[str, object] | None:
        try:
            return dict(limit(None, "", {"event": "service_failed"}))
        except structlog.DropEvent:
            return None

    first = [through() for _ in range(1000)]
    now[0] = 61.0
    after = through()

    assert (MOST_A_MINUTE, 980, {"event": "service_failed", "left_out_before": 980}) == (
        sum(line is not None for line in first),
        limit.suppressed,
        after,
    )


def test_one_event_s_flood_leaves_the_others_alone() -> None:
    """The limit is for each event: a recovery is said in the middle of another's flood."""
    limit = Limit(structlog.DropEvent, lambda: 0.0)
    for _ in range(MOST_A_MINUTE):
        limit(None, "", {"event": "service_failed"})

    assert {"event": "source_recovered"} == limit(None, "", {"event": "source_recovered"})


def test_rich_stays_out_and_can_be_had_later() -> None:
    """Keeping a log imports no rich, though it is installed, and leaves no trace of that."""
    code = (
        "import sys; from agent.daemon.log import configure; configure();"
        "early = 'rich' in sys.modules; import rich; print(early, rich.__name__)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
    )

    assert "False rich\n" == ran.stdout
