"""The verb that resets GPUs, and the question whether they were."""

import re
from pathlib import Path

from remediations.actor import resetting
from remediations.actor.registry import Refused, Turn, question, verb

PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0")
MOST = 16


@question
def gpus_were_reset(state: Path, gpus: list[str]) -> bool:
    """Return whether the open action has reset them; Refused where nobody knows."""
    del gpus
    return resetting.was_done(state, resetting.open_action(state))


@verb("gpu.reset")
def gpu_reset(turn: Turn, gpus: list[str]) -> str:
    """Reset the GPUs at these PCI addresses; all where none is named or one cannot alone."""
    if len(gpus) > MOST or not all(map(PCI.fullmatch, gpus)):
        raise Refused("denied", f"not at most {MOST} PCI addresses of GPUs: {gpus!s:.80}")
    problems = resetting.reset(turn, gpus)
    together = gpus if (record := resetting.kept(turn.state)) is None else record["gpus"]
    return _said(f"reset: {', '.join(together) or 'all GPUs together'}", problems)


def _said(what: str, problems: list[str]) -> str:
    return f"{what}; {'; '.join(problems)}"[:480] if problems else what
