"""What is promised about the distribution: pins, dependencies, build marks, licence."""

import ast
import functools
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("agent", "aggregator", "collectors", "diagnostics", "remediations")
IMPORT_NAMES = {
    "backports-zstd": "backports.zstd",
    "import-linter": "importlinter",
    "nvidia-ml-py": "pynvml",
    "openapi-spec-validator": "openapi_spec_validator",
    "pytest-asyncio": "pytest_asyncio",
}


def canonical(name: str) -> str:
    """Return a project name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required() -> dict[str, list[str]]:
    """Return the direct dependencies by canonical name, core first, then each extra."""
    groups = {"core": PROJECT["dependencies"]} | PROJECT["optional-dependencies"]
    return {
        group: [canonical(re.split(r"[<>=!~;\[ ]", line)[0]) for line in lines]
        for group, lines in groups.items()
    }


def pins() -> dict[str, str]:
    """Return constraints.txt; a line that is no exact pin is an error."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            pin = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][0-9A-Za-z.]*)", line)
            assert pin, f"constraints.txt: not an exact pin: {line!r}"
            found[canonical(pin[1])] = pin[2]
    return found


def rows() -> dict[str, list[str]]:
    """Return the cells of each row of docs/dependencies.md by canonical name."""
    lines = (ROOT / "docs" / "dependencies.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return {canonical(row[0]): row for row in cells if row[0].strip("-") not in ("", "name")}


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the dotted names that one file imports, wherever in it they stand."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(name: str) -> str:
    """Return the packages that import a distribution, or "tests" where only they do."""
    module = IMPORT_NAMES.get(name, name)
    found = [
        top
        for top in (*PACKAGES, "tests")
        for path in (ROOT / top).rglob("*.py")
        if any(i == module or i.startswith(module + ".") for i in imports(path))
    ]
    return ", ".join(sorted(set(found) - {"tests"})) or (found or ["nothing yet"])[0]


def test_every_dependency_is_pinned() -> None:
    """Each direct dependency, core and extra, has an exact pin, so that installs repeat."""
    unpinned = {n for names in required().values() for n in names} - set(pins())
    assert unpinned == set()


def test_constraints_name_no_index() -> None:
    """Where packages come from is the site's choice: the pins name no host and no option."""
    text = (ROOT / "constraints.txt").read_text()
    assert re.findall(r"https?:|--|index", text) == []


def test_every_dependency_has_its_row() -> None:
    """Each direct dependency says why it is here, and the page lists no other."""
    names = sorted(name for group in required().values() for name in group)
    assert sorted(rows()) == names


def test_rows_are_whole() -> None:
    """A row has name, why, licence, import cost and where it is imported; none is empty."""
    broken = [name for name, row in rows().items() if len(row) != 5 or not all(row)]
    assert broken == []


def test_rows_say_who_imports() -> None:
    """The last cell is what the code does today, so that a dead dependency is seen."""
    said = {name: row[-1] for name, row in rows().items()}
    assert said == {name: importers(name) for name in said}


@pytest.mark.parametrize("package", PACKAGES)
def test_build_mark(package: str) -> None:
    """The packages carry pyproject's name and version, so that a mixed installation is seen."""
    module = importlib.import_module(package)
    assert f"{PROJECT['name']} {PROJECT['version']}" == module.BUILD


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_shipped(package: str) -> None:
    """Each package tells type checkers that it has types."""
    assert (ROOT / package / "py.typed").read_text() == ""


def test_licence_is_whole() -> None:
    """LICENSE is the Apache licence, version 2.0, from its title to the end of its appendix."""
    text = (ROOT / "LICENSE").read_text()
    parts = ("Version 2.0, January 2004", "END OF TERMS AND CONDITIONS", "limitations under")
    assert [part for part in parts if part not in text] == []
