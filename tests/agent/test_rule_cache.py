"""The compiled rules are kept where nobody else can write, and believed only from there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import knowledge, rule_cache
from agent.rule_cache import Kept
from diagnostics.rules.index import Index

KEPT = Kept(key="k1", index=Index((), ()), database=b"compiled", kernel=b"more")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep it in a folder of the test, for root too."""
    place = tmp_path / "cache" / "gpudiag"
    monkeypatch.setattr(rule_cache, "place", lambda: str(place))
    return place


def test_what_was_stored_is_loaded(folder: Path) -> None:
    """It is whole, 0600 in a folder 0700, and nothing else is left there."""
    rule_cache.store(KEPT)
    (file,) = folder.iterdir()

    assert KEPT == rule_cache.load("k1")
    assert (0o700, 0o600) == (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777)


def test_only_a_few_are_kept(folder: Path) -> None:
    """Rules that changed leave nothing behind for ever."""
    for number in range(10):
        rule_cache.store(Kept(key=f"k{number}", index=KEPT.index, database=b"", kernel=b""))

    assert rule_cache.KEPT == len(list(folder.iterdir()))


def _linked_file(folder: Path) -> None:
    file = next(folder.iterdir())
    file.rename(folder.parent / "elsewhere")
    file.symlink_to(folder.parent / "elsewhere")


def _linked_folder(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


def _linked_parent(folder: Path) -> None:
    folder.parent.rename(folder.parent.parent / "elsewhere")
    folder.parent.symlink_to(folder.parent.parent / "elsewhere")


def _two_names(folder: Path) -> None:
    os.link(next(folder.iterdir()), folder.parent / "second")


def _other_bytes(folder: Path) -> None:
    file = next(folder.iterdir())
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def _other_key(folder: Path) -> None:
    file = next(folder.iterdir())
    rule_cache.store(Kept(key="k2", index=KEPT.index, database=b"other", kernel=b""))
    (folder / "rules-k2").rename(file)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: next(folder.iterdir()).unlink(),
        lambda folder: next(folder.iterdir()).write_bytes(b""),
        lambda folder: next(folder.iterdir()).write_bytes(b"gpudiag rules 1\n" + b"x" * 99),
        lambda folder: next(folder.iterdir()).chmod(0o640),
        lambda folder: folder.chmod(0o770),
        _other_bytes,
        _other_key,
        _linked_file,
        _linked_folder,
        _linked_parent,
        _two_names,
    ],
)
def test_what_cannot_be_trusted_is_not_used(folder: Path, spoil: Callable[[Path], None]) -> None:
    """Absent, damaged, open to others, or reached over a link: the rules are compiled anew."""
    rule_cache.store(KEPT)
    spoil(folder)

    assert rule_cache.load("k1") is None


@pytest.mark.root
def test_anothers_file_is_not_used(folder: Path) -> None:
    """What another user owns is not read, by root least of all, and not written to either."""
    rule_cache.store(KEPT)
    os.chown(next(folder.iterdir()), 12345, 12345)
    theirs = rule_cache.load("k1")
    os.chown(folder, 12345, 12345)
    rule_cache.store(Kept(key="k2", index=KEPT.index, database=b"", kernel=b""))

    assert (None, 1) == (theirs, len(list(folder.iterdir())))


def test_without_a_place_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be written, or there is no home, each run compiles; none fails."""
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file" / "gpudiag"), None):
        monkeypatch.setattr(rule_cache, "place", lambda place=place: place)
        rule_cache.store(KEPT)

        assert rule_cache.load("k1") is None


def test_root_keeps_to_the_systems_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's environment does not lead root anywhere; a user's own is where XDG has it."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/u1042/cache")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    root = rule_cache.place()
    monkeypatch.setattr("os.geteuid", lambda: 1042)

    assert ("/var/cache/gpudiag", "/home/u1042/cache/gpudiag") == (root, rule_cache.place())


def test_a_kept_database_finds_what_a_new_one_does(folder: Path) -> None:
    """The second run reads no rule before a line hits it, and says the same."""
    knowledge.known.cache_clear()
    first = knowledge.known().text
    knowledge.known.cache_clear()
    second = knowledge.known()
    line = b"RuntimeError: CUDA error: out of memory\n"
    found = [
        [k.anchors.anchors(held) for _, _, held in k.anchors.hits(line)]
        for k in (first, second.text)
    ]
    knowledge.known.cache_clear()

    assert (1, True) == (len(list(folder.iterdir())), found[0] == found[1] != [])
