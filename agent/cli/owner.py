"""Write into a folder of another account as that account, also where root runs the command.

What root would make there the agent could not write to any more; and who owns the folder could have
put a link there, by which root would write or remove what is not his.
"""

import errno
import gzip  # noqa: F401 - the owner may not read where Python lies: loaded before
import os
import tarfile  # noqa: F401 - as gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collectors.helpers.children.loop import Refused
from remediations.actor.apart import apart

WRITE_S = 30.0


def as_owner(folder: Path, call: Callable[[], Any]) -> None:
    """Do *call* as the owner of *folder*; OSError where it fails. A folder that is not is ours."""
    try:
        seen = folder.stat()
    except FileNotFoundError:
        call()
        return
    if seen.st_uid == os.geteuid():
        call()
        return

    def lowered() -> None:
        os.setgroups([])
        os.setgid(seen.st_gid)
        os.setuid(seen.st_uid)
        call()

    try:
        apart(lowered, WRITE_S)
    except Refused as no:
        raise OSError(errno.EIO, no.detail) from None
