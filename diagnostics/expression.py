"""Expressions that are compiled when they are first used: a log needs few of the hundred."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

Match = re.Match[str]


class Expression:
    """What `re.compile` returns of the same text; to compile all of them takes 20 ms."""

    search: Callable[..., Match | None]
    match: Callable[..., Match | None]
    fullmatch: Callable[..., Match | None]
    finditer: Callable[..., Iterator[Match]]
    sub: Callable[..., str]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    # What is annotated above is all that may be asked of one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any of the methods
            """Compile it, and return one of its methods; each is found at once from then on."""
            if name not in Expression.__annotations__:
                raise AttributeError(name)
            compiled = re.compile(self.pattern, self._flags)
            vars(self).update({each: getattr(compiled, each) for each in self.__annotations__})
            return vars(self)[name]
