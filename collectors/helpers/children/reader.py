"""The reader: what only root sees, by fixed verbs. Run as a child, or as its own unit on a socket."""

import sys

from collectors.helpers.children import driver, files, kernel, loop

# Asked only of a child with the caller's own rights, never over the socket: it takes paths.
OWN: loop.Verbs = {
    "files": files.files,
    "log_tail": files.log_tail,
    "device_nodes": driver.device_nodes,
}

# What the socket serves too; no argument is a path or a command.
PRIVILEGED: loop.Verbs = {"kernel_log": kernel.kernel_log}

VERBS: loop.Verbs = {**OWN, **PRIVILEGED}


def main() -> int:
    """Answer on standard input and output until the parent closes them."""
    loop.serve(VERBS, sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
