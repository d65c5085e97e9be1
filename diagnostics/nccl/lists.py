"""Lists of names as NCCL_SOCKET_IFNAME and NCCL_IB_HCA hold them (nccl, src/misc/utils.cc)."""

import re

import msgspec

# mlx5_0:1 - what follows the colon is read by atoi: no digits are port 0, and any rest is ignored.
PORT = re.compile(r"\s*([+-]?\d{1,9})")
ANY_PORT = -1


class Entry(msgspec.Struct, frozen=True):
    """One name of a list; `port` is None where the list names none."""

    name: str
    port: int | None = None


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What a list says: `exclude` for `^...`, `exact` for `=...`; else names are beginnings."""

    entries: tuple[Entry, ...] = ()
    exclude: bool = False
    exact: bool = False

    def takes(self, name: str, port: int | None = None) -> bool:
        """Return whether NCCL takes a device of that name; an empty list names all."""
        named = not self.entries or any(self.matches(e, name, port) for e in self.entries)
        return named != self.exclude

    def matches(self, entry: Entry, name: str, port: int | None = None) -> bool:
        """Return whether one entry means a device; `mlx5_1` means mlx5_10 too, unless exact."""
        same = name == entry.name if self.exact else name.startswith(entry.name)
        return same and (entry.port is None or port is None or entry.port == port)


def parse(text: str) -> Selection:
    """Return what a value says; every text says something."""
    exclude = text.startswith("^")
    text = text[exclude:]
    exact = text.startswith("=")
    text = text[exact:]
    # The list's own reader leaves out one more sign.
    text = text[text[:1] in ("^", "=") :] if text else text
    entries = [entry for part in text.split(",") if (entry := _entry(part))]
    return Selection(entries=tuple(entries), exclude=exclude, exact=exact)


def _entry(part: str) -> Entry | None:
    name, colon, rest = part.partition(":")
    if not name:
        return None
    hit = PORT.match(rest)
    port = (int(hit[1]) if hit else 0) if colon else ANY_PORT
    return Entry(name, None if port == ANY_PORT else port)
