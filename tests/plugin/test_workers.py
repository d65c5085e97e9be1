"""What goes to the workers first is there, and stays whole."""

import pytest

from tests.plugin import workers


def test_what_is_named_is_there() -> None:
    """A module that was renamed would go to the workers last, and nobody would see it."""
    assert [] == [str(path) for path in workers.RANKS if not path.exists()]


def test_named_modules_come_first(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order in which they are named; tests of one module stay together, in their order."""
    one = "def test_a():\n    pass\ndef test_b():\n    pass\n"
    paths = pytester.makepyfile(test_1=one), pytester.makepyfile(test_2=one)
    last = pytester.makepyfile(test_3=one)
    monkeypatch.setattr(workers, "RANKS", {last: 0, paths[1]: 1})
    ran = pytester.inline_run("-p", "tests.plugin.workers", "-p", "no:asyncio")
    reports = ran.getreports("pytest_runtest_logreport")
    assert [f"test_{n}.py::test_{one}" for n in (3, 2, 1) for one in "ab"] == [
        report.nodeid for report in reports if report.when == "call"
    ]
