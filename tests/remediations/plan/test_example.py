"""deploy/acting.toml, the example: as shipped nothing acts, and each of its lines is right."""

from dataclasses import fields
from pathlib import Path

from remediations.policy import PROVED, Heat, Policy, parse

FILE = Path(__file__).parents[3] / "deploy" / "acting.toml"


def test_as_it_is_shipped_nothing_acts() -> None:
    """It says what holds without it."""
    assert Policy(path="acting.toml") == parse(FILE.read_text(), "acting.toml")


def test_each_line_that_turns_one_on_is_right() -> None:
    """Uncommented, they are remedies in the order of trust."""
    lines = [line.removeprefix("# ") for line in FILE.read_text().splitlines()]
    on = [line for line in lines if line.endswith('= "act"')]
    read = parse("\n".join(["[mode]", *on]))

    assert (len(on), [name for name in PROVED if name in read.mode]) == (
        len(read.mode),
        list(read.mode),
    )


def test_each_line_of_heat_is_right() -> None:
    """Uncommented, they are all the keys that the table of heat has."""
    table = FILE.read_text().partition("[heat]\n")[2].splitlines()
    lines = [line.removeprefix("# ") for line in table if " = " in line]
    read = parse("\n".join(["[heat]", *lines])).heat

    assert {field.name for field in fields(Heat)} == {line.partition(" ")[0] for line in lines}
    assert all(getattr(read, field.name) for field in fields(Heat))
