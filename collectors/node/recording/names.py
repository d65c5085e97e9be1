"""Stand-ins for what must not leave a site: the same for the same, and of the same shape."""

import ipaddress
import itertools
import string
from collections import Counter
from collections.abc import Callable

# Documentation ranges of RFC 5737 first, then the benchmark range of RFC 2544.
V4_NETS = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15")
V6_NET = int(ipaddress.IPv6Address("2001:db8::"))
LINK_LOCAL = ipaddress.IPv6Network("fe80::/64")
GUID = 0x02005E << 40
MAC = bytes.fromhex("02005e")
V4_LENGTH, MAC_LENGTH, WORD = 4, 6, 1 << 64
MAPPED = 0xFFFF

Make = Callable[[int], str]


class Names:
    """Hands out stand-ins in the order of asking; nothing of the original is in them.

    A number would be simpler, but text must stay what parsers expect: an address an address, a
    serial number as long and of the same alphabet.
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self.real: set[str] = set()

    def counts(self) -> dict[str, int]:
        """Return how many things of each kind were replaced."""
        return dict(sorted(Counter(kind for kind, _ in self._given).items()))

    def _stand_in(self, kind: str, key: str, make: Make) -> str:
        if (kind, key) not in self._given:
            self.real.add(key)
            for number in itertools.count(self._numbers[kind] + 1):
                if (fresh := make(number)) not in self.real:
                    break
            self._numbers[kind] = number
            self._given[kind, key] = fresh
        return self._given[kind, key]

    def host(self, name: str) -> str:
        """Return `node-1` ..."""
        return self._stand_in("host", name.lower(), "node-{}".format)

    def user(self, name: str) -> str:
        """Return `user1` ..."""
        return self._stand_in("user", name, "user{}".format)

    def serial(self, serial: str) -> str:
        """Return a serial number of the same length, letter for letter and digit for digit."""
        return self._stand_in("serial", serial, lambda number: alike(serial, number))

    def uuid(self, uuid: str) -> str:
        """Return a UUID with the same separators; both spellings of one get the same."""
        key = uuid.lower().replace("-", "").replace("_", "")
        plain = self._stand_in("uuid", key, "0000000000004000800{:013x}".format)
        digits = iter(plain)
        return "".join(c if c in "-_" else next(digits) for c in uuid)

    def guid(self, guid: str) -> str:
        """Return a GUID, 16 hex digits with whatever stands between them in the original."""
        key = guid.lower().replace(":", "")
        if not set(key) - {"0"} or not set(key) - {"f"}:
            return guid
        digits = iter(self._stand_in("guid", key, lambda number: f"{GUID + number:016x}"))
        return "".join(c if c == ":" else next(digits) for c in guid)

    def octets(self, text: str) -> str:
        """Return a hardware address with as many octets (6 of Ethernet, 20 of IPoIB)."""
        between = text[2]
        plain = bytes.fromhex(text.replace(between, ""))
        if not set(plain) - {0} or not set(plain) - {255}:
            return text
        length = len(plain)

        def make(number: int) -> str:
            return (MAC + number.to_bytes(length - len(MAC), "big")).hex()

        kind = "mac" if length == MAC_LENGTH else "hardware address"
        return bytes.fromhex(self._stand_in(kind, plain.hex(), make)).hex(between)

    def address(self, text: str) -> str | None:
        """Return an address of the documentation ranges, or None where *text* is no address.

        Addresses that say nothing of a site (loopback, unspecified, multicast, masks) stay.
        """
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return None
        if address.is_loopback or address.is_unspecified or address.is_multicast:
            return text
        if isinstance(address, ipaddress.IPv4Address):
            return text if _is_mask(int(address)) else self._v4(address)
        return self._v6(address, text)

    def _v4(self, address: ipaddress.IPv4Address) -> str:
        return self._stand_in("address", str(address), _documented)

    def _v6(self, address: ipaddress.IPv6Address, text: str) -> str:
        if address.ipv4_mapped is not None:
            inner = ipaddress.IPv4Address(self._v4(address.ipv4_mapped))
            fresh = ipaddress.IPv6Address((MAPPED << 32) + int(inner))
            return f"::ffff:{inner}" if "." in text else _spelt(fresh, text)
        if address in LINK_LOCAL:
            # The lower half is the port's GUID, or is made of the MAC address.
            lower = self.guid(f"{int(address) % WORD:016x}")
            fresh = ipaddress.IPv6Address(int(LINK_LOCAL.network_address) + int(lower, 16))
        else:
            held = self._stand_in("address", str(address), _documented_v6)
            fresh = ipaddress.IPv6Address(held)
        return _spelt(fresh, text)


def alike(text: str, number: int) -> str:
    """Return *text* with its letters and digits counting *number*; other characters stay.

    The first digit of a row of them is 1: as a number it keeps its length.
    """
    made = []
    for place, c in reversed(list(enumerate(text))):
        alphabet = next((a for a in ALPHABETS if c in a), c)
        if place == 0 and alphabet == string.digits:
            made.append("1")
            continue
        number, digit = divmod(number, len(alphabet)) if len(alphabet) > 1 else (number, 0)
        made.append(alphabet[digit])
    return "".join(reversed(made))


ALPHABETS = (string.digits, string.ascii_uppercase, string.ascii_lowercase)


def _documented(number: int) -> str:
    for net in map(ipaddress.IPv4Network, V4_NETS):
        if number < net.num_addresses - 1:
            return str(net[number])
        number -= net.num_addresses - 2
    raise OverflowError("more addresses than documentation ranges hold")


def _documented_v6(number: int) -> str:
    return str(ipaddress.IPv6Address(V6_NET + number))


def _is_mask(address: int) -> bool:
    """Return whether the bits are ones, then zeros: 255.255.255.0, 0.0.0.0, 255.255.255.255."""
    inverted = address ^ 0xFFFFFFFF
    return inverted & (inverted + 1) == 0 and address >> 24 == 0xFF  # noqa: PLR2004 - first octet


def _spelt(fresh: ipaddress.IPv6Address, text: str) -> str:
    return fresh.exploded if len(text) == len(fresh.exploded) else fresh.compressed
