"""How long ago something was, as a person would say it."""

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


def span(seconds: float) -> str:
    """Return a duration in the unit that a person would use."""
    for unit, size in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
