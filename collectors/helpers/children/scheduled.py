"""The verb `scheduled`: how many GPUs this node has by the files of Slurm and of the kubelet.

They are read here because they tell of the whole cluster and of every pod: what leaves this
process, and may come into a recording, is this node's number alone.
"""

import json
import re
from typing import Any

from collectors.helpers.children import files, slurm_conf

HOSTNAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
# The second is where slurmd keeps what it was sent by the controller ("configless").
FOLDERS = ("/etc/slurm", "/run/slurm/conf", "/etc/slurm-llnl", "/usr/local/etc/slurm")
KUBELET = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
PLAIN = re.compile(r"\w[\w.-]{0,80}\.conf")
CAP = 4 << 20
MOST_INCLUDED = 16


def scheduled(root: str = "/") -> dict[str, Any]:
    """Return what `slurm` and `kubernetes` say, None where they say nothing.

    `refused` are files that are there and could not be read.
    """
    names = _read(root, HOSTNAMES)[0]
    host = next((names[path].strip() for path in HOSTNAMES if names.get(path)), "")
    slurm, refused = _slurm(root, host)
    return {"slurm": slurm, "kubernetes": _kubernetes(root), "refused": refused}


def _read(root: str, paths: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    seen = files.files(root, list(paths), [], CAP)
    return seen["texts"], list(seen["errors"])


def _slurm(root: str, host: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return what the first folder with a slurm.conf says of *host*."""
    for folder in FOLDERS:
        main, gres = f"{folder}/slurm.conf", f"{folder}/gres.conf"
        texts, refused = _read(root, (main, gres))
        if main in refused:
            return None, [main]
        if main not in texts:
            continue
        for path, read in ((main, slurm_conf.in_slurm_conf), (gres, slurm_conf.in_gres_conf)):
            for name, text in _with_included(root, folder, path, texts.get(path)).items():
                if (said := read(text, host)) is not None:
                    return {
                        "gpus": said.gpus,
                        "path": name,
                        "line": said.line.number,
                        "text": said.line.resources()[:200],
                    }, []
        return None, refused
    return None, []


def _with_included(root: str, folder: str, path: str, text: str | None) -> dict[str, str]:
    """Return a file and what it includes from its own folder, by path."""
    if text is None:
        return {}
    beside = [p for name in slurm_conf.includes(text) if (p := _beside(folder, name))]
    return {path: text, **_read(root, tuple(beside[:MOST_INCLUDED]))[0]}


def _beside(folder: str, name: str) -> str | None:
    """Return the path of an included file; one elsewhere, or with a password in it, is not read."""
    parent, _, last = name.rpartition("/")
    plain = parent in ("", folder) and PLAIN.fullmatch(last) and last != "slurmdbd.conf"
    return f"{folder}/{last}" if plain else None


def _kubernetes(root: str) -> dict[str, Any] | None:
    # Only root can read it, and most nodes have none: that nobody says is no blind spot.
    text = _read(root, (KUBELET,))[0].get(KUBELET)
    gpus = registered(text) if text else None
    return {"gpus": gpus, "path": KUBELET} if gpus else None


def registered(text: str) -> int | None:
    """Return how many GPUs the device plugin registered, None where it registered parts of them."""
    # {"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"nvidia.com/gpu":["GPU-5d..."]}},...}
    try:
        devices = json.loads(text)["Data"]["RegisteredDevices"]
        names = [str(name) for resource in RESOURCES for name in devices.get(resource) or ()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if any(not name.startswith("GPU-") for name in names):
        return None
    # With time-slicing one GPU is registered several times, GPU-5d...::0, GPU-5d...::1
    return len({name.partition("::")[0] for name in names}) or None
