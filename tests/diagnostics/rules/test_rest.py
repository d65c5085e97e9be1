"""A log that only repeats itself at its end, and what goes on without steps."""

import pytest

from diagnostics.rules.rest import Rest, rest


def beats(*minutes: int, text: str = "monitor: job 52120 runs on 8 nodes since {m} min") -> str:
    """Return lines with a time, one each for these minutes."""
    return "".join(
        f"[2026-11-30 {2 + m // 60:02}:{m % 60:02}:09] {text.format(m=m)}\n" for m in minutes
    )


BEAT = beats(7)[:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "iteration 7/ 900 |\n" + beats(7, 37, 67, 97),
            Rest(line=97, lines=4, seconds=5400.0, text=BEAT),
        ),
        ("iteration 7/ 900 |\n" + beats(7, 37, 67), None),
        ("iteration 7/ 900 |\n" + beats(7, 37) + "done\n" + beats(67, 97), None),
        ("iteration 7/ 900 |\n" + beats(7, 37, 67, 97, text="saving shard {m} of 400"), None),
        ("iteration 7/ 900 |\n" + beats(7, 37, 67, 97, text="evaluated {m} of 400"), None),
        (
            beats(1, text="the one word before") + beats(7, 37, 67, 97),
            Rest(line=97, lines=4, seconds=5400.0, text=BEAT),
        ),
        ("iteration 7/ 900 |\n" + beats(7, 37, 67, 97) + beats(99, text="the end"), None),
        ("", None),
    ],
)
def test_rest(text: str, expected: Rest | None) -> None:
    """Each line is like another one, has a time, and speaks of nothing that goes on."""
    assert expected == rest(b"cut off here\n" + text.encode(), 100)
