"""Read the plain values of a pickle, and execute nothing: no name in it is ever looked up.

PyTorch writes its flight recorder with a pickler of its own that knows text, numbers, lists,
tuples and dicts (torch/csrc/jit/serialization/pickler.h). A pickle that asks for more is refused
at the opcode that asks.
"""

import struct
from collections.abc import Callable
from typing import Any

MOST_OPCODES = 4_000_000
# A 64-bit number takes 8 bytes, and 9 where its highest bit is set.
WIDEST_NUMBER = 9

MARK = object()


class NotPlainError(Exception):
    """The pickle holds what is no plain value, or is broken; the message says what and where."""


def loads(data: bytes) -> Any:  # noqa: ANN401 - whatever the pickle holds
    """Return what *data* holds: text, numbers, None, lists, tuples and dicts.

    Lists and dicts of it may hold each other. Raises NotPlainError.
    """
    machine = _Machine(data)
    try:
        return machine.run()
    except NotPlainError:
        raise
    except (IndexError, KeyError, TypeError, ValueError, struct.error) as problem:
        detail = f"broken at byte {machine.at}: {type(problem).__name__}"
        raise NotPlainError(detail) from None


class _Machine:
    """The stack that the opcodes work on; `at` is the byte of the opcode at hand."""

    def __init__(self, data: bytes) -> None:
        self.at = 0
        self._data = data
        self._next = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:  # noqa: ANN401 - whatever the pickle holds
        """Work through all opcodes up to the last."""
        for _ in range(MOST_OPCODES):
            self.at = self._next
            code = self._take(1)
            if code == b".":
                return self._stack.pop()
            act = ACTS.get(code)
            if act is None:
                raise NotPlainError(
                    f"opcode 0x{code.hex()} at byte {self.at} asks for more than plain values"
                )
            act(self)
        raise NotPlainError(f"more than {MOST_OPCODES:,} opcodes")

    def _take(self, count: int) -> bytes:
        taken = self._data[self._next : self._next + count]
        if len(taken) < count:
            raise NotPlainError(f"cut short at byte {len(self._data)}")
        self._next += count
        return taken

    def _number(self, form: str) -> Any:  # noqa: ANN401 - a number
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def skip(self, count: int) -> None:
        """Pass over what says nothing of the values."""
        self._take(count)

    def push(self, value: Any) -> None:  # noqa: ANN401 - whatever the pickle holds
        """Put a value on the stack."""
        self._stack.append(value)

    def pop(self) -> Any:  # noqa: ANN401 - whatever the pickle holds
        """Take the value on top."""
        return self._stack.pop()

    def number(self, form: str) -> None:
        """Put a number on the stack."""
        self.push(self._number(form))

    def long(self) -> None:
        """Put a number of some bytes on the stack, the lowest first."""
        size = self._number("<B")
        if size > WIDEST_NUMBER:
            raise NotPlainError(f"a number of {size} bytes at byte {self.at}")
        self.push(int.from_bytes(self._take(size), "little", signed=True))

    def text(self, form: str) -> None:
        """Put text on the stack."""
        self.push(self._take(self._number(form)).decode("utf-8", "backslashreplace"))

    def keep(self, key: int | None) -> None:
        """Remember the value on top."""
        self._memo[len(self._memo) if key is None else key] = self._stack[-1]

    def again(self, form: str) -> None:
        """Put a remembered value on the stack."""
        self.push(self._memo[self._number(form)])

    def key(self, form: str) -> None:
        """Remember the value on top by a number that follows."""
        self.keep(self._number(form))

    def tuple_of(self, count: int) -> None:
        """Make a tuple of the values on top."""
        parts = [self._stack.pop() for _ in range(count)]
        self.push(tuple(reversed(parts)))

    def since_mark(self) -> list[Any]:
        """Take all values down to the mark."""
        items = []
        while (item := self._stack.pop()) is not MARK:
            items.append(item)
        items.reverse()
        return items

    def append(self, items: list[Any]) -> None:
        """Put *items* at the end of the list on top."""
        under = self._stack[-1]
        if not isinstance(under, list):
            raise NotPlainError(f"no list to append to at byte {self.at}")
        under.extend(items)

    def put(self, items: list[Any]) -> None:
        """Put keys and values that alternate into the dict on top."""
        under = self._stack[-1]
        if not isinstance(under, dict) or len(items) % 2:
            raise NotPlainError(f"no dict to put into at byte {self.at}")
        under.update(zip(items[::2], items[1::2], strict=True))

    def pair(self) -> None:
        """Put one key and its value into the dict below them."""
        value, name = self._stack.pop(), self._stack.pop()
        self.put([name, value])


# The opcodes of plain values, by their bytes in the protocols 2 to 5 (PEP 307, 3154, 574).
ACTS: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": lambda m: m.skip(1),  # PROTO
    b"\x95": lambda m: m.skip(8),  # FRAME
    b"(": lambda m: m.push(MARK),
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),  # noqa: FBT003 - it is the value
    b"\x89": lambda m: m.push(False),  # noqa: FBT003 - it is the value
    b"J": lambda m: m.number("<i"),  # BININT
    b"K": lambda m: m.number("<B"),  # BININT1
    b"M": lambda m: m.number("<H"),  # BININT2
    b"\x8a": lambda m: m.long(),  # LONG1
    b"G": lambda m: m.number(">d"),  # BINFLOAT
    b"X": lambda m: m.text("<I"),  # BINUNICODE
    b"\x8c": lambda m: m.text("<B"),  # SHORT_BINUNICODE
    b"\x8d": lambda m: m.text("<Q"),  # BINUNICODE8
    b"q": lambda m: m.key("<B"),  # BINPUT
    b"r": lambda m: m.key("<I"),  # LONG_BINPUT
    b"\x94": lambda m: m.keep(None),  # MEMOIZE
    b"h": lambda m: m.again("<B"),  # BINGET
    b"j": lambda m: m.again("<I"),  # LONG_BINGET
    b"}": lambda m: m.push({}),
    b"]": lambda m: m.push([]),
    b")": lambda m: m.push(()),
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    b"t": lambda m: m.push(tuple(m.since_mark())),
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.since_mark()),
    b"s": lambda m: m.pair(),
    b"u": lambda m: m.put(m.since_mark()),
}
