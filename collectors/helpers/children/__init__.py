"""What runs inside helper processes: standard library, pynvml and psutil alone, no asyncio.

A request is one JSON line `{"verb": ..., "args": {...}}`; the answer is one JSON line, either
`{"ok": ...}` or `{"missing": cause, "detail": ...}`. Verbs are fixed, arguments are typed by the
functions that take them; no verb runs a command or opens a path that the caller made up, but for
`files`, which the agent asks of a child with its own rights.
"""
