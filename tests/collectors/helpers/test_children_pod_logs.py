"""The log of a pod is what its containers printed, without what the runtime adds."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import pod_logs
from collectors.helpers.children.loop import Refused

POD = "5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11"
AT = "2026-11-30T02:11:09.120551432Z"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let pods write below a folder of this test."""
    monkeypatch.setattr(pod_logs, "FOLDER", str(tmp_path))
    place = tmp_path / f"ml_trainer-0_{POD}" / "trainer"
    place.mkdir(parents=True)
    return place


def read(entry: dict[str, Any], start: int = -1) -> dict[str, Any]:
    """Read a log that was listed."""
    return pod_logs.pod_log(entry["pod"], entry["device"], entry["inode"], start)


def test_the_newest_log_of_a_container_is_read_as_it_was_printed(folder: Path) -> None:
    """A line that the runtime wrote in parts is one line again."""
    (folder / "0.log").write_text(f"{AT} stdout F of the run before\n")
    (folder / "0.log").touch()
    new = folder / "1.log"
    new.write_text(f"{AT} stdout F step: 1\n{AT} stderr P step\n{AT} stderr F : 2\n")
    (entry,) = pod_logs.pod_logs([POD])
    assert (str(new), "step: 1\nstep: 2\n") == (entry["path"], read(entry)["text"])


def test_it_goes_on_where_the_last_piece_ended(folder: Path) -> None:
    """Bytes are counted in the file, whatever is left out of them."""
    log = folder / "0.log"
    log.write_text(f"{AT} stdout F step: 1\n")
    (entry,) = pod_logs.pod_logs([POD])
    first = read(entry)
    with log.open("a") as more:
        more.write(f"{AT} stdout F step: 2\n")
    assert "step: 2\n" == read(entry, first["next"])["text"]


def test_a_link_in_its_place_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """Who can write there must not have us read elsewhere."""
    (tmp_path / "secret").write_text("of root\n")
    (folder / "0.log").symlink_to(tmp_path / "secret")
    assert [] == pod_logs.pod_logs([POD])


@pytest.mark.parametrize("pod", ["", "*", "../../etc", f"{POD}/x", POD.upper()])
def test_only_ids_of_pods_are_taken(pod: str) -> None:
    """The caller names no path."""
    with pytest.raises(Refused):
        pod_logs.pod_logs([pod])


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"))))
def test_what_was_printed_comes_back(lines: list[str]) -> None:
    """Whatever a program prints in whole lines."""
    written = "".join(f"{AT} stdout F {line}\n" for line in lines)
    assert "".join(f"{line}\n" for line in lines).encode() == pod_logs.printed(written.encode())
