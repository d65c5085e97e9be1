"""What root allows: which remedy may act, and who may ask for it.

The agent reads it to decide and the actor to enforce, so nothing but the standard library is used.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from math import inf
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

PATH = "/etc/gpudiag/acting.toml"
Mode = Literal["observe", "advise", "act"]
MODES: tuple[Mode, ...] = get_args(Mode)
Proved = Literal["hardware", "real-tool", "recorded", "documented"]

# How each remedy was shown to work, in the order of trust: what comes first is turned on first.
PROVED: Mapping[str, Proved] = {
    "gpu.power_cap": "documented",
    "slurm.drain": "real-tool",
    "slurm.resume": "real-tool",
    "slurm.requeue": "real-tool",
    "kubernetes.cordon": "documented",
    "kubernetes.uncordon": "documented",
    "kubernetes.evict": "documented",
    "process.end_orphan": "documented",
    "persistenced.restart": "documented",
    "gpu.reset": "documented",
    "fabric_manager.restart": "documented",
    "slurm.reboot": "real-tool",
}
ENOUGH = ("real-tool", "hardware")


class PolicyError(ValueError):
    """The file cannot be used; the message names file and key, `hint` says what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Heat:
    """How heat is held: by the driver's power limit, or by `locked_clocks` instead.

    `dcmi` or `redfish` let the BMC's own power limit be used as well. `redfish_credentials` is the
    path of a root-owned file that holds `user:password`, `redfish_sha256` the fingerprint of the
    BMC's certificate. `standing_limit_w` is the limit that the site itself keeps on every GPU, or
    on those of each model by the driver's name of it.
    """

    dcmi: bool = False
    redfish: bool = False
    redfish_url: str = ""
    redfish_credentials: str = ""
    redfish_sha256: str = ""
    locked_clocks: bool = False
    standing_limit_w: float | Mapping[str, float] = 0.0

    def standing_mw(self, model: str | None) -> int | None:
        """Return the limit that the site keeps on GPUs of this model; None where it keeps none."""
        said = self.standing_limit_w
        watts = said.get(model or "", 0.0) if isinstance(said, Mapping) else said
        return round(watts * 1000) if watts > 0 else None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Kubernetes:
    """`evict` lets pods of a running job be evicted, too; of a dead one they always may be."""

    evict: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What the file says; what it does not say is advised and never done.

    `path` is the file, None where there is none.
    """

    path: str | None = None
    users: tuple[str, ...] = ("gpudiag",)
    allow_unproved: frozenset[str] = frozenset()
    mode: Mapping[str, Mode] = dataclasses.field(default_factory=dict)
    heat: Heat = Heat()
    kubernetes: Kubernetes = Kubernetes()

    def of(self, remedy: str) -> Mode:
        """Return the mode of *remedy*."""
        return self.mode.get(remedy, "advise")

    def proved(self, remedy: str) -> bool:
        """Return whether *remedy* was shown to work well enough, or the site allows it by name."""
        return PROVED.get(remedy) in ENOUGH or remedy in self.allow_unproved


TABLES: Mapping[str, type] = {"heat": Heat, "kubernetes": Kubernetes}
# Of a key that takes more than one kind of value.
KINDS = {"standing_limit_w": "number of W or a table of such"}
KEYS = ("users", "allow_unproved", "mode", *TABLES)


def parse(text: str, path: str = PATH) -> Policy:
    """Return the policy that *text* states; raises PolicyError, which names *path* and the key."""
    try:
        said: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise PolicyError(f"{path}: no TOML: {problem}", "correct the line") from None
    _known(said, KEYS, path, "")
    return Policy(
        path=path,
        users=_names(said.get("users", ["gpudiag"]), path, "users"),
        allow_unproved=_unproved(said.get("allow_unproved", []), path),
        mode=_modes(said.get("mode", {}), path),
        heat=Heat(**_table(said, "heat", path)),
        kubernetes=Kubernetes(**_table(said, "kubernetes", path)),
    )


def _known(table: Mapping[str, Any], keys: tuple[str, ...], path: str, where: str) -> None:
    for key in table:
        if key not in keys:
            raise PolicyError(f"{path}: {where}{key}: unknown key", f"known are {', '.join(keys)}")


def _names(value: object, path: str, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise PolicyError(f"{path}: {key}: not a list of names", f'write {key} = ["NAME"]')
    return tuple(value)


def _unproved(value: object, path: str) -> frozenset[str]:
    names = _names(value, path, "allow_unproved")
    for name in names:
        _remedy(name, path, "allow_unproved")
    return frozenset(names)


def _modes(value: object, path: str) -> dict[str, Mode]:
    if not isinstance(value, dict):
        raise PolicyError(f"{path}: mode: not a table", 'write [mode] and "slurm.drain" = "act"')
    for name, mode in value.items():
        # Without quotes TOML reads a dotted name as a table in a table.
        if isinstance(mode, dict):
            inner = f"{name}.{next(iter(mode), '')}"
            raise PolicyError(f"{path}: mode.{name}: not a mode", f'write "{inner}" in quotes')
        _remedy(name, path, "mode")
        if mode not in MODES:
            hint = f"a mode is {', '.join(MODES[:-1])} or {MODES[-1]}"
            raise PolicyError(f"{path}: mode.{name}: no such mode: {mode!r:.40}", hint)
    return dict(value)


def _remedy(name: str, path: str, key: str) -> None:
    if name not in PROVED:
        hint = f"the remedies are {', '.join(PROVED)}"
        raise PolicyError(f"{path}: {key}: no such remedy: {name!r:.80}", hint)


def _table(said: Mapping[str, Any], name: str, path: str) -> dict[str, Any]:
    table, of = said.get(name, {}), TABLES[name]
    if not isinstance(table, dict):
        raise PolicyError(f"{path}: {name}: not a table", f"write [{name}]")
    hints = get_type_hints(of)
    _known(table, tuple(hints), path, f"{name}.")
    for key, value in table.items():
        if not _fits(value, hints[key]):
            kind = KINDS.get(key) or getattr(hints[key], "__name__", str(hints[key]))
            raise PolicyError(f"{path}: {name}.{key}: not a {kind}: {value!r:.40}", "correct it")
    return {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type expression
    if isinstance(hint, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if get_origin(hint) is Mapping:
        of = get_args(hint)[1]
        return isinstance(value, dict) and all(_fits(one, of) for one in value.values())
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(_fits(one, get_args(hint)[0]) for one in value)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and -inf < value < inf  # type: ignore[operator]  # number says so
    return type(value) is hint
