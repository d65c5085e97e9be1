"""What this process is calling right now: a call that does not return is told by another thread.

A call into a driver that hangs cannot be ended from inside, and its process may stay in the kernel.
So it is named while it hangs, and whoever asked lets go of this process.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

CALL_S = 3.0
# Where nothing keeps the GPUs initialised, these take seconds for each of them.
START_S = 12.0
STARTS = ("nvmlInit", "nvmlDeviceGetHandle", "nvmlShutdown")
LOOK_S = 0.25
# Longer than it takes to be let go of: whoever asked looks first where we stand in the kernel.
LEAVE_S = 10.0

Tell = Callable[[bytes], object]


class Watch:
    """The C function that was entered last, of which GPU, and when."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._never = threading.Event()
        self._call = ""
        self._since: float | None = None
        self._asked = False
        self.gpu = ""

    def start(self) -> None:
        """Note each function that the binding looks up to call it, and watch from a thread."""
        inner = pynvml._nvmlGetFunctionPointer  # noqa: SLF001 - the one place that all calls pass

        def noted(name: str) -> object:
            self.enters(name)
            return inner(name)

        pynvml._nvmlGetFunctionPointer = noted  # noqa: SLF001 - as above
        threading.Thread(target=self._watch, daemon=True).start()

    def enters(self, name: str) -> None:
        """Note a call; it stands until the next one, or until the answer is whole."""
        with self._lock:
            self._call, self._since = name, time.monotonic()

    @contextlib.contextmanager
    def answering(self, *, asked: bool = True) -> Iterator[None]:
        """Watch what is called herein; nobody is told unless somebody *asked*."""
        self.gpu, self._asked = "", asked
        try:
            yield
        finally:
            # Waits for ever where the call was given up: there is no second answer then.
            with self._lock:
                self._since = None

    def stuck(self) -> tuple[str, float] | None:
        """Return the call that is late and how long it may last; None if there is none."""
        if self._since is None:
            return None
        limit_s = START_S if self._call.startswith(STARTS) else CALL_S
        if time.monotonic() - self._since < limit_s:
            return None
        return (f"{self._call} of GPU {self.gpu}" if self.gpu else self._call), limit_s

    def _watch(self) -> None:
        while True:
            self._never.wait(LOOK_S)
            with self._lock:
                if late := self.stuck():
                    if self._asked:
                        self._tell(_line(*late))
                        self._never.wait(LEAVE_S)
                    os._exit(1)


def _line(call: str, limit_s: float) -> bytes:
    detail = f"{call} did not return in {limit_s:g} s"
    return json.dumps({"missing": "timeout", "detail": detail, "stuck": call}).encode() + b"\n"
