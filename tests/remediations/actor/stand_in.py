"""Stand-ins for nvidia-smi, systemctl, scontrol and nv-fabricmanager on simulated GPUs.

`stand_in.py TOOL FOLDER WORDS...`. The folder says how they behave, by the names of files in it;
`settings` is what the simulated driver keeps, `log` gets a line a call that changes something.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOOL, FOLDER, WORDS = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
KEPT = FOLDER / "settings"
GPUS = json.loads((FOLDER / "gpus").read_text())
UNITS = Path("/sys/fs/cgroup/systemd/system.slice")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def has(name: str) -> bool:
    return (FOLDER / name).exists()


def log() -> None:
    with (FOLDER / "log").open("a") as file:
        file.write(" ".join([TOOL, *WORDS]) + "\n")


def change(index: int, **values: Any) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept.setdefault(str(index), {}).update({k.replace("__", "."): v for k, v in values.items()})
    new = FOLDER / "settings.smi"
    new.write_text(json.dumps(kept))
    new.replace(KEPT)


def chosen() -> list[int]:
    named = WORDS[WORDS.index("-i") + 1].split(",") if "-i" in WORDS else GPUS
    return [GPUS.index(name) for name in named]


def hang() -> None:
    time.sleep(600)


def nvidia_smi() -> int:
    if WORDS == ["-q"]:
        say("Volatile\n    DRAM Uncorrectable : 3")
        return 7 if has("no-query") else 0
    if "-lgi" in WORDS:
        say("|   0  MIG 1g.10gb         19        9          2:1     |")
        say("|   0  MIG 3g.40gb          9        1          4:4     |")
        return 0
    log()
    if "--gpu-reset" in WORDS:
        return reset()
    if has("hangs-after") and has("was-reset"):
        hang()
    option, value = next((o, WORDS[WORDS.index(o) + 1]) for o in OPTIONS if o in WORDS)
    for index in chosen():
        change(index, **OPTIONS[option](value))
    return 0


OPTIONS: dict[str, Callable[[str], dict[str, Any]]] = {
    "-pm": lambda value: {"persistence": int(value)},
    "-pl": lambda value: {"power__limit_mw": int(float(value) * 1000)},
    "-c": lambda value: {"compute_mode": int(value)},
    "-mig": lambda value: {"mig__current": int(value), "mig__pending": int(value)},
    "-cgi": lambda value: {"instances": value},
}


def reset() -> int:
    if has("hangs"):
        hang()
    if has("refuses"):
        say("GPU 00000001:10:00.0 could not be reset: In use by another client")
        return 0
    for index in chosen():
        defaults = {"persistence": 0, "power__limit_mw": 700_000, "compute_mode": 0}
        change(index, **defaults, mig__current=0, recovery_action=0)
    (FOLDER / "was-reset").touch()
    say("GPU was successfully reset.")
    return 0


def systemctl() -> int:
    verb, unit = WORDS[0], WORDS[-1]
    if verb == "is-active":
        return 0 if has(f"active-{unit}") else 3
    log()
    if verb == "stop":
        (FOLDER / f"active-{unit}").unlink()
        group = UNITS / unit / "cgroup.procs"
        for pid in group.read_text().split() if group.exists() else ():
            os.kill(int(pid), signal.SIGKILL)
        while group.exists() and group.read_text():
            time.sleep(0.01)
        return 0
    (FOLDER / f"active-{unit}").touch()
    for index in range(len(GPUS)):
        if unit == "nvidia-fabricmanager.service" and not has("fabric-stays"):
            change(index, fabric__state=3)
        if unit == "nvidia-persistenced.service":
            change(index, persistence=1)
    return 0


def scontrol() -> int:
    say(f"NodeName=gpu-017 {(FOLDER / 'slurm').read_text()}")
    return 0


def fabric_manager() -> int:
    say(f"Fabric Manager version is : {(FOLDER / 'version').read_text()}")
    return 0


TOOLS: dict[str, Callable[[], int]] = {
    "nvidia-smi": nvidia_smi,
    "systemctl": systemctl,
    "scontrol": scontrol,
    "nv-fabricmanager": fabric_manager,
}
sys.exit(TOOLS[TOOL]())
