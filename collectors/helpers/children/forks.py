"""One process from which helpers are forked: what they have in common is in memory once.

It reads a byte from its standard input, a unix socket, with the descriptor on which a helper is to
answer; it forks, and says the pid. It asks nothing of the machine itself, so that it cannot hang. A
helper started as a program of its own costs 8 MiB, a forked one about 2. The driver's helper, which
another byte asks for, gets its threads and the driver's library after it was forked, never before.
"""

import gc
import json
import os
import signal
import socket
import sys
from typing import BinaryIO, cast

from collectors.helpers.children import heap, interfaces, loop, reader, tools

DRIVER = b"d"

VERBS: loop.Verbs = {**reader.VERBS, **interfaces.VERBS}


def main() -> int:
    """Fork on demand until the other side is gone.

    Arguments are the table of tools as JSON, and those of the driver's helper.
    """
    tools.given = json.loads(sys.argv[1]) if sys.argv[1:] else {}
    # Ended helpers are nobody's to wait for here; who asked for one watches it by a pidfd.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    heap.keep_little()
    # The collector would write into every page that is shared.
    gc.freeze()
    with socket.socket(fileno=0) as control:
        while True:
            asked, handles, _, _ = socket.recv_fds(control, 1, 1)
            if not asked:
                return 0
            if (pid := os.fork()) == 0:
                _answer(control, handles[0], driver=asked == DRIVER)
            os.close(handles[0])
            control.sendall(b"%d\n" % pid)


def _answer(control: socket.socket, handle: int, *, driver: bool) -> None:
    """Be the helper; never returns."""
    try:
        control.detach()
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Over the control socket, too: whoever ends that one must not wait for us.
        os.dup2(handle, 0)
        os.dup2(handle, 1)
        os.close(handle)
        with open(0, "rb", closefd=False) as source, open(1, "wb", closefd=False) as sink:
            if driver:
                from collectors.helpers.children import nvml  # noqa: PLC0415 - see above

                nvml.serve(sys.argv[2:], cast("BinaryIO", source), cast("BinaryIO", sink))
            else:
                loop.serve(VERBS, cast("BinaryIO", source), cast("BinaryIO", sink))
    except OSError:
        pass
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
