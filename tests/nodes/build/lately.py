"""What was changed on a node: its package manager's list, and what its agent noted."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence

from collectors.host.changes import ARGV, NOTED
from tests.nodes.build.folder import Folder
from tests.nodes.build.node import Node

# Put in long ago: name and version, and how many days before.
OLD = (
    ("libnccl2", "2.28.7-1+cuda13.0", 31),
    ("slurm-smd-slurmd", "25.05.3-1", 44),
    ("linux-image-6.8.0-88-generic", "6.8.0-88.89", 20),
)
DAY = 86400


def changed(
    node: Node,
    *packages: tuple[str, str, float],
    noted: Sequence[tuple[float, Mapping[str, str]]] = (),
) -> Node:
    """Return the node with packages of dpkg and changes that the agent noted.

    Of a package there is name, version and how many seconds before it was put in; of a change how
    many seconds before, and the rest of it.
    """
    now = dt.datetime.fromisoformat(node.taken).timestamp()
    listed = (*packages, *((name, version, days * DAY) for name, version, days in OLD))
    rows = [f"{name} {version} {now - ago:.0f} installed" for name, version, ago in listed]
    changes = [{"time": round(now - ago), **what} for ago, what in noted]
    file = {"schema": "gpudiag.changes/1", "node": node.name, "changed": changes}

    def put(folder: Folder) -> None:
        folder.command("dpkg-query", *ARGV["dpkg-query"], stdout="\n".join([*rows, ""]), status=1)
        folder.paths.append(NOTED)
        folder.file(NOTED, json.dumps(file))

    return node.also(put)
