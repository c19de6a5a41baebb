# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over its debugging pipe: what a page shows, says and fetches."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-headless-shell", "google-chrome", "chromium-browser")
ANSWER_SECONDS_MAX = 60
FIRST_FREE_FD = 10  # above those that the pipe of the debugger must have, 3 and 4


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One browser with one page. Events of the page are kept in `events` as (method, params)."""

    def __init__(self, program):
        self._profile = tempfile.TemporaryDirectory(prefix="mezz-chromium-", ignore_cleanup_errors=True)
        to_browser, self._write = self._pipe()
        self._read, from_browser = self._pipe()
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
                   f"--user-data-dir={self._profile.name}", "about:blank"]
        self._browser = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *command],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last_id = 0
        self._session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write)  # the end of the pipe ends the browser
        try:
            self._browser.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._browser.kill()
            self._browser.wait()
        os.close(self._read)
        self._profile.cleanup()

    @staticmethod
    def _pipe():
        ends = os.pipe()
        high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD) for end in ends)
        for end in ends:
            os.close(end)
        return high

    def _receive(self):
        """The next message, or an error if none comes in time."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise EOFError(f"the browser ended with status {self._browser.wait()}")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _next(self, wanted):
        """Reads until `wanted` accepts a message; events on the way are kept."""
        while True:
            message = self._receive()
            if "method" in message:
                self.events.append((message["method"], message["params"]))
            if wanted(message):
                return message

    def call(self, method, **params):
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._next(lambda received: received.get("id") == self._last_id)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, url, width, height, scheme):
        """Shows the page, whole and settled, as a window of this width and colour scheme does."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        if not any(method == "Page.loadEventFired" for method, _ in self.events):
            self._next(lambda message: message.get("method") == "Page.loadEventFired")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self):
        """Errors that the page raised or logged."""
        return [params for method, params in self.events
                if method == "Runtime.exceptionThrown" or method == "Log.entryAdded" or
                method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert")]

    def fetched(self):
        return [params["request"]["url"] for method, params in self.events if method == "Network.requestWillBeSent"]

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
