"""Settings in the environment: `GPUDIAG_AGENT_WALK_S=60` is `walk_s = 60` of the table [agent].

They go before the file. Only single values can be given so: lists of tables, tools and limits of
checks belong in the file, where a person sees them together.
"""

from collections.abc import Mapping
from typing import Any

from agent.cli.errors import Mistake

PREFIX = "GPUDIAG_"
TABLES = ("walk", "agent", "hook", "report", "privacy", "expect")
# Variables of commands, which are no settings of the file.
COMMANDS = ("GPUDIAG_SOCKET", "GPUDIAG_DEBUG")
FLEET = "GPUDIAG_FLEET_"
# What the project's own tests are steered by; they start gpudiag with all that they were given.
TESTS = (
    "GPUDIAG_BLESS",
    "GPUDIAG_CAPTURES",
    "GPUDIAG_FACTS",
    "GPUDIAG_KILLS",
    "GPUDIAG_NATIVE_SCENARIO",
    "GPUDIAG_TOOLS",
)

Table = dict[str, dict[str, Any]]


def names(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that are meant as settings."""
    return sorted(
        name
        for name in environment
        if name.startswith(PREFIX)
        and not name.startswith(FLEET)
        and name not in (*COMMANDS, *TESTS)
    )


def given(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that the environment gives: variable by `table.key`.

    Raises Mistake where a variable names none, or its value cannot be one.
    """
    return {key: name for name in names(environment) for key in (_key(name),)}


def laid_over(table: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return *table*, as it was read from a file, with the environment's settings over it."""
    over = dict(table)
    for key, name in given(environment).items():
        value = checked(key, name, environment[name])
        head, _, last = key.partition(".")
        # A file whose table is no table is told of by who checks the whole.
        if isinstance(over.get(head, {}), dict):
            over[head] = {**over.get(head, {}), last: value}
    return over


def checked(key: str, name: str, text: str) -> object:
    """Return the value of a variable, as the file would hold it; raises Mistake."""
    from agent.settings.model import File  # noqa: PLC0415 - pydantic, where somebody gives a setting

    table, _, last = key.partition(".")
    value: object = tuple(part.strip() for part in text.split(",")) if key == "hook.drain" else text
    read = getattr(File.read({table: {last: value}}, name), table)
    found: object = getattr(read, last)
    return found


def _key(name: str) -> str:
    from agent.settings.model import File  # noqa: PLC0415 - see above
    from diagnostics.knowledge.pages import near  # noqa: PLC0415 - for mistakes alone

    known = {
        f"{PREFIX}{table}_{key}".upper(): f"{table}.{key}"
        for table in TABLES
        for key in type(getattr(File(), table)).model_fields
    }
    if name not in known:
        close = near(name, known)
        hint = f"did you mean {close}?" if close else "gpudiag config show lists the settings"
        raise Mistake(f"environment: {name}: unknown key", hint)
    return known[name]
