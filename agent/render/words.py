"""Numbers, times and glyphs as people read them."""

import datetime as dt

from agent.render.language import say

GLYPHS = {
    "fault": "✗",
    "warning": "!",
    "unknown": "?",
    "ok": "✓",
    "follows": "›",  # noqa: RUF001 - one cell wide in every locale, unlike the arrows
    "none": "-",
}
ASCII = {"fault": "X", "warning": "!", "unknown": "?", "ok": "+", "follows": ">", "none": "-"}

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MINUTE, HOUR, DAY = 60, 3600, 86400


def duration(seconds: float) -> str:
    """Return 0.3 s, 42 min, 1 h 21 min or 12 d."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < DAY:
        hours, minutes = divmod(int(seconds) // MINUTE, MINUTE)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{seconds / DAY:.0f} d"


def local(iso: str) -> dt.datetime:
    """Return the reader's local time of a document's UTC time."""
    return dt.datetime.fromisoformat(iso).astimezone()


def moment(iso: str) -> str:
    """Return `30 Nov 02:22:10 +08:00`."""
    at = local(iso)
    offset = at.strftime("%z")
    time = f"{at:%H:%M:%S} {offset[:3]}:{offset[3:5]}"
    return say("{day} {month} {time}", day=at.day, month=say(MONTHS[at.month - 1]), time=time)


def clock(iso: str) -> str:
    """Return `02:10:51.208`, local."""
    at = local(iso)
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03}"


def times(count: int) -> str:
    """Return `once` or `212 times`."""
    return say("once") if count == 1 else say("{count:,} times", count=count)


def sentence(clause: str) -> str:
    """Return *clause* with a capital letter and a full stop."""
    return capital(clause) + ("." if clause.isascii() else say("."))


def capital(clause: str) -> str:
    """Return *clause* with a capital letter."""
    return clause[:1].upper() + clause[1:]
