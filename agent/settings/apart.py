"""Settings and rules of the site, checked in a process of its own.

What checks them is large (pydantic 9 MiB, compiling rules 40), and the daemon wants it at its start
and at each HUP alone. Commands, which end, check in their own process.
"""

import json
import subprocess  # noqa: TID251 - this program itself, of no node, and before a loop runs
import sys
from collections.abc import Mapping
from typing import Any

from agent.cli.errors import Mistake

DEADLINE_S = 60.0
HELP = "repeat it by hand: gpudiag config check"


def checked(text: str, path: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the whole checked file, as `load.whole` does; raises Mistake where that does."""
    found: dict[str, Any] = _asked({"text": text, "path": path, "environment": dict(environment)})
    return found


def compiled(rules: tuple[tuple[str, str], ...]) -> None:
    """Have all rules checked and kept compiled; raises Mistake where one of the site is broken."""
    _asked({"rules": rules})


def _asked(question: object) -> Any:  # noqa: ANN401 - JSON
    argv = [sys.executable, "-I", "-m", "agent.settings.apart"]
    # JSON as Python writes it: a limit may be infinite.
    given = json.dumps(question).encode()
    try:
        ran = subprocess.run(  # noqa: S603 - our own module
            argv, input=given, capture_output=True, timeout=DEADLINE_S, check=False
        )
        reply = json.loads(ran.stdout)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Mistake(f"settings cannot be checked: {problem}", HELP) from None
    except ValueError:
        said = ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        what = f"settings cannot be checked: the process ended with {ran.returncode}: {said}"
        raise Mistake(what, HELP) from None
    if "what" in reply:
        raise Mistake(reply["what"], reply["hint"], reply["excerpt"])
    return reply["ok"]


def main() -> int:
    """Answer the one question on standard input."""
    question = json.load(sys.stdin)
    try:
        reply = {"ok": _answer(question)}
    except Mistake as no:
        reply = {"what": no.what, "hint": no.hint, "excerpt": list(no.excerpt)}
    # A date is no value of any setting: as text it is refused by who takes it.
    json.dump(reply, sys.stdout, default=str)
    return 0


def _answer(question: dict[str, Any]) -> object:
    if "rules" in question:
        from agent.knowledge import known  # noqa: PLC0415 - hyperscan, where there are rules

        known(tuple((name, text) for name, text in question["rules"]))
        return None
    from agent.settings.load import whole  # noqa: PLC0415 - what asks this process needs none of it

    return whole(question["text"], question["path"], question["environment"])


if __name__ == "__main__":
    sys.exit(main())
