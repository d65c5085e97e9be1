"""Install the real tools of tests/tools.toml on Debian or Ubuntu, as root, starting no service.

    python3 deploy/dev/install_tools.py

Only what is missing is installed; a machine that has all of it is left alone and needs no
network. Nothing is ever removed for it: apt-get stops instead.
"""

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tests" / "tools.toml"
# Debian Policy 9.11.1: invoke-rc.d asks this script, and 101 forbids the action.
POLICY = Path("/usr/sbin/policy-rc.d")
FORBID = "#!/bin/sh\n# gpudiag: make test TOOLS=install\nexit 101\n"
PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"


def missing(packages: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the tools that are not on this machine, with their packages."""
    return {tool: names for tool, names in packages.items() if not shutil.which(tool, path=PATH)}


def check_machine(tools: dict[str, list[str]]) -> None:
    """Refuse where apt-get cannot be used, naming what a person would have to install."""
    family = platform.freedesktop_os_release()
    if "debian" not in f"{family.get('ID')} {family.get('ID_LIKE')}".split():
        sys.exit(
            f"tools: {family.get('PRETTY_NAME', 'this system')} is neither Debian nor Ubuntu; "
            f"install by hand: {', '.join(tools)}",
        )
    if os.geteuid() != 0:
        sys.exit(f"tools: installing {', '.join(tools)} needs root; run as root, or without TOOLS")


@contextmanager
def no_service_starts() -> Iterator[None]:
    """Forbid packages to start their services, and put back what the machine had."""
    kept = POLICY.with_name("policy-rc.d.before-gpudiag")
    if POLICY.exists() and POLICY.read_text(errors="replace") != FORBID:
        POLICY.rename(kept)
    POLICY.write_text(FORBID)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()
        if kept.exists():
            kept.rename(POLICY)


def apt_get(*words: str) -> None:
    """Run apt-get without questions, and show what it said only when it fails."""
    argv = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", *words]
    ran = subprocess.run(
        argv,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode:
        print(ran.stdout, flush=True)
        sys.exit(f"tools: {' '.join(argv)}: failed with status {ran.returncode}; see above")


def main() -> None:
    """Install what is missing, then see that every tool is there."""
    packages: dict[str, list[str]] = tomllib.loads(TOOLS.read_text())["packages"]
    if not (lacking := missing(packages)):
        print(f"tools: all {len(packages)} are here")
        return
    check_machine(lacking)
    wanted = sorted({name for names in lacking.values() for name in names})
    print("tools: installing " + " ".join(wanted), flush=True)
    with no_service_starts():
        apt_get("update")
        apt_get("install", "--yes", "--no-install-recommends", "--no-remove", *wanted)
    if still := missing(lacking):
        sys.exit(f"tools: {', '.join(still)} not found after installing {' '.join(wanted)}")


if __name__ == "__main__":
    main()
