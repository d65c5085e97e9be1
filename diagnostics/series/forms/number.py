"""A number as logs print it."""

LONGEST = 32
NUMBER = (
    r"[-+]?(?:\d{1,20}(?:,\d{3}){0,6}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,4})?"
    r"|(?i:nan|inf(?:inity)?)(?![a-zA-Z]))"
)
# nanotron: consumed_tokens: 20.5M | elapsed_time_per_iteration_ms: 1.23K
TIMES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
ZEROS = bytes.maketrans(b"123456789", b"000000000")
# How many shapes of lines a form remembers.
SHAPES = 2_048
# Where a number stands in a line.
Span = tuple[int, int]


def shape(text: str) -> bytes:
    """Return a line with all its digits alike: in lines of one shape numbers stand alike."""
    return text.encode("utf-8", "surrogatepass").translate(ZEROS)


def shaped(shape: bytes) -> str:
    """Return the shape as text, to be looked at in place of its lines."""
    return shape.decode("utf-8", "surrogatepass")


def read(text: str) -> float | None:
    """Return the number, None where it is none; thousands may be parted by commas."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def measure(value: float | None) -> float | None:
    """Return *value* where it can be a time, a rate or a count: finite and not negative."""
    return value if value is not None and 0 <= value < float("inf") else None


def above_zero(value: float | None) -> float | None:
    """Return *value* where it can be a time or a rate that tells: finite and positive."""
    return measure(value) or None


def count(value: float | None) -> int | None:
    """Return a whole number that fits a counter."""
    return int(value) if value is not None and 0 <= value < 10**12 else None
