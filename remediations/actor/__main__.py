"""The actor's unit: `python -m remediations.actor`, root, on a socket that systemd passes."""

import os
import sys
from pathlib import Path

from collectors.helpers.children import unit
from collectors.helpers.children.loop import Refused
from remediations.actor import caps, trust, verbs
from remediations.actor.run import run
from remediations.actor.serve import Actor
from remediations.policy import PATH

STATE = "/var/lib/gpudiag-actor"
UNIT = "gpudiag-actor.service"
# Called by the package before it goes, and by systemd after the unit has stopped: an upgrade keeps
# what is lent, `systemctl disable --now` does not.
LIFT = frozenset({"--lift", "--lift-if-disabled"})
# Called by a timer: a cap that nobody renews ends in time although the actor is stopped.
OVERDUE = "--lift-overdue"
ASK_S = 10.0


def main() -> int:
    """Serve until ended; a wrong start is one line that says what to do."""
    verbs.load()
    socket, policy = _option("--socket"), _option("--policy") or PATH
    folder = Path(_option("--state") or STATE)
    try:
        _own(folder)
        if words := LIFT & {*sys.argv[1:]}:
            return _lift(folder, only_if_disabled=words == {"--lift-if-disabled"})
        _trusted(folder, policy)
        if OVERDUE in sys.argv[1:]:
            caps.caps_tick(folder, trust.policy(policy))
            return 0
        Actor(unit.listener(socket), folder, policy).serve()
    except Refused as no:
        return _no(no.detail)
    except (unit.PolicyError, OSError) as problem:
        return _no(str(problem))
    except KeyboardInterrupt:
        pass
    return 0


def _lift(folder: Path, *, only_if_disabled: bool) -> int:
    """Lift every cap, before the package goes, or where the unit was stopped for good."""
    if only_if_disabled and run("systemctl", "is-enabled", "-q", UNIT, seconds=ASK_S).status == 0:
        return 0
    for name, how in caps.lift(folder, None, "gpudiag is taken away").items():
        sys.stdout.write(f"{name}: {how}\n")
    return 0


def _trusted(folder: Path, policy: str) -> None:
    """Refuse a policy that is not root's; what was lent under it before is lifted first."""
    try:
        trust.policy(policy)
    except Refused:
        caps.caps_tick(folder, None)
        raise


def _own(folder: Path) -> None:
    """Make the state directory root's alone; what others can write is not believed."""
    if os.geteuid() != 0:
        raise unit.PolicyError("the actor needs root: start gpudiag-actor.socket")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    seen = folder.lstat()
    if seen.st_uid != 0 or seen.st_mode & 0o022:
        raise unit.PolicyError(f"{folder} is refused: chown root {folder}; chmod go-w {folder}")


def _option(name: str) -> str | None:
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words[:-1] else None


def _no(why: str) -> int:
    sys.stderr.write(f"error: {why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
