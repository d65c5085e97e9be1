"""A curve keeps the last points, and the lines that a finding will quote."""

from diagnostics.series.curve import Drawing, Point
from diagnostics.series.lines import Numbers


def test_points_are_bounded_and_counted() -> None:
    """Of 100 steps the last 10 are kept and all are counted."""
    drawing = Drawing(most=10)
    for step in range(1, 101):
        drawing.add(Numbers(step=step, loss=2.0, step_ms=5.0), step, f"line {step}")
    curve = drawing.curve()

    assert (list(range(91, 101)), 100) == ([p.step for p in curve.points], curve.count)


def test_the_first_bad_loss_is_quoted_past_the_bound() -> None:
    """Where the loss went wrong is known however long the log goes on."""
    drawing = Drawing(most=10)
    for step in range(1, 101):
        loss = float("nan") if step in {7, 9} else 2.0
        drawing.add(Numbers(step=step, loss=loss), step, f"line {step}")
    curve = drawing.curve()
    quotes = (curve.first_bad, curve.last_bad, curve.finite)

    assert [(7, "line 7"), (9, "line 9"), (100, "line 100")] == [
        (q.line, q.text) for q in quotes if q
    ]


def test_a_timer_below_its_step_belongs_to_it() -> None:
    """Megatron prints gradient-sync time on a line of its own; before any step it is dropped."""
    drawing = Drawing()
    drawing.add(Numbers(sync_ms=3.0), 1, "early")
    drawing.add(Numbers(step=1, step_ms=9.0), 2, "step")
    drawing.add(Numbers(sync_ms=4.0), 3, "timer")

    assert (Point(step=1, step_ms=9.0, sync_ms=4.0),) == drawing.curve().points


def test_passes_stand_in_for_steps_only_without_them() -> None:
    """DeepSpeed times passes and whole steps; whole steps are what is compared."""
    drawing = Drawing()
    drawing.add(Numbers(step_ms=3.0, sync_ms=0.0, micro=True), 1, "pass")
    passes = drawing.curve().points
    drawing.add(Numbers(step_ms=8.0, sync_ms=2.0), 2, "step")

    assert ([3.0], [8.0]) == (
        [p.step_ms for p in passes],
        [p.step_ms for p in drawing.curve().points],
    )
