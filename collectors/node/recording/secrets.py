"""What in a recording is secret: forms that give themselves away, names that must be learned."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from collectors.node.recording.names import Names

ALLOWED_ENVIRONMENT = re.compile(
    r"(NCCL|GLOO|TORCH_NCCL|TORCH_FR|UCX)_\w+|CUDA_LAUNCH_BLOCKING|TORCH_DISTRIBUTED_DEBUG"
    r"|FI_PROVIDER|CUDA_VISIBLE_DEVICES|MASTER_ADDR|RANK|LOCAL_RANK|WORLD_SIZE|SLURM_JOB_ID|SLURM_STEP_ID"
)
COMMAND_KEYS = frozenset({"argv", "cmdline", "command", "command_line"})
ENVIRONMENT_KEYS = frozenset({"env", "environ", "environment"})
HOST_KEYS = frozenset({"host", "hostname", "master_addr", "node", "nodename", "server"})
USER_KEYS = frozenset({"login", "owner", "user", "user_name", "username"})
IDENTITY_KEYS = frozenset(
    {"asset_tag", "board_serial", "eui64", "nguid", "serial", "serial_number", "wwid", "wwn"}
)
SERIAL_FILES = re.compile(
    r".*/(serial|serial_number|serial_num|(product|board|chassis)_(serial|asset_tag)|vpd_pg80|wwid)"
)
HOST_FILES = frozenset({"/etc/hostname", "/proc/sys/kernel/hostname"})

# Words that tools and the kernel print: as a name of a user or host they are replaced only where
# the place says that they are one.
# fmt: off
WORDS = frozenset(
    {
        "admin", "all", "any", "avg", "bin", "cluster", "cuda", "data", "default", "dev",
        "docker", "down", "enabled", "error", "false", "gpu", "host", "infiniband", "info", "job",
        "kernel", "link", "local", "localhost", "login", "max", "mdev", "min", "mlx", "net",
        "network", "node", "none", "null", "nvidia", "on", "ok", "off", "port", "python", "rank",
        "root", "run", "server", "slurm", "state", "system", "test", "train", "true", "ubuntu",
        "up", "user", "unknown", "world",
    }
)
# fmt: on
# fmt: off
SYSTEM_USERS = frozenset(
    {
        "backup", "bin", "daemon", "dbus", "dnsmasq", "games", "gdm", "gnats", "gpudiag", "irc",
        "list", "lp", "mail", "man", "messagebus", "munge", "news", "nobody", "ntp",
        "nvidia-persistenced", "operator", "polkitd", "proxy", "root", "rpc", "shutdown", "slurm",
        "sshd", "statd", "sync", "sys", "syslog", "systemd-network", "systemd-resolve",
        "systemd-timesync", "tss", "uucp", "uuidd", "www-data",
    }
)
# fmt: on

# Where a word may begin: behind no letter or digit, or right behind an escape of JSON, of the
# kernel log, of mountinfo or of a terminal.
BEHIND_ESCAPE = (
    r"(?<=\\[nrtbf])|(?<=\\x[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4})|(?<=\\[0-7]{3})"
    r"|(?<=\x1b\[m)|(?<=\x1b\[[0-9]m)|(?<=\x1b\[[0-9]{2}m)"
    r"|(?<=\x1b\[[0-9];[0-9]{2}m)|(?<=\x1b\[[0-9]{2};[0-9]m)"
)
START = rf"(?:(?<![0-9A-Za-z])|{BEHIND_ESCAPE})"
HEX = "[0-9a-fA-F]"
UNITS = "service|slice|socket|scope|target|mount|timer|device|path|swap"

# In this order: where two could begin at one place, the first is meant. Every repetition that can
# begin anywhere is bounded: the text is hostile, and must not cost more than its length.
PATTERN = {
    # WANDB_API_KEY=0a1b2c    "password": "x"    token: abc
    "secret": r"(?P<secretname>(?i:(?:token|passw(?:or)?d|secret|api_?key|access_?key|credential)"
    r"[\w-]{0,40})(?:\\?[\"'])?\s{0,4}[=:]\s{0,4}(?:\\?[\"'])?)(?P<secret>[^\s\"'\\,;}&]+)",
    "token": r"(?P<token>(?:hf_|gh[pousr]_|glpat-|xox[abp]-|sk-)[A-Za-z0-9_-]{16,}"
    r"|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,2000}\.[\w-]{1,4000}\.[\w-]+)",
    # GPU-5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11   pod8d3f2b1c_1c2d_...   32 digits of machine-id
    "uuid": rf"(?P<uuid>(?:(?<!{HEX})|{BEHIND_ESCAPE})"
    rf"{HEX}{{8}}(?P<dash>[-_]){HEX}{{4}}(?P=dash){HEX}{{4}}(?P=dash)"
    rf"{HEX}{{4}}(?P=dash){HEX}{{12}}(?!{HEX})|{START}{HEX}{{32}}(?![0-9A-Za-z]))",
    # 9c:6b:00:12:34:56   9C-6B-00-12-34-56   80:00:02:08:fe:80:... (IPoIB, 20 octets)
    "octets": rf"(?P<octets>{START}{HEX}{{2}}(?P<colon>[:-])(?:{HEX}{{2}}(?P=colon)){{4,18}}"
    rf"{HEX}{{2}}(?![0-9A-Za-z])(?!:{HEX}))",
    "enx": rf"{START}enx(?P<enx>{HEX}{{12}})(?![0-9A-Za-z])",
    # 506b:4b03:00cf:1234, and no IPv6 address that goes on behind it
    "guid": rf"(?P<guid>{START}{HEX}{{4}}(?::{HEX}{{4}}){{3}}"
    rf"(?![0-9A-Za-z])(?!:{HEX}{{1,4}}(?![0-9A-Za-z])))",
    # 0x506b4b0300cf1234   eui.0025385b21404f0d
    "hexguid": rf"(?P<x>0x|{START})(?P<hexguid>{HEX}{{16}})(?![0-9A-Za-z])",
    "colons": rf"(?P<colons>{START}(?:{HEX}{{1,4}}|(?=::))(?::{HEX}{{0,4}}){{2,7}}"
    r"(?:\.\d{1,3}){0,3}(?![0-9A-Za-z]))",
    "four": rf"(?P<four>(?:(?<![0-9])(?<![0-9]\.)|{BEHIND_ESCAPE})"
    r"(?:\d{1,3}\.){3}\d{1,3}(?![0-9])(?!\.\d))",
    "mail": rf"(?P<mail>{START}(?P<mailbox>[A-Za-z0-9][\w.+-]{{0,63}})@"
    rf"(?![\w.-]{{0,255}}\.(?:{UNITS})\b)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)",
    "owner": r"(?P<home>\\?/(?:home|users|Users)\\?/)(?P<owner>[^\s/\"'\\:,;()<>*?\[\]]+)",
}

# Names that give themselves away by what stands around them.
VALUE = r"\\?[\"']?\s{0,4}[=:]\s{0,4}\\?[\"']?"
HOST_CONTEXTS = (
    # nas01:/export
    re.compile(r"(?<=[\s\"'])([A-Za-z][A-Za-z0-9.-]{0,250}[A-Za-z0-9]):/(?=[A-Za-z0-9_])"),
    re.compile(r"nfs: server (\S+?),? (?:not responding|OK)"),
    # Pong from gpu-018.(none) (Lid 4): time 0.094 ms
    re.compile(r"(?:Pong from|^---|^PING) ([A-Za-z][\w-]*)", re.MULTILINE),
    re.compile(rf"(?:MASTER_ADDR|HOSTNAME|NodeName|NodeHostName){VALUE}([A-Za-z][\w.-]+)"),
)
USER_CONTEXTS = (
    # UserId=alice(1042)   uid=1042(alice)
    re.compile(r"(?:UserId=|uid=\d{1,10}\()([A-Za-z_][\w.-]*)"),
    re.compile(rf"\b(?:USER|LOGNAME|SUDO_USER){VALUE}([A-Za-z_][\w.-]*)"),
    re.compile(r"\bfor user ([A-Za-z_][\w.-]*)"),
    re.compile(PATTERN["owner"].replace("?P<home>", "?:").replace("?P<owner>", "")),
)
SERIAL_CONTEXT = re.compile(
    rf"(?i:serial[ _]?(?:number|no\.?|num)?|\bs/n|\bsn){VALUE}([A-Za-z0-9][\w-]{{5,63}})"
)
DOMAIN_LINE = re.compile(r"^(?:search|domain)\s+(.+)$", re.MULTILINE)


class Learned:
    """The names and serial numbers found so far, and the one pattern that finds them all."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self.users: set[str] = set()
        self.serials: set[str] = set()
        self.domains: set[str] = set()
        self.pattern = re.compile("(?!)")

    def all(self) -> set[str]:
        """Return everything learned, so that no stand-in is one of them."""
        return {h.lower() for h in self.hosts} | self.users | self.serials

    def host(self, name: str) -> None:
        """Take a host's name, with or without its domain."""
        short, _, domain = name.strip().partition(".")
        if domain and not domain.replace(".", "").isdecimal() and not domain.startswith("("):
            self.domains.add(domain.lower())
        if len(short) > 1 and not short.isdecimal() and short.lower() not in WORDS:
            self.hosts.add(short)

    def user(self, name: str) -> None:
        """Take a user's name, unless every system has it."""
        if len(name) > 1 and name not in SYSTEM_USERS and not name.isdecimal():
            self.users.add(name)

    def serial(self, text: str) -> None:
        """Take a serial number; `None` and `0000000` are what boards without one say."""
        text = text.strip()
        long_enough = len(text) >= (8 if text.isdecimal() else 5)
        said = any(c.isdigit() for c in text) and len(set(text)) > 1 and not re.search(r"\s", text)
        if long_enough and said:
            self.serials.add(text)

    def text(self, path: str, text: str) -> None:
        """Look through one file."""
        for pattern in HOST_CONTEXTS:
            for hit in pattern.finditer(text):
                self.host(hit[1])
        for pattern in USER_CONTEXTS:
            for hit in pattern.finditer(f"{path}\n{text}"):
                self.user(hit[1])
        for hit in SERIAL_CONTEXT.finditer(text):
            self.serial(hit[1])
        if SERIAL_FILES.fullmatch(path):
            self.serial(text)
        if path in HOST_FILES:
            self.host(text)
        for hit in DOMAIN_LINE.finditer(text) if path == "/etc/resolv.conf" else ():
            self.domains |= {d.strip(".").lower() for d in hit[1].split() if "." in d.strip(".")}

    def value(self, value: Any, key: str = "") -> None:  # noqa: ANN401 - JSON
        """Look through an answer; *key* is the name under which it stands."""
        if isinstance(value, Mapping):
            for name, inner in value.items():
                self.text("", str(name))
                self.value(inner, name.lower())
        elif isinstance(value, list | tuple):
            for inner in value:
                self.value(inner, key)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            self._leaf(str(value), key)

    def _leaf(self, text: str, key: str) -> None:
        self.text("", text)
        if key in IDENTITY_KEYS:
            self.serial(text)
        elif key in USER_KEYS and re.fullmatch(r"[A-Za-z_][\w.-]*", text):
            self.user(text)
        elif key in HOST_KEYS and re.fullmatch(r"[A-Za-z][\w.-]*", text):
            self.host(text)

    def short(self, name: str) -> str:
        """Return a host's name without its domain."""
        return name.partition(".")[0]

    def stand_in_user(self, names: Names, owner: str) -> str:
        """Return whose home it is; not all that lies in /home is one."""
        return owner if owner in SYSTEM_USERS or owner == "lost+found" else names.user(owner)

    def compile(self, words: Collection[str] = ()) -> None:
        """Make the one pattern out of the forms and all that was learned, but for *words*."""
        self.hosts = {host for host in self.hosts if host.lower() not in words}
        self.users = {user for user in self.users if user.lower() not in words}
        forms = {**PATTERN, **dict(self._learned_forms())}
        self.pattern = re.compile("|".join(f"(?:{form})" for form in forms.values()))

    def _learned_forms(self) -> Iterator[tuple[str, str]]:
        if self.hosts:
            names = "|".join([*_longest(self.hosts), *self._siblings()])
            domain = "|".join([*_longest(self.domains), r"[a-z0-9-]+(?:\.[a-z0-9-]+)+"])
            yield "host", rf"(?P<host>{START}(?i:(?:{names})(?:\.(?:{domain}))?)(?![0-9A-Za-z]))"
        if self.domains:
            domains = "|".join(_longest(self.domains))
            yield (
                "fqdn",
                rf"(?P<fqdn>{START}(?i:(?:[a-z0-9-]{{1,63}}\.){{0,8}}(?:{domains}))(?![0-9A-Za-z]))",
            )
        if users := self.users - WORDS:
            yield "user", rf"(?P<user>{START}(?:{'|'.join(_longest(users))})(?![0-9A-Za-z_]))"
        if self.serials:
            serials = "|".join(map(_bounded, sorted(self.serials, key=_by_length)))
            yield "serial", f"(?P<serial>{serials})"

    def _siblings(self) -> Iterator[str]:
        """Yield the form of names that are numbered alike: gpu-018 beside gpu-017."""
        for host in sorted(self.hosts):
            hit = re.fullmatch(r"(.*[A-Za-z].*?)(\d{2,})", host)
            if hit and len(hit[1]) > 1:
                yield re.escape(hit[1]) + rf"\d{{{len(hit[2])}}}"
        yield r"ip-\d{1,3}(?:-\d{1,3}){3}"


def is_guid(digits: str) -> bool:
    """Tell a GUID from a number, a pointer and an address of a PCI window.

    A GUID begins with its maker's number, a pointer with zeros or with ffff; the borders of a
    window are round.
    """
    head, tail = digits[:4].lower(), digits[-5:].lower()
    return head not in ("0000", "ffff") and tail not in ("00000", "fffff")


def _by_length(text: str) -> tuple[int, str]:
    return -len(text), text


def _longest(words: set[str]) -> list[str]:
    return [re.escape(word) for word in sorted(words, key=_by_length)]


def _bounded(serial: str) -> str:
    """Let a number stand alone only; one with letters is found inside of names, too."""
    if serial.isdecimal():
        return rf"(?<![0-9]){serial}(?![0-9])"
    return re.escape(serial)
