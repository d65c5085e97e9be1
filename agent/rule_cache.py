"""The compiled rules of an earlier run, kept where nobody else can write.

A database is machine code to the library that reads it, so that only a file of our own is believed:
owned by us, 0600, in a folder of ours that is 0700, reached without any symbolic link.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from diagnostics.rules.index import Index

MAGIC = b"gpudiag rules 1\n"
DIGEST = 32
LARGEST = 64 << 20
# One for each set of rules that is in use: this node's, and those of recordings.
KEPT = 4
SYSTEM = "/var/cache/gpudiag"


class Kept(msgspec.Struct, frozen=True):
    """What is kept: the index of all rules and the two databases of their anchors."""

    key: str
    index: Index
    database: bytes
    kernel: bytes


def load(key: str) -> Kept | None:
    """Return what was kept under *key*; None where it is absent, damaged or not to be trusted."""
    try:
        with _folder(make=False) as folder:
            data = _read(folder, _name(key))
        body = data[len(MAGIC) + DIGEST :]
        if data[: len(MAGIC) + DIGEST] != MAGIC + _digest(body):
            return None
        kept = msgspec.msgpack.decode(body, type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    return kept if kept.key == key else None


def store(kept: Kept) -> None:
    """Keep it, whole or not at all; where that cannot be, the next run compiles again."""
    body = msgspec.msgpack.encode(kept)
    with contextlib.suppress(OSError), _folder(make=True) as folder:
        _write(folder, _name(kept.key), MAGIC + _digest(body) + body)
        _prune(folder)


def place() -> str | None:
    """Return the folder: the system's for root, else the user's own; None where there is none."""
    if os.geteuid() == 0:
        return SYSTEM
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        home = os.environ.get("HOME", "")
        if not home.startswith("/"):
            return None
        base = f"{home}/.cache"
    return f"{base.rstrip('/')}/gpudiag"


@contextlib.contextmanager
def _folder(*, make: bool) -> Iterator[int]:
    """Open the folder if it is ours alone and no link leads to it; raises OSError else."""
    path = place()
    if path is None:
        raise FileNotFoundError
    if make:
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103 - its mode holds for the last folder alone
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.path.realpath(path) != path or not _ours(os.fstat(folder)):
            raise PermissionError
        yield folder
    finally:
        os.close(folder)


def _ours(seen: os.stat_result) -> bool:
    return seen.st_uid == os.geteuid() and not seen.st_mode & 0o077


def _read(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123 - of a descriptor
        seen = os.fstat(file.fileno())
        alone = stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1
        if not alone or not _ours(seen) or seen.st_size > LARGEST:
            raise PermissionError
        return file.read(LARGEST)


def _write(folder: int, name: str, data: bytes) -> None:
    part = f"{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(part, flags, 0o600, dir_fd=folder), "wb") as file:  # noqa: PTH123 - as above
            file.write(data)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def _prune(folder: int) -> None:
    """Keep the newest few; what a killed run left behind goes too."""
    names = [name for name in os.listdir(folder) if name.startswith("rules-")]
    age = {name: os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns for name in names}
    for name in sorted(names, key=age.__getitem__)[:-KEPT]:
        os.unlink(name, dir_fd=folder)


def _name(key: str) -> str:
    return f"rules-{key}"


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=DIGEST).digest()
