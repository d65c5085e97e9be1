"""What `ibping -S` does on a real node: ibsim 0.10 cannot carry its requests to a real one.

Run as a program: `responder.py BASE NODE[:LOST]...`, where LOST pings of each ten are not
answered, first and repeated tries alike. It speaks ibsim's datagrams over abstract sockets, says
"ready" on a line, and leaves when its standard input ends.
"""

import contextlib
import os
import select
import socket
import struct
import sys

MAGIC = 0xDEADBEEF
CONNECT, DISCONNECT = 1, 2
# magic, client, kind, length, data: a question to ibsim, and its answer (kind 0: refused)
CONTROL = struct.Struct("<IIII64s")
# id, queue pair, takes requests, node: the data of CONNECT
CLIENT = struct.Struct("<III32s")
# to LID, from LID, to queue pair, from queue pair, status, length, the MAD itself
PACKET = struct.Struct("<IIIII4xQ256s")

# In a MAD: management class, method, status, transaction, and the vendor's 216 bytes.
CLASS, METHOD, STATUS, TRANSACTION, PAYLOAD = 1, 3, slice(4, 6), slice(8, 16), slice(40, 256)
OPENIB_PING = 0x32
RESPONSE = 0x80


def address(name: str) -> bytes:
    """Return the abstract socket address of ibsim's naming."""
    return b"\0" + name.encode() + b"\0"


class Responder:
    """One node that answers pings."""

    def __init__(self, base: str, node: str, lost: int, identity: int) -> None:
        self.node = node
        self.lost = lost
        self.pings: list[bytes] = []
        self.control = self._socket(f"{base}:ctl{identity}", f"{base}:ctl")
        self.packets = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.packets.bind(address(f"{base}:in{identity}"))
        joined = self.ask(CONNECT, CLIENT.pack(identity, 0, 1, node.encode()))
        self.client: int = CLIENT.unpack_from(joined)[0]
        self.packets.connect(address(f"{base}:out{self.client}"))

    @staticmethod
    def _socket(ours: str, theirs: str) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.bind(address(ours))
        made.connect(address(theirs))
        return made

    def ask(self, kind: int, data: bytes = b"", client: int = 0) -> bytes:
        self.control.send(CONTROL.pack(MAGIC, client, kind, len(data), data))
        _, _, answered, _, reply = CONTROL.unpack(self.control.recv(CONTROL.size))
        if answered == 0:
            raise SystemExit(f"ibsim refused {self.node}: no slot, or no such node")
        return bytes(reply)

    def receive(self) -> None:
        """Answer one packet, if it is a ping that is not to be lost."""
        to, sender, to_qp, from_qp, status, length, mad = PACKET.unpack(self.packets.recv(4096))
        if mad[CLASS] != OPENIB_PING or mad[METHOD] & RESPONSE or status or self._loses(mad):
            return
        reply = bytearray(mad)
        reply[METHOD] |= RESPONSE
        reply[STATUS] = b"\0\0"
        reply[PAYLOAD] = self.node.encode().ljust(216, b"\0")
        self.packets.send(PACKET.pack(sender, to, from_qp, to_qp, 0, length, bytes(reply)))

    def _loses(self, mad: bytes) -> bool:
        transaction = mad[TRANSACTION]
        if transaction not in self.pings:
            self.pings.append(transaction)
        return self.pings.index(transaction) % 10 < self.lost


def main(base: str, *nodes: str) -> None:
    """Serve until standard input ends."""
    responders = {}
    for number, entry in enumerate(nodes):
        node, _, lost = entry.partition(":")
        made = Responder(base, node, int(lost or 0), os.getpid() * 100 + number)
        responders[made.packets.fileno()] = made
    print("ready", flush=True)  # noqa: T201 - the word that whoever started it waits for
    stdin = sys.stdin.fileno()
    while True:
        ready, _, _ = select.select([stdin, *responders], [], [])
        if stdin in ready and not os.read(stdin, 4096):
            break
        for handle in set(ready) - {stdin}:
            responders[handle].receive()
    for made in responders.values():
        with contextlib.suppress(OSError):
            made.ask(DISCONNECT, client=made.client)


if __name__ == "__main__":
    main(*sys.argv[1:])
