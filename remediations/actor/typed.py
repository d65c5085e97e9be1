"""What a caller may put into a question: short lines and bounded lists, of the named types."""

from collections.abc import Callable, Mapping
from typing import Any

from collectors.helpers.children.loop import Refused

MOST_TEXT = 500
MOST_ITEMS = 64


def typed(call: Callable[..., Any], hints: Mapping[str, Any]) -> Callable[..., Any]:
    """Return *call* with the signature against which the loop checks arguments, all of them due."""

    def asked(**args: Any) -> Any:  # noqa: ANN401 - JSON
        if missing := sorted(hints.keys() - args.keys()):
            raise Refused("denied", f"{', '.join(missing)} must be given")
        for name, value in args.items():
            _bounded(name, value)
        return call(**args)

    asked.__annotations__ = dict(hints)
    return asked


def _bounded(name: str, value: object) -> None:
    """Refuse text that is no short line, also as an item of a list, and a list that is long."""
    items = value if isinstance(value, list) else [value]
    if len(items) > MOST_ITEMS:
        raise Refused("denied", f"{name} must be at most {MOST_ITEMS} items")
    for item in items:
        if isinstance(item, str):
            plain({name: item})


def plain(texts: Mapping[str, str], most: int = MOST_TEXT) -> None:
    """Refuse what is not one line, or a long one."""
    for name, text in texts.items():
        if len(text) > most or not text.isprintable():
            raise Refused("denied", f"{name} must be one line of at most {most} characters")
