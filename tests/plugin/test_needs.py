"""Marks that say what a test needs skip with the reason, and fail where tools were promised."""

import os

import pytest

from tests.plugin import needs

ABSENT = """
    import pytest
    from tests.plugin import needs

    needs.packages = lambda: {"no-such-tool": ["no-such-package"]}

    @pytest.mark.tool("no-such-tool")
    def test_it():
        assert True
"""
LINE = "needs no-such-tool (apt: no-such-package); run make test TOOLS=install"


def outcome(pytester: pytest.Pytester, source: str) -> tuple[str, str]:
    """Run one test and return how it ended and the text of its report."""
    pytester.makepyfile(source)
    ran = pytester.inline_run("-p", "tests.plugin.needs", "-p", "no:asyncio")
    report = ran.getreports("pytest_runtest_logreport")[0]
    return report.outcome, report.longreprtext


@pytest.fixture(autouse=True)
def _keep_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the tool table back after a run that replaced it, and promise nothing."""
    monkeypatch.setattr(needs, "packages", needs.packages)
    monkeypatch.delenv("GPUDIAG_TOOLS", raising=False)


def test_absent_tool_skips(pytester: pytest.Pytester) -> None:
    """Without a promise a test that lacks its tool is skipped and says what to install."""
    ended, text = outcome(pytester, ABSENT)
    assert (ended, LINE in text) == ("skipped", True)


def test_absent_tool_fails_where_promised(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After TOOLS=install the same skip is a failure with the same line."""
    monkeypatch.setenv("GPUDIAG_TOOLS", "required")
    assert outcome(pytester, ABSENT) == ("failed", LINE)


def test_present_tool_runs(pytester: pytest.Pytester) -> None:
    """A tool of the table that is here lets the test run: util-linux is on every system."""
    source = ABSENT.replace("no-such-tool", "setpriv")
    assert outcome(pytester, source)[0] == "passed"


def test_unknown_tool_is_an_error() -> None:
    """A tool that tests/tools.toml does not list could never be installed, so it is refused."""
    with pytest.raises(pytest.UsageError) as raised:
        needs.lacking("nvidia-smi")
    expected = "mark tool('nvidia-smi'): not in tests/tools.toml; add it there"
    assert str(raised.value) == expected


def test_unobtainable_is_always_skipped(pytester: pytest.Pytester) -> None:
    """What no machine here can run is skipped with its reason, tools or no tools."""
    source = """
        import pytest

        @pytest.mark.unobtainable("no BMC in band")
        def test_it():
            assert False
    """
    ended, text = outcome(pytester, source)
    assert (ended, "unobtainable: no BMC in band" in text) == ("skipped", True)


def test_root_is_needed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that needs root is skipped for others, and says so."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    source = "import pytest\n\n@pytest.mark.root\ndef test_it():\n    assert True\n"
    ended, text = outcome(pytester, source)
    assert (ended, "needs root; run make test as root" in text) == ("skipped", True)
