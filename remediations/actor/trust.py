"""The policy as the actor trusts it: a file that nobody but root can have written."""

import os
import pwd
import stat

from collectors.helpers.children.loop import Refused
from remediations.policy import PATH, Policy, PolicyError, parse

MOST_BYTES = 65_536


def policy(path: str = PATH) -> Policy:
    """Return the policy; Refused, with one line that says what to do, where it is not trusted.

    Without a file nothing may act.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Policy()
    except OSError as problem:
        raise Refused("denied", f"{path}: {problem.strerror}: it must be a file of root") from None
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid != 0 or seen.st_mode & 0o022:
            raise Refused("denied", f"{path} is refused: chown root {path}; chmod go-w {path}")
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise Refused("denied", f"{path}: over {MOST_BYTES} bytes")
    try:
        return parse(text.decode(), path)
    except PolicyError as problem:
        raise Refused("denied", f"{problem}: {problem.hint}") from None
    except UnicodeDecodeError as problem:
        raise Refused("denied", f"{path}: no UTF-8: {problem}") from None


def users(path: str = PATH) -> frozenset[int]:
    """Return who may ask beside root; Refused where the policy is not to be trusted."""
    names = policy(path).users
    return frozenset(known for name in names if (known := uid(name)) is not None)


def uid(name: str) -> int | None:
    """Return the number of a user of this node, None where there is none of that name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None
