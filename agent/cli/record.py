"""`gpudiag record`: one walk on this node, written down so that it can be replayed elsewhere."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from agent import BUILD
from agent.cli.errors import Mistake
from agent.cli.run import RULES, SETTINGS, diagnose, open_node
from agent.knowledge import knowledge
from agent.outbox.privacy import without_secrets
from agent.settings.load import Settings, load
from agent.walk.walk import Selection
from collectors.logs.pieces import pieces, sliced
from collectors.node.protocol import Identity
from collectors.node.recorder import Recorder
from collectors.node.recording.scrub import Scrub
from collectors.node.recording.writer import Place, Recording, meta
from diagnostics.rules.line import LINE_CAP, decoded, plain

NEIGHBOURS = 3
FIRST_USER = 1000
NOBODY = 65_534
NAMES_CAP = 1 << 20
KIB = 1024

# What was replaced, in the words of the summary.
WORDS = {
    "address": "IP address",
    "guid": "GUID",
    "hardware address": "hardware address",
    "host": "host name",
    "mac": "MAC address",
    "serial": "serial number",
    "user": "user name",
    "uuid": "UUID",
}


@click.command("record")
@click.argument("folder", metavar="DIR")
@click.option(
    "--log", "logs", multiple=True, metavar="FILE", help="A training log to read; can be repeated."
)
@click.option(
    "--with-logs",
    is_flag=True,
    help="Keep of the logs the lines that match a rule, and their neighbours.",
)
@click.option("--raw", is_flag=True, help="Replace nothing and keep logs whole: not for strangers.")
@click.option("--root", metavar="DIR", help="Record the files below DIR instead of this machine.")
def command(
    *, folder: str, logs: tuple[str, ...], with_logs: bool, raw: bool, root: str | None
) -> int:
    """Walk this node once and write what was seen into DIR, which must not exist or be empty.

    Safe to attach to a public report: names, addresses and serial numbers are replaced, each
    everywhere by the same; command lines, environments and logs are left out.
    """
    target = Path(os.path.abspath(folder))  # noqa: PTH100 - `..` goes, links stay
    settings = load(SETTINGS)
    node, settings, logs = open_node(None, root, settings, logs)
    recorder = Recorder(node)
    try:
        with Place(target, private=raw) as place:
            seen = asyncio.run(_walk(recorder, settings, logs, whole=root is None))
            scrub = None if raw else _scrub(settings, root or "/")
            keep = str if raw else matching if with_logs else None
            page = meta(
                recorder.journal,
                node=seen.node,
                boot_id=seen.boot_id,
                kernel=seen.kernel,
                taken=recorder.taken,
                product=BUILD,
                scrubbed=not raw,
            )
            Recording(journal=recorder.journal, meta=page, scrub=scrub, keep=keep).write(place)
    except FileExistsError as problem:
        raise Mistake(f"{problem.filename} exists already", "name another folder") from None
    except (OSError, ValueError) as problem:
        raise _unwritten(folder, problem) from None
    sys.stdout.write("".join(f"{line}\n" for line in _summary(folder, place, scrub, logs, keep)))
    return 0


async def _walk(
    recorder: Recorder, settings: Settings, logs: tuple[str, ...], *, whole: bool
) -> Identity:
    """Walk the node; its settings belong to the recording, for a replay judges by them."""
    if whole:
        await recorder.files(SETTINGS, RULES)
    await diagnose(recorder, settings, Selection(), logs, strict=False)
    return recorder.seen_as or await recorder.identity()


def matching(text: str) -> str:
    """Return a log with all lines emptied but those that a rule matches, and three around each.

    What of those is secret by its form is masked.
    """
    whole = b"".join(pieces(sliced(text.encode("utf-8", "surrogatepass"))))
    lines = whole.split(b"\n")
    near: set[int] = set()
    for number in _matched(plain(whole)):
        near.update(range(number - NEIGHBOURS, number + NEIGHBOURS + 1))
    return "\n".join(
        without_secrets(decoded(line)) if n in near else "" for n, line in enumerate(lines)
    )


def _matched(whole: bytes) -> Iterator[int]:
    """Yield the numbers of matched lines, from 0."""
    known = knowledge()
    number = before = 0
    for start, end, held in known.anchors.hits(whole):
        number += whole.count(b"\n", before, start)
        before = start
        line = decoded(whole[start : min(end, start + LINE_CAP)])
        if any(rule.match(line) for rule in known.plan(held).rules):
            yield number


def _scrub(settings: Settings, root: str) -> Scrub:
    scrub = Scrub()
    peers = [name for peer in settings.peers for name in (peer.name, peer.address or "")]
    hosts = [name for name in peers if not re.fullmatch(r"[\d.]+|.*:.*", name)]
    for line in _lines(root, "etc/hosts"):
        hosts += line.partition("#")[0].split()[1:]
    users = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")]
    for line in _lines(root, "etc/passwd"):
        name, _, uid, *_ = [*line.split(":"), "", "", ""]
        if uid.isdecimal() and FIRST_USER <= int(uid) < NOBODY:
            users.append(name)
    scrub.learn_names(hosts, users)
    return scrub


def _lines(root: str, name: str) -> list[str]:
    """Return the lines of a file that may be absent; names that it holds are secret."""
    try:
        with Path(root, name).open("rb") as handle:
            return handle.read(NAMES_CAP).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _unwritten(folder: str, problem: OSError | ValueError) -> Mistake:
    where = getattr(problem, "filename", None) or folder
    why = getattr(problem, "strerror", None) or str(problem)
    return Mistake(
        f"cannot write {where}: {why}; nothing was kept",
        "make room, or name a folder that can be written",
    )


def _summary(
    folder: str, place: Place, scrub: Scrub | None, logs: tuple[str, ...], keep: object
) -> Iterator[str]:
    yield f"recorded this node in {folder}: {place.files} files, {_size(place.size)}"
    if scrub is None:
        yield "NOT scrubbed (--raw): it names the hosts, users, addresses and serials of this site"
    else:
        counts = [_count(n, WORDS[kind]) for kind, n in scrub.names.counts().items()]
        yield f"replaced: {', '.join(counts) or 'nothing that had to be'}"
        yield "left out: command lines but their first word, environments but an allow-list"
    if logs and keep is None:
        yield "no text of the logs is in it: --with-logs keeps the lines that match"
    yield f"look at it first, then replay it anywhere: gpudiag run --replay {folder}"


def _count(number: int, word: str) -> str:
    many = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{number} {word if number == 1 else many}"


def _size(size: int) -> str:
    return f"{size / KIB:.0f} KiB" if size < KIB * KIB else f"{size / KIB / KIB:.1f} MiB"
