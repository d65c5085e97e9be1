"""A file for NCCL_CONF_FILE, written where a person asks for it: of one job, never of a node."""

import os
from pathlib import Path

from agent.cli.errors import Mistake
from agent.cli.planned import Planned
from remediations.remedies import job_lines

# NCCL reads these by itself, in every job of the node or of the user.
OWN_NAMES = frozenset({"nccl.conf", ".nccl.conf"})
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write(path: str, told: Planned, incident: str | None) -> int:
    """Write what would help against the incidents of this node; return how many variables."""
    wanted = Path(path)
    if wanted.name in OWN_NAMES or wanted.resolve().is_relative_to("/etc"):
        hint = "name a file of the job's own; NCCL reads that one in each job"
        raise Mistake(f"{path} would hold for more than one job", hint)
    given = told.situation
    chosen = [one for one in given.incidents if incident in (None, one.id, one.fingerprint)]
    found: dict[str, str] = {}
    for one in chosen:
        if (root := given.finding(one.root)) is not None:
            found |= job_lines.settings(root, given.network)
    text = job_lines.conf(found)
    if not text:
        raise Mistake("no incident here is helped by a setting of NCCL's", "nothing was written")
    try:
        with os.fdopen(os.open(wanted, FLAGS, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Mistake(f"{path} is there already", "name a new file; none is replaced") from None
    return len(text.splitlines())
