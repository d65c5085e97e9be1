"""A host at the end of a real cable: a network namespace behind a veth pair."""

import itertools
import os
from contextlib import ExitStack
from ipaddress import IPv4Address
from subprocess import PIPE, Popen, run
from typing import Self

NUMBERS = itertools.count()
# 198.18.0.0/15 is kept for tests of networks (RFC 2544); a /30 of it for each pair.
FIRST = int(IPv4Address("198.18.0.0"))


class Pair:
    """Our end `ours` in this machine's own namespace, the peer at `address` in another.

    Used as a context: all is taken away when it is left.
    """

    def __init__(self) -> None:
        number = (os.getpid() % 8192) * 4 + next(NUMBERS) % 4
        self.name = f"gd{number}"
        self.ours, self.theirs = f"{self.name}a", f"{self.name}b"
        self.own, self.address = (str(IPv4Address(FIRST + 4 * number + n)) for n in (1, 2))
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        ip("netns", "add", self.name)
        self._stack.callback(ip, "netns", "del", self.name)
        ip("link", "add", self.ours, "type", "veth", "peer", "name", self.theirs)
        ip("link", "set", self.theirs, "netns", self.name)
        ip("addr", "add", f"{self.own}/30", "dev", self.ours)
        self.inside("ip", "addr", "add", f"{self.address}/30", "dev", self.theirs)
        ip("link", "set", self.ours, "up")
        self.inside("ip", "link", "set", self.theirs, "up")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def inside(self, *argv: str) -> None:
        """Run something on the peer."""
        run(["ip", "netns", "exec", self.name, *argv], check=True, capture_output=True)

    def serve(self, *argv: str) -> Popen[bytes]:
        """Start a program on the peer that ends with the pair."""
        started = Popen(["ip", "netns", "exec", self.name, *argv], stdout=PIPE, stdin=PIPE)
        self._stack.callback(self._end, started)
        return started

    @staticmethod
    def _end(started: Popen[bytes]) -> None:
        started.kill()
        started.communicate()

    def lose(self, every: int) -> None:
        """Let the peer drop one of so many pings, the first among them."""
        rule = f"-p icmp -m statistic --mode nth --every {every} --packet 0 -j DROP"
        self.inside("iptables", "-A", "INPUT", *rule.split())

    def pull(self) -> None:
        """Take the peer's end down."""
        self.inside("ip", "link", "set", self.theirs, "down")

    def mtu(self, ours: int, theirs: int) -> None:
        """Set both ends' MTU."""
        ip("link", "set", self.ours, "mtu", str(ours))
        self.inside("ip", "link", "set", self.theirs, "mtu", str(theirs))


def ip(*args: str) -> None:
    run(["ip", *args], check=True, capture_output=True)
