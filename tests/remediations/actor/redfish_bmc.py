"""A BMC that speaks Redfish, with an ETag on what it holds, and faults on demand."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any, Self

from aiohttp import encode_basic_auth, web

PATH = "/redfish/v1/Chassis/1/Power"
THERMAL = "/redfish/v1/Chassis/1/Thermal"
WELL = {"State": "Enabled", "Health": "OK"}
USER, WORD = "capper", "not-a-secret"


class RedfishBmc:
    """One chassis in a thread of its own; `faults` maps a method to what it does instead."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.exception = "LogEventOnly"
        self.drawn = 5000
        self.version = 1
        self.faults: dict[str, str] = {}
        self.patched: list[tuple[str | None, Any]] = []
        self.inlet: float | None = 26.0
        self.supply = "OK"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """Where the Power resource lies."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    def way(self, folder: Path) -> dict[str, str]:
        """Return what the site says of it."""
        secret = folder / "credentials"
        secret.write_text(f"{USER}:{WORD}\n")
        secret.chmod(0o600)
        return {"url": self.url, "credentials": str(secret), "sha256": ""}

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_get(PATH, self._get)
        app.router.add_get(THERMAL, self._thermal)
        app.router.add_patch(PATH, self._patch)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self._ready.set()

    @property
    def etag(self) -> str:
        """The tag of what it holds now."""
        return f'W/"{self.version}"'

    async def _get(self, request: web.Request) -> web.StreamResponse:
        if (odd := await self._odd(request)) is not None:
            return odd
        body = {
            "@odata.id": PATH,
            "PowerControl": [
                {
                    "PowerConsumedWatts": self.drawn,
                    "PowerLimit": {
                        "LimitInWatts": self.limit,
                        "LimitException": self.exception,
                        "CorrectionInMs": 50,
                    },
                },
                {"Name": "GPU tray"},
            ],
            "PowerSupplies": [
                {"Name": "PSU1", "Status": {"State": "Enabled", "Health": self.supply}},
                {"Name": "PSU2", "Status": {"State": "Absent"}},
            ],
        }
        return web.json_response(body, headers={"ETag": self.etag})

    async def _thermal(self, request: web.Request) -> web.StreamResponse:
        if (odd := await self._odd(request)) is not None:
            return odd
        inlet = {"Name": "Inlet Temp", "ReadingCelsius": self.inlet, "Status": WELL}
        inlet |= {"UpperThresholdNonCritical": 38, "UpperThresholdCritical": 43}
        gpu = {"Name": "Tray 1", "PhysicalContext": "GPU", "ReadingCelsius": 61, "Status": WELL}
        fan = {"FanName": "FAN3", "Reading": 7400, "ReadingUnits": "RPM", "Status": WELL}
        fan |= {"LowerThresholdCritical": 600}
        other = {"Name": "CPU1 Temp", "PhysicalContext": "CPU", "ReadingCelsius": 70}
        return web.json_response({"Temperatures": [inlet, gpu, other], "Fans": [fan]})

    async def _patch(self, request: web.Request) -> web.StreamResponse:
        if (odd := await self._odd(request)) is not None:
            return odd
        body = await request.json()
        self.patched.append((request.headers.get("If-Match"), body))
        if self.faults.get("PATCH") == "between":
            self.version += 1
        if request.headers.get("If-Match") != self.etag:
            return web.json_response({}, status=412)
        if self.faults.get("PATCH") != "deaf":
            wanted = body["PowerControl"][0]["PowerLimit"]
            self.limit = wanted["LimitInWatts"]
            self.exception = wanted.get("LimitException", self.exception)
        if self.faults.get("PATCH") == "hard":
            self.exception = "HardPowerOff"
        self.version += 1
        return web.Response(status=204)

    async def _odd(self, request: web.Request) -> web.StreamResponse | None:
        auth = request.headers.get("Authorization", "")
        if auth != encode_basic_auth(USER, WORD):
            return web.json_response({"error": {"message": "who are you?"}}, status=401)
        fault = self.faults.get(request.method, "")
        if fault.isdigit():
            message = {"Message": "The service refuses\x1b[31m this."}
            body = {"error": {"@Message.ExtendedInfo": [message]}}
            return web.json_response(body, status=int(fault))
        if fault == "slow":
            return await self._dripped(request)
        if fault == "torn":
            return web.Response(text='{"PowerControl": [{"PowerLimit": {"Lim')
        if fault == "cut":
            return await self._cut(request)
        if fault == "moved":
            raise web.HTTPFound("http://192.0.2.7/")
        return None

    async def _dripped(self, request: web.Request) -> web.StreamResponse:
        """Answer a byte at a time, for ever."""
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b" ")
            await asyncio.sleep(0.05)

    async def _cut(self, request: web.Request) -> web.StreamResponse:
        """Promise more than is sent, and hang up."""
        answer = web.StreamResponse(headers={"Content-Length": "4000"})
        await answer.prepare(request)
        await answer.write(json.dumps({"PowerControl": []}).encode())
        assert request.transport is not None
        request.transport.close()
        return answer
