"""What a test needs of the machine: real tools, root, or something no machine here has."""

import os
import shutil
import tomllib
from functools import cache
from pathlib import Path

import pytest

SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"


@cache
def packages() -> dict[str, list[str]]:
    """Return tests/tools.toml: each real tool with the Debian packages that bring it."""
    text = (Path(__file__).parents[1] / "tools.toml").read_text()
    table: dict[str, list[str]] = tomllib.loads(text)["packages"]
    return table


def lacking(tool: str) -> str | None:
    """Return the line that says what to install, or None where the tool is here."""
    if tool not in packages():
        raise pytest.UsageError(f"mark tool({tool!r}): not in tests/tools.toml; add it there")
    if shutil.which(tool, path=f"{os.environ.get('PATH', '')}:{SYSTEM_FOLDERS}"):
        return None
    names = " ".join(packages()[tool])
    return f"needs {tool} (apt: {names}); run make test TOOLS=install"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before any fixture is made; lacking a tool fails where tools were promised."""
    for mark in item.iter_markers("unobtainable"):
        pytest.skip(f"unobtainable: {mark.args[0]}")
    for mark in item.iter_markers("tool"):
        for line in filter(None, map(lacking, mark.args)):
            if os.environ.get("GPUDIAG_TOOLS") == "required":
                pytest.fail(line, pytrace=False)
            pytest.skip(line)
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root; run make test as root")
