"""Number lines that are never read are still counted by whether their loss is finite."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.forms.number import ZEROS
from diagnostics.series.waiting import LONGEST, Lines, Unread

LINES = st.lists(
    st.sampled_from(
        [
            b"step 41 loss: nan",
            b"step 9 loss: nan",
            b"step 42 loss: 2.31",
            b"step 42 loss: 1e999",
            b"step 42 loss: 1e100",
            b"lr nan",
        ]
    ),
    max_size=40,
)


@given(LINES)
def test_counted_by_shape_or_line_by_line(raws: list[bytes]) -> None:
    """Whoever knows how many lines there are of each shape saves the look and gets the same."""
    known, asked, single = Unread(), Unread(), Unread()
    known.add(raws, Counter(raw.translate(ZEROS) for raw in raws))
    asked.add(raws)
    for raw in raws:
        single.add([raw])

    assert [known.bad] * 2 == [asked.bad, single.bad]


@given(LINES, LINES)
def test_lines_that_are_read_after_all_count_no_more(raws: list[bytes], read: list[bytes]) -> None:
    """What is taken out again leaves the count of the others."""
    unread, others = Unread(), Unread()
    unread.add(raws + read)
    unread.less(read)
    others.add(raws)

    assert others.bad == unread.bad


def test_a_long_line_is_cut_however_it_comes() -> None:
    """A hostile line takes no more room than the longest that anybody prints."""
    long = b"loss: 2 " + b"x" * (2 * LONGEST)
    whole = Lines.of([1], [long], [(0, False)])
    shaped = Lines.of_shapes([1], [long], [(0, False)], {long.translate(ZEROS): 1})

    assert [[LONGEST]] * 2 == [[len(raw) for raw in one.raws] for one in (whole, shaped)]
