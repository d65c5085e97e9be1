"""Start the ranks of a small job, each with its own environment, and wait for all of them.

    python launch.py WORLD PROGRAM [ARGUMENT...]

As torchrun it is the parent of the ranks; unlike torchrun it ends none of them where another
fails, so that one can look.
"""

import os
import signal
import socket
import subprocess
import sys
from types import FrameType


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """Run all ranks with the interpreter that runs this; their output is ours."""
    world, program = int(sys.argv[1]), sys.argv[2:]
    job = os.environ | {
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
        "TORCH_FR_BUFFER_SIZE": "500",
    }
    ranks = [
        subprocess.Popen([sys.executable, *program], env=job | {"RANK": str(rank)})
        for rank in range(world)
    ]

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        for rank in ranks:
            rank.kill()

    signal.signal(signal.SIGTERM, end)
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
