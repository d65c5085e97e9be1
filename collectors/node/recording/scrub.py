"""Take out of a recording what does not belong into a public report; parsers read it as before."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from collectors.node.recording.names import Names
from collectors.node.recording.secrets import (
    ALLOWED_ENVIRONMENT,
    COMMAND_KEYS,
    ENVIRONMENT_KEYS,
    IDENTITY_KEYS,
    PATTERN,
    Learned,
    is_guid,
)

# 14,1043,5123502,-;a line that a program wrote: the priority's bits above 7 are its facility
# Command line: BOOT_IMAGE=/vmlinuz root=UUID=... site.token=...
# Unknown kernel command line parameters "site.token=...", will be passed to user space.
BOOT_LINE = re.compile(r"(?i:(?<=command line: )|(?<=command line parameters )).*")
# Linux version 6.8.0-45-generic (builder@host) (x86_64-linux-gnu-gcc-13 ...)
BUILT_BY = re.compile(r"(?<=\()[^\s()@]{1,64}@[^\s()]{1,255}(?=\))")
KMSG_HEADER = re.compile(r"(?P<priority>\d+),[^;]*;")
PROGRAM = 8
ESCAPED_ASCII = re.compile(r"\\u00([2-7][0-9a-fA-F])")
SHORTEST_NUMBER = 6
# What the agent keeps of this node, and in it what people called or said:
# ..."kind":"image","name":"llama.sif"}      ..."until":1.5,"reason":"new fans","by":"night-shift"}
STRING = r'(?:[^"\\]|\\.)+'
SAID = {
    "/var/lib/gpudiag/changes.json": re.compile(rf'("kind": ?"image", ?"name": ?"){STRING}'),
    "/var/lib/gpudiag/maintenance.json": re.compile(rf'("(?:reason|by)": ?"){STRING}'),
}


class Scrub:
    """Replaces names, addresses, serials and the like, each everywhere by the same stand-in.

    Everything is shown to `learn` first: a name that one file gives away is then found in all.
    """

    def __init__(self) -> None:
        self.names = Names()
        self._learned = Learned()

    def learn(self, path: str, text: str) -> None:
        """Look for names and serial numbers in one file, or in what one tool printed."""
        self._learned.text(path, text)
        for value in _documents(text):
            self._learned.value(value)

    def learn_value(self, value: Any) -> None:  # noqa: ANN401 - JSON
        """Look for them in an answer."""
        self._learned.value(value)

    def learn_names(self, hosts: Iterable[str], users: Iterable[str]) -> None:
        """Take names that are known from elsewhere."""
        for host in hosts:
            self._learned.host(host)
        for user in users:
            self._learned.user(user)

    def close(self, words: Iterable[str] = ()) -> None:
        """End learning; from here on names are replaced, but for those that are also *words*.

        A host called `vm` must not rename /proc/sys/vm.
        """
        self._learned.compile({word.lower() for word in words})
        self.names.real |= self._learned.all()

    def text(self, text: str) -> str:
        """Return *text* without what is secret; JSON in it is looked through after its escapes."""
        plain = self._flat(text)
        values = _documents(text)
        if not values:
            return plain
        clean = [self.value(value) for value in values]
        if _documents(plain) == clean:
            return plain
        return "\n".join(json.dumps(value, ensure_ascii=False) for value in clean)

    def file(self, path: str, text: str) -> str:
        """Return a file's text; command lines are cut and environments go by the allow-list."""
        if re.fullmatch(r"/proc/[^/]+/(task/\d+/)?cmdline", path):
            return self.text(re.split(r"[\0\s]|\\x00", text, maxsplit=1)[0])
        if re.fullmatch(r"/proc/[^/]+/(task/\d+/)?environ", path):
            pairs = re.split(r"\0|\\x00", text)
            return self.text("\0".join(p for p in pairs if _allowed(p.partition("=")[0])))
        if path in SAID:
            return self.text(SAID[path].sub(r"\g<1>(left out)", text))
        return self.text(text)

    def kmsg(self, lines: Iterable[str]) -> list[str]:
        """Return kernel records; of one that a program wrote only the header stays."""
        clean, program = [], False
        for line in lines:
            header = KMSG_HEADER.match(line)
            if header is not None:
                program = int(header["priority"]) >= PROGRAM
            if header is not None and program:
                clean.append(f"{header[0]}(written by a program, left out)")
            elif not program:
                clean.append(self._flat(_without_boot(line)))
        return clean

    def value(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
        """Return an answer without what is secret; *key* is the name under which it stands."""
        if isinstance(value, str):
            return self.text(value.split(maxsplit=1)[0] if _is_command(key, value) else value)
        if isinstance(value, bool) or value is None or isinstance(value, float):
            return value
        if isinstance(value, int):
            return self._number(value, key)
        if isinstance(value, Mapping):
            return self._table(value, key)
        inner = list(value)[:1] if key in COMMAND_KEYS else list(value)
        return [self.value(item, key) for item in inner]

    def _table(self, table: Mapping[str, Any], key: str) -> dict[str, Any]:
        if key in ENVIRONMENT_KEYS:
            table = {name: value for name, value in table.items() if _allowed(name)}
        below = key if key in IDENTITY_KEYS else ""
        return {
            self._flat(name): self.value(value, below or name.lower())
            for name, value in table.items()
        }

    def _number(self, value: int, key: str) -> int:
        if key in IDENTITY_KEYS and len(str(value)) >= SHORTEST_NUMBER and value > 0:
            return int(self.names.serial(str(value)))
        clean = self._flat(str(value))
        return int(clean) if clean.lstrip("-").isdecimal() else value

    def environment(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """Return an answer of the kind `environ`: variables outside the allow-list are dropped."""
        if isinstance(value, Mapping):
            return {
                k: self.environment(v)
                for k, v in value.items()
                if _allowed(k) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", k)
            }
        return self.value(value)

    def _flat(self, text: str) -> str:
        text = ESCAPED_ASCII.sub(_plain_ascii, text)
        return self._learned.pattern.sub(self._replace, text)

    def _replace(self, hit: re.Match[str]) -> str:
        kind = hit.lastgroup or ""
        found: str = getattr(self, f"_{kind}")(hit)
        return found

    def _secret(self, hit: re.Match[str]) -> str:
        if re.fullmatch(r"[\d.,e+-]*", hit["secret"]):
            return hit[0]
        return hit["secretname"] + "removed"

    def _token(self, hit: re.Match[str]) -> str:
        del hit
        return "removed"

    def _uuid(self, hit: re.Match[str]) -> str:
        return self.names.uuid(hit[0])

    def _octets(self, hit: re.Match[str]) -> str:
        return self.names.octets(hit[0])

    def _enx(self, hit: re.Match[str]) -> str:
        pairs = ":".join(re.findall("..", hit["enx"]))
        return "enx" + self.names.octets(pairs).replace(":", "")

    def _guid(self, hit: re.Match[str]) -> str:
        return self.names.guid(hit[0])

    def _hexguid(self, hit: re.Match[str]) -> str:
        digits = hit["hexguid"]
        # Without 0x in front, sixteen digits and no letter are a number: a counter, bytes.
        number = not hit["x"] and digits.isdecimal()
        return hit[0] if number or not is_guid(digits) else hit["x"] + self.names.guid(digits)

    def _colons(self, hit: re.Match[str]) -> str:
        """Replace an IPv6 address, or what else stands in a row of colons: `eth0:fd42::9:`."""
        parts = hit[0].split(":")
        for length in range(len(parts), 2, -1):
            for start in range(len(parts) - length + 1):
                inner = ":".join(parts[start : start + length])
                if (found := self.names.address(inner)) is not None:
                    return ":".join([*parts[:start], found, *parts[start + length :]])
        text = GUID.sub(lambda inner: self.names.guid(inner[0]), hit[0])
        return V4.sub(self._four, text)

    def _four(self, hit: re.Match[str]) -> str:
        return self.names.address(hit[0]) or hit[0]

    def _mail(self, hit: re.Match[str]) -> str:
        return f"{self.names.user(hit['mailbox'])}@example.org"

    def _owner(self, hit: re.Match[str]) -> str:
        return hit["home"] + self._learned.stand_in_user(self.names, hit["owner"])

    def _host(self, hit: re.Match[str]) -> str:
        return self.names.host(self._learned.short(hit["host"]))

    def _fqdn(self, hit: re.Match[str]) -> str:
        return self.names.host(hit[0])

    def _user(self, hit: re.Match[str]) -> str:
        return self.names.user(hit[0])

    def _serial(self, hit: re.Match[str]) -> str:
        return self.names.serial(hit[0])


V4 = re.compile(PATTERN["four"])
GUID = re.compile(PATTERN["guid"])


def _plain_ascii(hit: re.Match[str]) -> str:
    """Return the letter that a JSON escape stands for, but for those that must be escaped."""
    c = chr(int(hit[1], 16))
    return hit[0] if c in '"\\\x7f' else c


def _documents(text: str) -> list[Any]:
    """Return the JSON documents of *text*: the whole of it, or one to a line; none for others."""
    if text.lstrip()[:1] not in ("{", "["):
        return []
    for parts in ([text], [line for line in text.split("\n") if line.strip()]):
        try:
            return [json.loads(part) for part in parts]
        except (ValueError, RecursionError):
            continue
    return []


def _allowed(name: str) -> bool:
    return ALLOWED_ENVIRONMENT.fullmatch(name) is not None


def _is_command(key: str, value: str) -> bool:
    return key in COMMAND_KEYS and bool(value.strip())


def _without_boot(line: str) -> str:
    """Return a kernel record without what was set at boot and who built the kernel."""
    if "Linux version" in line:
        line = BUILT_BY.sub("builder@host", line)
    return BOOT_LINE.sub("(left out)", line)
