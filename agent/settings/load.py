"""Read the settings file; without one, the shipped defaults hold."""

import os
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from agent.cli.errors import Mistake
from agent.settings.environment import laid_over, names
from collectors.facts.wanted import Expect, Peer, Roles, Wanted
from diagnostics.catalog import WALK
from diagnostics.check import Limits
from diagnostics.knowledge import pages

# Takes text, path and environment, and returns the whole file as a table, or raises Mistake.
Check = Callable[[str, str, Mapping[str, str]], dict[str, Any]]


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """How the daemon works: seconds between walks, and where Prometheus asks ("": nowhere)."""

    walk_s: float = 30.0
    metrics: str = "127.0.0.1:9836"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """To whom the daemon reports (None: to nobody), and what of a job's text it may tell."""

    aggregator: str | None = None
    join_token: str = "/etc/gpudiag/join-token"  # noqa: S105 - a path
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    spool_mib: int = 256
    job_text: Literal["none", "masked", "full"] = "masked"


class Kubernetes(msgspec.Struct, frozen=True, kw_only=True):
    """The API server that knows this node (None: none does), and the token for it."""

    api: str | None = None
    node: str | None = None
    token: str = "/etc/gpudiag/kubernetes/token"  # noqa: S105 - a path
    ca: str = "/etc/gpudiag/kubernetes/ca.crt"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective settings: what the file says over what is shipped.

    `rules` are the site's files of rules, name and text of each; they are read apart. `drain` are
    the faults for which the scheduler's prolog and epilog may take the node out.
    """

    peers: tuple[Peer, ...] = ()
    roles: Roles = Roles()
    sample_s: float = 1.0
    expect: Expect = Expect()
    tools: Mapping[str, str] = {}
    limits: Mapping[str, Limits] = {}
    rules: tuple[tuple[str, str], ...] = ()
    agent: Agent = Agent()
    report: Report = Report()
    kubernetes: Kubernetes = Kubernetes()
    drain: frozenset[str] = frozenset()

    def wanted(self, logs: tuple[str, ...] = (), *, ask_driver: bool = False) -> Wanted:
        """Return what a walk is to look at."""
        return Wanted(
            peers=self.peers,
            roles=self.roles,
            logs=logs,
            sample_s=self.sample_s,
            expect=self.expect,
            rules=self.rules,
            ask_driver=ask_driver,
        )


def whole(text: str, path: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the whole checked file with the environment over it; raises Mistake."""
    from agent.settings.model import File  # noqa: PLC0415 - pydantic costs start-up, a file may be absent

    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Mistake(f"{path}: {problem}", "correct the line and repeat the command") from None
    return File.read(laid_over(table, environment), path).model_dump()


def load(path: str, *, must_exist: bool = False, check: Check = whole) -> Settings:
    """Return the settings of *path* with those of the environment over them.

    An absent file means the defaults, unless it was named. *check* is who checks the file.
    """
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        if must_exist:
            raise Mistake(
                f"cannot read {path}: no such file", "give the settings file's path"
            ) from None
        return parse("", path, os.environ, check)
    except (OSError, UnicodeDecodeError) as problem:
        raise Mistake(f"cannot read {path}: {problem}", "make it readable UTF-8 text") from None
    settings = parse(text, path, os.environ, check)
    if settings.tools:
        _trusted(path)
    return settings


def parse(
    text: str, path: str, environment: Mapping[str, str] | None = None, check: Check = whole
) -> Settings:
    """Return the settings that *text* and *environment* state; *path* is what an error names."""
    given = {name: environment[name] for name in names(environment)} if environment else {}
    if not text.strip() and not given:
        return Settings()
    file = check(text, path, given)
    return Settings(
        peers=msgspec.convert(file["network"]["peers"], tuple[Peer, ...]),
        roles=msgspec.convert(file["network"]["roles"], Roles),
        sample_s=file["walk"]["sample_s"],
        expect=msgspec.convert(file["expect"], Expect),
        tools=file["tools"],
        limits=_limits(file["checks"], path),
        agent=msgspec.convert(file["agent"], Agent),
        report=msgspec.convert({**file["report"], **file["privacy"]}, Report),
        kubernetes=msgspec.convert(file["kubernetes"], Kubernetes),
        drain=_drain(tuple(file["hook"]["drain"]), path),
    )


def _drain(faults: tuple[str, ...], path: str) -> frozenset[str]:
    known = pages.load() if faults else {}
    for fault in faults:
        if fault not in known:
            close = pages.near(fault, known)
            hint = f"did you mean {close}?" if close else "gpudiag explain faults lists them"
            raise Mistake(f"{path}: hook.drain: no such fault: {fault}", hint)
    return frozenset(faults)


def _limits(tables: Mapping[str, Mapping[str, Any]], path: str) -> dict[str, Limits]:
    known = {check.name: check for check in WALK}
    limits = {}
    for name, table in tables.items():
        check = known.get(name)
        if check is None or check.limits is None:
            raise Mistake(
                f'{path}: table [checks."{name}"]: no check of this name has limits',
                "gpudiag explain checks lists the checks",
            )
        try:
            limits[name] = msgspec.convert(table, check.limits)
        except msgspec.ValidationError as problem:
            raise Mistake(
                f'{path}: table [checks."{name}"]: {problem}',
                f"gpudiag explain {name} shows its limits",
            ) from None
    return limits


def _trusted(path: str) -> None:
    """Refuse a tool table that others can write: its programs run with our rights."""
    seen = Path(path).stat()
    if seen.st_uid not in (0, os.geteuid()) or seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Mistake(
            f"{path}: [tools] is refused: others can write this file",
            f"chown root {path}; chmod go-w {path}",
        )
