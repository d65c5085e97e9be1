"""The modules that hold verbs: each adds its own to the registry when it is imported."""

from importlib import import_module

MODULES: tuple[str, ...] = (
    "abandoned",
    "bug_report",
    "caps",
    "gpus",
    "processes",
    "reboot",
    "requeue",
    "services",
    "slurm",
)


def load() -> None:
    """Import them all."""
    for name in MODULES:
        import_module(f"remediations.actor.{name}")
