"""A headless Chromium, driven by the DevTools protocol over a pipe: no port, no library."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
WITHIN = 60.0
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class RefusedError(Exception):
    """The browser did not do what it was told."""


class Browser:
    """One page of a browser.

    Args:
        profile: an empty folder for what it keeps.

    Attributes:
        requests: the URLs that the page asked for.
        complaints: what the console said beyond plain messages, and exceptions of scripts.
    """

    def __init__(self, profile: Path) -> None:
        self.profile = profile
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._number = 0
        self._rest = b""
        self._session = ""

    def __enter__(self) -> Self:
        assert CHROMIUM is not None
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4.
        line = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "browser", CHROMIUM, *_FLAGS]
        self._process = subprocess.Popen(
            [*line, f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session = ""
        try:
            self._call("Browser.close")
            self._process.wait(WITHIN)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._read)
            os.close(self._write)

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Have a window of this size in light or dark colours."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Go to a page."""
        self._call("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise's value, too."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Return once an expression in the page is true."""
        deadline = time.monotonic() + WITHIN
        found = False
        while not found:
            assert time.monotonic() < deadline, f"{script} is not true; the page says: {self.text()}"
            # The page decides when to look again: after a frame, or a moment where none is drawn.
            with contextlib.suppress(RefusedError):  # the page was left while it looked
                found = self.run(f"new Promise((done) => setTimeout(() => done(!!({script})), 50))")
        return found

    def text(self, selector: str = "body") -> str:
        """What is to be read in an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def click(self, selector: str) -> None:
        """Click on an element that is there."""
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def key(self, name: str) -> None:
        """Press a key that has no text, such as `ArrowRight`."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Take a picture of the window, or of all the page."""
        data = self._call("Page.captureScreenshot", captureBeyondViewport=whole, optimizeForSpeed=False)[
            "data"
        ]
        path.write_bytes(base64.b64decode(data))

    def hide(self, *, hidden: bool) -> None:
        """Have the page think that its tab is hidden."""
        self.run(
            f"Object.defineProperty(document, 'hidden', {{configurable: true, value: {json.dumps(hidden)}}});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RefusedError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._read], [], [], WITHIN)[0], "the browser does not answer"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        raw, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(raw)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        method, what = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(what["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and what["type"] in {"error", "warning", "assert"}:
            self.complaints.append(json.dumps(what["args"])[:500])
        elif method == "Log.entryAdded" and what["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")
