"""MIG instances: listed before a reset, which takes them, and made again afterwards."""

import re

from remediations.actor.registry import Refused
from remediations.actor.run import Unsure, run

ASK_S = 30.0
# |   0  MIG 1g.10gb         19        9          2:1     |
ROW = re.compile(
    r"^\|\s+\d+\s+MIG\s+\S+\s+(\d{1,3})\s+\d{1,3}\s+(\d{1,2}):\d{1,2}\s+\|", re.MULTILINE
)
MOST = 16


def instances(gpu: str) -> list[str]:
    """Return profile and first slice of each GPU instance: `19:2`; Refused where it is not told."""
    try:
        ran = run("nvidia-smi", "mig", "-i", gpu, "-lgi", seconds=ASK_S)
    except Unsure as late:
        raise Refused("timeout", str(late)) from None
    if ran.status == 0:
        return [f"{profile}:{start}" for profile, start in ROW.findall(ran.stdout)[:MOST]]
    if "No GPU instances found" in ran.stdout + ran.stderr:
        return []
    raise Refused("crashed", f"nvidia-smi mig -lgi: {ran.said}")


def put_back(gpu: str, wanted: list[str]) -> list[str]:
    """Turn MIG on and make the instances again, each with one compute instance.

    Return in words what could not be; Unsure where a call did not end.
    """
    problems = _do("-i", gpu, "-mig", "1")
    if wanted and not problems:
        problems = _do("mig", "-i", gpu, "-cgi", ",".join(wanted), "-C")
    return problems


def _do(*words: str) -> list[str]:
    try:
        ran = run("nvidia-smi", *words, seconds=ASK_S)
    except Refused as no:
        return [no.detail]
    return [] if ran.status == 0 else [f"nvidia-smi {' '.join(words)}: {ran.said}"]
