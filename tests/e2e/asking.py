"""Ask the actor of a box as its units' user does: prints one line of JSON.

python asking.py VERB [NAME=JSON ...]
"""

import asyncio
import json
import sys

from remediations.act.hand import ActorHand, Done


async def main() -> None:
    words = (word.partition("=") for word in sys.argv[2:])
    args = {name: json.loads(value) for name, _, value in words}
    answer = await ActorHand().ask(sys.argv[1], args)
    told = {"ok": answer.value} if isinstance(answer, Done) else {"why": answer.why}
    sys.stdout.write(json.dumps(told) + "\n")


asyncio.run(main())
