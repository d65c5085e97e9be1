"""Ask the BMC through `ipmitool`: many raw requests in one run, or a dump of its sensor list.

`ipmitool exec` reads its commands from standard input, so that 24 readings cost one process. With
`-v` it says on stderr what each request became; the bytes stand on stdout.
"""

import contextlib
import os
import re
import selectors
import signal
import subprocess  # noqa: TID251 - this is the helper: its parent holds the deadline, and no loop is stopped
import time
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from collectors.helpers.children import tools
from collectors.helpers.children.loop import Refused

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/"}
OUTPUT_CAP = 1 << 20
TERM_S = 1.0
LEAVING_S = 0.1

# RAW REQ (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d data_len=1)
ASKED = "RAW REQ ("
# RAW RSP (4 bytes)
ANSWERED = re.compile(r"RAW RSP \((\d{1,4}) bytes\)")
# Unable to send RAW command (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d rsp=0xcb): Requested ...
DECLINED = re.compile(r"Unable to send RAW command \(.{0,80}?rsp=0x([0-9a-f]{1,2})\)")
UNSENT = "Unable to send RAW command ("
#  18 c0 00 00
BYTES = re.compile(r"(?: [0-9a-f]{2})+")

Request = tuple[int, ...]


class Reply(NamedTuple):
    """What became of one request: its completion code (IPMI 2.0, 5.2), and its data where 0.

    The code is None where the BMC gave none.
    """

    code: int | None
    data: bytes = b""


class Ran(NamedTuple):
    """How a run of the tool ended."""

    status: int
    stdout: str
    stderr: str


def ask(requests: Sequence[Request], seconds: float) -> list[Reply]:
    """Return the reply to each of *requests* (network function, command, data ...), in order."""
    lines = [" ".join(["raw", *(f"0x{byte:02x}" for byte in request)]) for request in requests]
    ran = run(("-v", "exec", "/dev/stdin"), "\n".join(lines) + "\n", seconds)
    replies = read(ran.stdout, ran.stderr)
    if not replies:
        raise Refused("crashed", complaint(ran))
    if len(replies) != len(requests):
        detail = f"ipmitool answered {len(replies)} of {len(requests)} requests"
        raise Refused("garbled", detail)
    return replies


def read(stdout: str, stderr: str) -> list[Reply]:
    """Return the replies of one run; Refused where bytes and words do not agree."""
    hexes = (line for line in stdout.splitlines() if BYTES.fullmatch(line.rstrip()))
    data = bytes.fromhex("".join(hexes))
    replies: list[Reply] = []
    used = 0
    for line in stderr.splitlines():
        if line.startswith(ASKED):
            replies.append(Reply(None))
        elif not replies or replies[-1].code is not None:
            continue
        elif hit := ANSWERED.match(line):
            size = int(hit[1])
            replies[-1] = Reply(0, data[used : used + size])
            used += size
        elif hit := DECLINED.match(line):
            replies[-1] = Reply(int(hit[1], 16))
    if used != len(data):
        raise Refused("garbled", f"ipmitool printed {len(data)} bytes and spoke of {used}")
    return replies


def complaint(ran: Ran) -> str:
    """Return the tool's own line about why it could not ask."""
    # What -v adds before anything is asked, and is no reason.
    idle = ("Loading IANA", "Running Get", "Using ")
    for stream in (ran.stderr, ran.stdout):
        lines = [line.strip() for line in stream.splitlines()]
        if spoken := [line for line in lines if line and not line.startswith(idle)]:
            said = spoken[-1]
            break
    else:
        said = f"ipmitool ended with status {ran.status} and said nothing"
    return "".join(c if c.isprintable() else "?" for c in said[:200])


def run(args: Sequence[str], given: str, seconds: float) -> Ran:
    """Run the site's ipmitool in a session of its own; nothing of it is left when this returns."""
    argv = (tools.path("ipmitool"), *args)
    with subprocess.Popen(  # noqa: S603 - a path that root chose, arguments of ours
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        start_new_session=True,
    ) as tool:
        before = signal.signal(signal.SIGTERM, _ender(tool))
        try:
            _give(tool, given)
            kept = _gather(tool, time.monotonic() + seconds, seconds)
        finally:
            end(tool)
            signal.signal(signal.SIGTERM, before)
    return Ran(tool.returncode, *(part.decode("utf-8", "backslashreplace") for part in kept))


def _give(tool: subprocess.Popen[bytes], given: str) -> None:
    assert tool.stdin is not None
    # At most 16 kB, which the pipe holds: this cannot wait for the tool to read.
    with contextlib.suppress(BrokenPipeError):
        tool.stdin.write(given.encode())
        tool.stdin.close()


def _gather(tool: subprocess.Popen[bytes], end_at: float, seconds: float) -> tuple[bytes, bytes]:
    """Read both streams until they end; refuse what takes too long or babbles."""
    assert tool.stdout is not None
    assert tool.stderr is not None
    kept = {tool.stdout.fileno(): bytearray(), tool.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as waiting:
        for handle in kept:
            waiting.register(handle, selectors.EVENT_READ)
        while waiting.get_map():
            if (left := end_at - time.monotonic()) <= 0:
                raise Refused("timeout", f"ipmitool did not end in {seconds:g} s")
            for key, _ in waiting.select(left):
                piece = os.read(key.fd, 65_536)
                kept[key.fd] += piece
                if not piece:
                    waiting.unregister(key.fd)
                if len(kept[key.fd]) > OUTPUT_CAP:
                    raise Refused("garbled", f"ipmitool printed more than {OUTPUT_CAP} bytes")
    out, err = kept.values()
    return bytes(out), bytes(err)


def end(tool: subprocess.Popen[bytes]) -> None:
    """End the tool, if it has not ended, and its children: TERM, 1 s, KILL."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        tool.wait(LEAVING_S)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(tool.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            tool.wait(TERM_S)
    # One that stays in the kernel is left to the parent's count of stuck helpers.


def _ender(tool: subprocess.Popen[bytes]) -> "signal._HANDLER":
    """Return what takes the tool along when this helper itself is told to end."""

    def leave(number: int, frame: FrameType | None) -> None:
        del number, frame
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(tool.pid, signal.SIGKILL)
        os._exit(0)

    return leave
