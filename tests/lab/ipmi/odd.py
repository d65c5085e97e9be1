"""A BMC of pyghmi that answers as it is told, run as a program: its port, what it is told as JSON.

ipmi_sim answers as its sensors are, and oddly only with a module in C; here a table answers.
"""

import json
import signal
import sys
import time
from typing import Any, NamedTuple

from pyghmi.ipmi import bmc  # type: ignore[import-untyped]  # pyghmi has no types

# By the first bytes of a request (network function, command, data ...): completion code and data.
WELL = {
    "0601": (0, "2001090802bf911200020f"),
    "0001": (0, "010000"),
    "0a20": (0, "5101000010010000000100000002"),
    "0a22": (0, "0100"),
    "042d21": (0, "18c00000"),
    "0a40": (0, "5100000010010000000100000002"),
    "0a43": (0xCB, ""),
}
CLOCK, GET_RECORD = "0a48", "0a23"
# IPMI 2.0, 5.2: a command that is not known.
OTHER = (0xC1, "")


class Told(NamedTuple):
    """The one sensor data record, answers, and the request at which the BMC falls silent."""

    record: str
    answers: dict[str, tuple[int, str]]
    hush: str | None = None


class OddBmc(bmc.Bmc):  # type: ignore[misc]  # pyghmi has no types
    """Answers from a table, all but its clock and its list of sensors."""

    told: Told

    def handle_raw_request(self, request: dict[str, Any], session: Any) -> None:
        asked = bytes((request["netfn"], request["command"], *request["data"])).hex()
        while self.told.hush and asked.startswith(self.told.hush):
            signal.pause()
        code, data = self.answer(asked)
        session.send_ipmi_response(data=list(bytes.fromhex(data)), code=code)

    def answer(self, asked: str) -> tuple[int, str]:
        table = WELL | self.told.answers
        for key in sorted(table, key=len, reverse=True):
            if asked.startswith(key):
                return table[key]
        if asked.startswith(CLOCK):
            return 0, int(time.time()).to_bytes(4, "little").hex()
        if asked.startswith(GET_RECORD):
            at, many = bytes.fromhex(asked)[6:8]
            return 0, "ffff" + bytes.fromhex(self.told.record)[at:][:many].hex()
        return OTHER


def main() -> None:
    odd = OddBmc({"ipmiusr": "test"}, port=int(sys.argv[1]), address="127.0.0.1")
    odd.told = Told(*json.loads(sys.argv[2]))
    odd.listen()


if __name__ == "__main__":
    main()
