"""Split a history into what is written for each time: what differs from the time before."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from collectors.node.layout import Answer, Command
from collectors.node.recording.history import FOLDER, GONE, Entry, History, Seen, Timeline

T = TypeVar("T")


class State(msgspec.Struct, kw_only=True):
    """What is written for one time."""

    files: dict[str, str]
    errors: dict[str, str]
    commands: list[Command]
    answers: list[Answer]
    kmsg: tuple[str, ...]


class States(dict[float, State]):
    """States by their time, made when something is put into them."""

    def __missing__(self, at: float) -> State:
        """Return an empty state."""
        self[at] = State(files={}, errors={}, commands=[], answers=[], kmsg=())
        return self[at]


def states(history: History) -> States:
    """Return the first state, at 0.0, and the later ones."""
    made = States()
    for path, entry in history.paths.all():
        _path(made, path, entry)
    for state in made.values():
        _without_folders(state)
    for commands in history.commands.values():
        for at, command in _first_at_once(commands):
            made[at].commands.append(command)
    for answers in history.answers.values():
        for at, answer in _first_at_once(answers):
            made[at].answers.append(answer)
    known = 0
    for at, lines in _first_at_once(history.kernel):
        made[at].kmsg = lines[known:]
        known = len(lines)
    return made


def _without_folders(state: State) -> None:
    """Leave out the empty file that says that a folder exists: what is written in it says so."""
    for path in tuple(state.files):
        while path := path.rpartition("/")[0]:
            state.files.pop(path, None)


def _path(made: States, path: str, entry: Entry) -> None:
    """Put a path where it changed; a folder of which something is written needs no file."""
    for at, seen in changes(entry.seen):
        below = any(child.there(at) for child in entry.below.values())
        if seen.error and not (below and seen.error in (GONE, FOLDER)):
            made[at].errors[path] = seen.error
        elif not seen.error and not below:
            made[at].files[path] = seen.text


def changes(line: Timeline[Seen]) -> Iterator[tuple[float, Seen]]:
    """Yield what differs from what was before; what was seen first holds from the start.

    A path that was asked for and absent at first holds from when it appeared. Where only the
    existence was asked, the text that was read next stands for it.
    """
    pairs = list(zip(line.times, line.values, strict=True))
    before: Seen | None = None
    absent = False
    for place, (at, found) in enumerate(pairs):
        seen = found
        if seen.named:
            after = [s for _, s in pairs[place + 1 :] if not s.named][:1]
            if before is not None and not before.gone:
                continue
            seen = after[0] if after and not after[0].gone else found
        if before is None and seen.gone:
            absent = True
        elif before is None:
            before = seen
            yield (at if absent else 0.0), seen
        elif (before.text, before.error) != (seen.text, seen.error):
            before = seen
            yield at, seen


def _first_at_once(line: Timeline[T]) -> Iterator[tuple[float, T]]:
    before: T | None = None
    for at, value in zip(line.times, line.values, strict=True):
        if before is None or value != before:
            yield (0.0 if before is None else at), value
        before = value


def seconds(at: float) -> str:
    """Return the name of the folder of a later time."""
    return f"{at:.6f}".rstrip("0").rstrip(".")
