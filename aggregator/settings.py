"""The settings file, /etc/gpudiag/aggregator.toml; options of the command win over it."""

import ipaddress
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aggregator.errors import Mistake

DEFAULT = "/etc/gpudiag/aggregator.toml"
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[!-~]+$")]


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tls(Table):
    """PEM files; with `client_ca` every client has to show a certificate of it."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class Place(Table):
    """Where nodes stand: names or globs, the rack, the rails that they hang on.

    `switch`, `feed` of power, `storage` and `image` are what else one cause can lie in.
    """

    nodes: tuple[str, ...] = Field(min_length=1, max_length=10_000)
    rack: Name | None = None
    rails: tuple[Name, ...] = ()
    switch: Name | None = None
    feed: Name | None = None
    storage: Name | None = None
    image: Name | None = None

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield kind and name of each."""
        if self.rack is not None:
            yield "rack", self.rack
        yield from (("rail", rail) for rail in self.rails)

    def shared(self) -> Iterator[tuple[str, str]]:
        """Yield kind and name of all that these nodes have in common."""
        if self.rack is not None:
            yield "rack", self.rack
        for kind in ("switch", "feed", "storage", "image"):
            if (name := getattr(self, kind)) is not None:
                yield kind, name


class Settings(Table):
    """All that can be said; times in days."""

    listen: str = "127.0.0.1:9837"
    data: Path = Path("/var/lib/gpudiag-aggregator")
    insecure: bool = False
    keep_days: float = Field(default=30.0, gt=0, le=3650)
    tls: Tls | None = None
    places: tuple[Place, ...] = ()

    def address(self) -> tuple[str, int]:
        """Return host and port, or say in one line why this address is not listened on."""
        host, _, port = self.listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004 - the last port
            raise Mistake(f"listen: {self.listen} is no ADDRESS:PORT", "like 127.0.0.1:9837")
        if self.tls is None and not self.insecure and not loopback(host):
            raise Mistake(
                f"listen: {host} can be reached from elsewhere, and there is no TLS",
                "give [tls] certificate and key, or --insecure",
            )
        return host, int(port)


def loopback(host: str) -> bool:
    """Return whether only this machine reaches *host*."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load(path: str | None, **options: object) -> Settings:
    """Return the settings of *path* under *options*; the default file may be absent."""
    where = path or DEFAULT
    try:
        table = tomllib.loads(Path(where).read_text("utf-8"))
    except FileNotFoundError:
        if path is not None:
            raise Mistake(f"cannot read {path}: no such file", "give the file's path") from None
        table = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise Mistake(f"{where}: {problem}", "correct the file and repeat the command") from None
    given = {key: value for key, value in options.items() if value is not None}
    return _checked(table | given, where)


def _checked(table: dict[str, Any], where: str) -> Settings:
    try:
        return Settings.model_validate(table)
    except ValidationError as problem:
        first = problem.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        raise Mistake(f"{where}: {key}: {what}", "correct the key and repeat the command") from None
