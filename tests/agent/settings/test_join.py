"""The one file with which a node joins: a token, and behind it where the aggregator is."""

from pathlib import Path

import pytest

from agent.cli.errors import Mistake
from agent.settings.join import Join, joined, parse
from agent.settings.load import Report

URL = "https://agg-1.lab-7.example:9837"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Join("")),
        ("\n", Join("")),
        ("gpudiag_a_b\n", Join("gpudiag_a_b")),
        (f"gpudiag_a_b {URL}\n", Join("gpudiag_a_b", URL)),
        (f"gpudiag_a_b\n{URL}\n# kept by site\n", Join("gpudiag_a_b", URL)),
    ],
)
def test_parse(text: str, expected: Join) -> None:
    """The first word is the token, the second one the address; both may be absent."""
    assert expected == parse(text)


def test_the_file_alone_does(tmp_path: Path) -> None:
    """Without a word in the settings the node reports to where its join file says."""
    (tmp_path / "join").write_text(f"gpudiag_a_b {URL}\n")
    assert URL == joined(Report(join_token=str(tmp_path / "join"))).aggregator


def test_settings_win(tmp_path: Path) -> None:
    """An aggregator that the settings name is the one."""
    (tmp_path / "join").write_text(f"gpudiag_a_b {URL}\n")
    given = Report(join_token=str(tmp_path / "join"), aggregator="https://agg-2")
    assert given == joined(given)


@pytest.mark.parametrize("text", [None, "gpudiag_a_b\n"])
def test_nothing_said(tmp_path: Path, text: str | None) -> None:
    """Without a file, or with a token alone, the node reports to nobody."""
    if text is not None:
        (tmp_path / "join").write_text(text)
    assert None is joined(Report(join_token=str(tmp_path / "join"))).aggregator


@pytest.mark.parametrize("url", ["agg-1", "ftp://agg-1", "https://me:word@agg-1", "https://"])
def test_no_address(tmp_path: Path, url: str) -> None:
    """What is no address is one line that names the file."""
    (tmp_path / "join").write_text(f"gpudiag_a_b {url}\n")
    with pytest.raises(Mistake, match=r"join: .* is no address of an aggregator"):
        joined(Report(join_token=str(tmp_path / "join")))


def test_unreadable(tmp_path: Path) -> None:
    """A file that is there and cannot be read is said, not passed over."""
    (tmp_path / "join").mkdir()
    with pytest.raises(Mistake, match=r"cannot read .*join: Is a directory"):
        joined(Report(join_token=str(tmp_path / "join")))
