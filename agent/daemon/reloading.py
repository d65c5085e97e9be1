"""The settings that hold, read anew on SIGHUP; wrong ones never replace them."""

import asyncio
from collections.abc import Callable

from agent.cli.errors import Mistake
from agent.daemon.log import Log
from agent.daemon.notify import Notify
from agent.daemon.past import KeptPast
from agent.settings.load import Settings
from collectors.facts.wanted import Wanted


class Reloading:
    """Keeps the settings; `problem` says why those that were read last do not hold, or not yet."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[], Settings],
        past: KeptPast | None,
        notify: Notify,
        log: Log,
    ) -> None:
        self.settings = settings
        self.problem: str | None = None
        self.asked = asyncio.Event()
        self._read = read
        self._past = past
        self._notify = notify
        self._log = log

    def wanted(self) -> Wanted:
        """Return what the settings that hold now ask of collectors."""
        return self.settings.wanted()

    async def run(self) -> None:
        """Read the settings whenever somebody asks for it."""
        while True:
            await self.asked.wait()
            self.asked.clear()
            self._notify.reloading()
            await self._reload()
            self._notify.ready(self.problem or "settings read")

    async def _reload(self) -> None:
        """Read the settings anew; those that hold now stay where the new ones are wrong."""
        try:
            # Files of the site on the root's own disk, read for a person who waits.
            read = await asyncio.to_thread(self._read)  # noqa: TID251 - see above
            if self._past is not None:
                await asyncio.to_thread(self._past.read)  # noqa: TID251 - same
        except Mistake as mistake:
            self.problem = f"settings not taken over, the old ones hold: {mistake.what}"
            said = {"problem": mistake.what, "help": mistake.hint}
            self._log.error("settings_refused", **said)
            return
        self.problem = None
        if _fixed(read) != _fixed(self.settings):
            self.problem = "agent.metrics, report and tools hold from the next start on"
        self.settings = read
        self._log.info("settings_read", note=self.problem)


def _fixed(settings: Settings) -> object:
    return settings.agent.metrics, settings.report, settings.tools
