"""Answer one JSON line with one JSON line, for as long as the other side is there."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, BinaryIO, get_args, get_origin, get_type_hints

REQUEST_CAP = 1 << 20
ANSWER_CAP = 32 << 20
GREETING = b'{"ok": "gpudiag reader"}\n'

Verb = Callable[..., Any]
Verbs = Mapping[str, Verb]


class Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """The question has no answer; `cause` is one of the causes of Missing."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


def answer(verbs: Verbs, line: bytes) -> bytes:
    """Return the answer line for one request line; never raises for what the request says."""
    try:
        request = json.loads(line)
        verb, args = verbs[request["verb"]], request["args"]
        _check(verb, args)
        reply: dict[str, Any] = {"ok": verb(**args)}
    except Refused as no:
        reply = {"missing": no.cause, "detail": no.detail}
    except PermissionError as no:
        reply = {"missing": "denied", "detail": f"{no.filename or 'call'}: {no.strerror}"}
    except Exception as problem:  # noqa: BLE001 - the child must answer, whatever its verb met
        reply = {"missing": "crashed", "detail": repr(problem)[:500]}
    text = json.dumps(reply).encode()
    if len(text) > ANSWER_CAP:
        text = json.dumps({"missing": "garbled", "detail": f"answer of {len(text)} bytes"}).encode()
    return text + b"\n"


def _check(verb: Verb, args: dict[str, Any]) -> None:
    """Refuse arguments that are not of the types which the verb's signature names."""
    hints = _hints(verb)
    for name, value in args.items():
        hint = hints.get(name, type(None))
        outer, inner = get_origin(hint) or hint, get_args(hint)
        items = value if inner and isinstance(value, list) else []
        # bool is an int to isinstance, and is never meant where a number is asked for.
        fits = isinstance(value, outer) and not (outer is int and isinstance(value, bool))
        if not fits or not all(type(item) is inner[0] for item in items):
            raise Refused("denied", f"{name}={value!r:.80} is no argument of this verb")


@cache
def _hints(verb: Verb) -> dict[str, Any]:
    return get_type_hints(verb)


def refusal(cause: str, detail: str) -> bytes:
    """Return the line that says no before a question was asked."""
    return json.dumps({"missing": cause, "detail": detail}).encode() + b"\n"


def serve(verbs: Verbs, source: BinaryIO, sink: BinaryIO, most: int = REQUEST_CAP) -> None:
    """Answer until *source* ends; a request has at most so many bytes."""
    while line := source.readline(most):
        sink.write(answer(verbs, line))
        sink.flush()
