"""The files that NCCL reads beside an environment, as their user reads them."""

import contextlib
import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import nccl_conf, processes
from collectors.helpers.children.loop import Refused

NOBODY = pwd.getpwnam("nobody")


@contextlib.contextmanager
def process(*argv: str, user: int | None = None, **environ: str) -> Iterator[int]:
    """Run a process that waits until its input ends."""
    with subprocess.Popen(
        argv or ("cat",), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, user=user
    ) as started:
        # The kernel lets go of the parent before it has laid out the environment.
        while environ and not Path(f"/proc/{started.pid}/environ").read_bytes():
            os.sched_yield()
        yield started.pid


def passable(folder: Path) -> None:
    """Let any user come to it."""
    for one in (folder, *folder.parents):
        if not one.stat().st_mode & 0o001:
            one.chmod(0o755)


def told(pid: int) -> dict[str, Any]:
    """Return what the verb says of a process's first file, the node's own left out."""
    files = nccl_conf.nccl_conf([pid])[str(pid)]["files"]
    return next(iter(one for one in files if one["path"] != nccl_conf.SYSTEM), {})


def test_a_named_file_goes_before_the_home(tmp_path: Path) -> None:
    """NCCL_CONF_FILE stands in place of ~/.nccl.conf, and its path is not told."""
    conf = tmp_path / "site.conf"
    conf.write_text("# of the site\nNCCL_DEBUG=WARN\nNCCL_DEBUG=TRACE\nSECRET=x\nNCCL_IB_HCA=a=b\n")
    with process(NCCL_CONF_FILE=str(conf)) as pid:
        expected = {
            "path": "$NCCL_CONF_FILE",
            "settings": {"NCCL_DEBUG": "WARN", "NCCL_IB_HCA": "a=b"},
        }
        assert expected == told(pid)


def test_a_file_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    """Most ranks have none."""
    with process(NCCL_CONF_FILE=str(tmp_path / "none.conf")) as pid:
        assert {} == told(pid)


@pytest.mark.root
def test_a_file_of_another_user_is_not_read(tmp_path: Path) -> None:
    """A name in an environment must not make root read what the user could write elsewhere."""
    conf = tmp_path / "x.conf"
    conf.write_text("NCCL_DEBUG=WARN\n")
    os.chown(conf, NOBODY.pw_uid, NOBODY.pw_gid)
    with process(NCCL_CONF_FILE=str(conf)) as pid:
        expected = {"path": "$NCCL_CONF_FILE", "refused": "it belongs to another user"}
        assert expected == told(pid)


@pytest.mark.root
def test_a_file_that_the_user_may_not_read_is_not_read(tmp_path: Path) -> None:
    """The rank's rights are those of its user, whoever asks."""
    conf = tmp_path / "root.conf"
    conf.write_text("NCCL_DEBUG=WARN\n")
    conf.chmod(0o600)
    passable(tmp_path)
    with process(user=NOBODY.pw_uid, NCCL_CONF_FILE=str(conf)) as pid:
        expected = {"path": "$NCCL_CONF_FILE", "refused": "Permission denied"}
        assert expected == told(pid)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "relative", "climbing"])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, kind: str) -> None:
    """Neither a link nor a pipe is followed, and no path that is not plain."""
    place = tmp_path / kind
    if kind == "link":
        place.symlink_to("/etc/hostname")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    path = {"relative": "etc/nccl.conf", "climbing": f"{tmp_path}/../x"}.get(kind, str(place))
    why = {
        "link": "Too many levels of symbolic links",
        "fifo": "it is no regular file",
        "folder": "it is no regular file",
    }
    with process(NCCL_CONF_FILE=path) as pid:
        expected = {
            "path": "$NCCL_CONF_FILE",
            "refused": why.get(kind, "its path is not absolute"),
        }
        assert expected == told(pid)


def test_the_rank_shares_the_network_of_this_host() -> None:
    """A plain process sees the interfaces that we see."""
    with process() as pid:
        assert nccl_conf.nccl_conf([pid])[str(pid)]["host_network"] is True


@pytest.mark.root
@pytest.mark.tool("unshare")
def test_a_namespace_of_its_own_is_told() -> None:
    """What runs in a container with a network of its own has other interfaces."""
    with process("unshare", "--net", "sh", "-c", "echo up; cat") as pid:
        wait = subprocess.run(
            ["sh", "-c", f"until grep -q ^sh /proc/{pid}/comm; do sleep 0.01; done"],
            check=True,
            timeout=20,
        )
        assert (0, False) == (
            wait.returncode,
            nccl_conf.nccl_conf([pid])[str(pid)]["host_network"],
        )


UNIT = Path(__file__).parents[3] / "deploy" / "systemd" / "gpudiag-reader.service"
ASK = """
import json, sys
from collectors.helpers.children import nccl_conf
print(json.dumps(nccl_conf.nccl_conf([int(sys.argv[1])])))
"""


@pytest.mark.root
@pytest.mark.tool("setpriv")
def test_the_units_rights_are_enough(tmp_path: Path) -> None:
    """The reader's unit may take a user's rights: what it is allowed suffices to read the file."""
    line = next(one for one in UNIT.read_text().splitlines() if one.startswith("CapabilityB"))
    rights = ",".join(f"+{cap[4:].lower()}" for cap in line.partition("=")[2].split())
    conf = tmp_path / "own.conf"
    conf.write_text("NCCL_DEBUG=WARN\n")
    os.chown(conf, NOBODY.pw_uid, NOBODY.pw_gid)
    conf.chmod(0o600)
    passable(tmp_path)
    with process(user=NOBODY.pw_uid, NCCL_CONF_FILE=str(conf)) as pid:
        argv = ("setpriv", f"--bounding-set=-all,{rights}", sys.executable, "-c", ASK, str(pid))
        said = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout
        found = json.loads(said)[str(pid)]["files"][0]

    assert {"path": "$NCCL_CONF_FILE", "settings": {"NCCL_DEBUG": "WARN"}} == found


CHROOT = "import os, sys; os.chroot(sys.argv[1]); print('in', flush=True); sys.stdin.read()"


@pytest.mark.root
def test_a_container_has_homes_of_its_own(tmp_path: Path) -> None:
    """Where a rank sees another root, its home and its files are the ones below that root."""
    for name, text in {
        "etc/passwd": "root:x:0:0::/home/t:/bin/sh\n",
        "etc/nccl.conf": "NCCL_IB_HCA=mlx5\n",
        "home/t/.nccl.conf": "NCCL_DEBUG=INFO\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    argv = (sys.executable, "-c", CHROOT, str(tmp_path))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"in\n"
        found = nccl_conf.nccl_conf([started.pid])[str(started.pid)]["files"]

    expected = [
        {"path": "~/.nccl.conf", "settings": {"NCCL_DEBUG": "INFO"}},
        {"path": "/etc/nccl.conf", "settings": {"NCCL_IB_HCA": "mlx5"}},
    ]
    assert expected == found


def test_an_ended_process_is_left_out() -> None:
    """It ended between two questions."""
    with process("true") as pid:
        pass

    assert {} == nccl_conf.nccl_conf([pid])


@pytest.mark.parametrize("pids", [[0], [-4], [1 << 22], [True]])
def test_only_pids_are_asked_about(pids: list[int]) -> None:
    """The caller is trusted with numbers of processes only."""
    with pytest.raises(Refused):
        nccl_conf.nccl_conf(pids)


@given(st.text(max_size=300))
def test_only_allowed_names_come_of_a_file(text: str) -> None:
    """Whatever stands in a file, what leaves is a setting by its name, and short."""
    found = nccl_conf.settings(text)

    assert all(processes.NAMES.fullmatch(name) for name in found)
    assert all(len(value) <= nccl_conf.VALUE_CAP for value in found.values())


@given(st.dictionaries(st.sampled_from(["NCCL_DEBUG", "NCCL_ALGO"]), st.text("ab=#:^,0 ")))
def test_a_file_says_what_was_written(settings: dict[str, str]) -> None:
    """Lines of NAME=value are read as they stand."""
    text = "".join(f"{name}={value}\n" for name, value in settings.items())

    assert settings == nccl_conf.settings(text)
