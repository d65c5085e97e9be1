"""The sentences of an incident that no check wrote: one English template by `text.key`."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from diagnostics.document import Change
from diagnostics.finding import Evidence, Text

# What stands between the members of a list that any one of would do.
OR = " or "
CLAUSES: Mapping[str, str] = {
    # After the root's own message.
    "incident.since": "since {time}",
    "incident.serial": "its serial number is {serial}",
    "incident.rank_stopped": "rank {rank} of job {job} stopped there",
    "incident.rank_stopped_unnamed": "rank {rank} stopped there",
    "incident.rank_silent": "{count} ranks waited {seconds} s and gave up, all but rank {rank}",
    "incident.ranks_waited": "{count} ranks waited {seconds} s and gave up",
    "incident.ranks_gave_up": "{count} ranks gave up waiting",
    "incident.follows_one": "1 other finding follows from it",
    "incident.follows": "{count} other findings follow from it",
    # Why another fault is not the cause; `finding` is the id of the one whose message it is.
    "rejected.no_sign": "{check} found no sign of it",
    "rejected.well": "{check}: {message}",
    "rejected.training": "training log: it is told on its own, and leads to nothing of this",
    "rejected.note": "it is only a note: {message}",
    "rejected.later": "it began later, at {time}: {message}",
    "rejected.other_thing": "it is of {kind} {name}: {message}",
    "rejected.no_link": "nothing says that one leads to the other: {message}",
    # What would make another cause of it.
    "would_change.unseen": "a sign of {faults}, which {check} could not look for",
    "would_change.sign": "a sign of {faults}",
    "would_change.sign_before": "a sign of {faults} from before {time}",
    "would_change.graver": "a graver fault of {kind} {name}",
    "would_change.graver_before": "a graver fault of {kind} {name} from before {time}",
    # What was changed before it; `changed.quoted` is another source's own words.
    "changed.quoted": "{text}",
    "changed.package": "package {name} {version}",
    "changed.removed": "package {name} {version} was removed",
    "changed.firmware": "firmware of {name} is {after}, it was {before}",
    "changed.driver": "{name} is {after}, it was {before}",
    "changed.part": "{name} has the serial number {after}, it had {before}",
    "changed.setting": "{name} is {after}, it was {before}",
    "changed.image": "first job with the image {name}",
    "changed.started": "the node was started",
    # Why to look; `title` is that of the page of `fault`.
    "next.look": "{kind} {name} {title}",
    "next.unseen": "{fault}: {check} could not see it",
}


def text(key: str, **args: Any) -> Text:  # noqa: ANN401 - whatever the template names
    """Return the sentence as data; what is None is left out."""
    return Text(key=key, args={name: value for name, value in args.items() if value is not None})


def said(told: Text) -> str:
    """Return the English sentence; a list is one of those."""
    args = {
        name: OR.join(value) if isinstance(value, list) else value
        for name, value in told.args.items()
    }
    return CLAUSES[told.key].format(**args)


def change(source: str, time: float, kind: str, **args: Any) -> Evidence:  # noqa: ANN401 - same
    """Return that something was changed as evidence; its values say it as data."""
    told = text(f"changed.{kind}" if f"changed.{kind}" in CLAUSES else "changed.setting", **args)
    values = {"changed": told.key, **told.args}
    return Evidence(source=source, text=said(told), time=time, values=values)


def listed(changes: Iterable[Change]) -> tuple[str, ...]:
    """Return changes as an incident lists them, each with its time of the day."""
    return tuple(f"{clock(epoch(one))} {said(one.text)}" for one in changes)


def dated(time: float, told: Text) -> Change:
    """Return a change with the time (epoch seconds) at which it was made."""
    moment = datetime.fromtimestamp(time, tz=UTC).isoformat(timespec="milliseconds")
    return Change(time=moment.replace("+00:00", "Z"), text=told)


def epoch(change: Change) -> float:
    """Return when a change was made, in epoch seconds."""
    return datetime.fromisoformat(change.time).timestamp()


def clock(seconds: float) -> str:
    """Return a time of the wall clock as 02:10:51 UTC; what no calendar has, as it stands."""
    try:
        return f"{datetime.fromtimestamp(seconds, tz=UTC):%H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s"
