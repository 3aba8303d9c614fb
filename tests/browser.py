"""Headless Chromium for tests, by its own protocol over two pipes: no driver and no package is needed."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

#: The names that Debian and others give to it.
NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
#: Seconds that an answer may take.
PATIENCE = 60


class Missing(Exception):
    """Chromium is missing and could not be installed."""


def program():
    """The path of Chromium. If it is missing, it is installed from Debian's packages."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        script = pathlib.Path(__file__).with_name("chromium.sh")
        done = subprocess.run(["bash", script], capture_output=True, text=True)
        found = shutil.which("chromium")
        if found is None:
            raise Missing(f"no Chromium, and tests/chromium.sh did not install it: {done.stderr.strip()[-500:]}")
    return found


class Browser:
    """A running browser, which records the errors of pages."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="obcut-browser-", ignore_cleanup_errors=True)
        command = [
            program(),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            f"--user-data-dir={self.folder.name}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        there, self.writer = os.pipe()
        self.reader, back = os.pipe()
        # The browser reads its orders from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{there} 4>&{back}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(there, back),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Sends a command and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            assert left > 0, "the browser does not answer"
            if select.select([self.reader], [], [], left)[0]:
                part = os.read(self.reader, 1 << 20)
                assert part, "the browser has ended"
                self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, width=1280, height=900, dark=False):
        """Opens a file in a window of some size, light or dark."""
        self.events.clear()
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while not any(event["method"] == "Page.loadEventFired" for event in self.events if "method" in event):
            assert time.monotonic() < end, "the page does not load"
            self.events.append(self._next())

    def run(self, script):
        """Runs an expression in the page and returns its value."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def mouse(self, kind, x, y):
        """Moves or presses the mouse at a place of the window."""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def click(self, selector):
        """Clicks in the middle of an element, as a hand does."""
        x, y = self.place(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def place(self, selector):
        """The middle of an element, scrolled into sight."""
        # Two frames later the page has noticed that it was scrolled.
        script = f"""(async () => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center", behavior: "instant"}});
            for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
            const b = e.getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2];
        }})()"""
        return self.run(script)

    def key(self, key, code, text=""):
        """Presses a key."""
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path):
        """Keeps a picture of the whole page."""
        self.run("window.scrollTo({top: 0, behavior: 'instant'})")
        image = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(image))

    def faults(self):
        """Errors and warnings of the console, exceptions, and requests that leave the page."""
        self.run("new Promise((done) => setTimeout(done, 50))")
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(params)
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:")):
                    found.append(url)
        return found

    def close(self):
        """Ends the browser."""
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
        os.close(self.writer)
        os.close(self.reader)
        self.process.wait()
        self.folder.cleanup()
