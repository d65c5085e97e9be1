"""An action as the actor keeps it for whoever has to finish it: one line of ASCII."""

import msgspec

from remediations.plan.actions import Action


def packed(action: Action) -> str:
    """Return the action as one line; every character of it is printable ASCII."""
    text = msgspec.json.encode(action).decode()
    return "".join(c if " " <= c <= "~" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs)


def unpacked(text: str) -> Action | None:
    """Return the action of that line; None where it is none."""
    try:
        return msgspec.json.decode(text, type=Action)
    except (msgspec.DecodeError, RecursionError):
        return None
