"""A real Chromium without a window, spoken to by the DevTools protocol over two pipes
(--remote-debugging-pipe: JSON, each message ended by a NUL)."""

import base64
import collections
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time
import unittest

ALONE = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")
SPOKEN_TO = ("--disable-dev-shm-usage", "--force-color-profile=srgb", "--remote-debugging-pipe")
ANSWER_LIMIT_S = 60


def program():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if not path:
        raise unittest.SkipTest("chromium is not installed: run `tools/setup draw`")
    return path


class Browser:
    def __init__(self, folder):
        path = program()
        read_ours, write_theirs = os.pipe()
        read_theirs, write_ours = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{read_theirs} 4>&{write_theirs}', "sh", path, *ALONE, *SPOKEN_TO,
             f"--user-data-dir={pathlib.Path(folder) / 'profile'}", "about:blank"],
            pass_fds=(read_theirs, write_theirs), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)}, start_new_session=True)
        os.close(read_theirs)
        os.close(write_theirs)
        self.read, self.write = read_ours, write_ours
        self.unread, self.last_id = b"", 0
        self.events = collections.deque()
        self.pages = []

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.read)
        os.close(self.write)

    def next_message(self, deadline):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.read], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self.read, 1 << 20) if ready else b""
            if not part:
                raise AssertionError("chromium does not answer")
            self.unread += part
        message, _, self.unread = self.unread.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while True:
            answer = self.next_message(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def page(self, width=1280, height=800, dark=False, scale=1):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        self.pages.append(page)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height, scale)
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        return page

    def close_pages(self):
        while self.pages:
            self.pages[0].close()
        self.events.clear()


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)

    def close(self):
        self.browser.pages.remove(self)
        self.call("Page.close")

    def open(self, url):
        self.call("Page.navigate", url=url)

    def run(self, script):
        """What a JavaScript expression is worth, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self, element):
        return self.run(f"document.getElementById({json.dumps(element)}).textContent")

    def until(self, script, limit=20):
        """The first true value of the expression, asked every 50 ms."""
        deadline = time.monotonic() + limit
        while not (value := self.run(script)):
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {limit} s: {script}")
            time.sleep(0.05)
        return value

    def press(self, key, text=None):
        """A key, by its name in KeyboardEvent.key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40, "Home": 36, "End": 35, " ": 32}
        if text is None and (len(key) == 1 or key == "Enter"):
            text = "\r" if key == "Enter" else key
        event = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        if text:
            event["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, text):
        for letter in text:
            self.press(letter)

    def screenshot(self, path, whole=True):
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))

    def complaints(self):
        """Errors and warnings of the console, uncaught exceptions, what the page's policy has refused."""
        self.run("1")  # all events before its answer have come
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, told = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(told["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(told["args"]))
            elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                found.append(told["entry"]["text"])
        return found

    def requests(self):
        """The addresses of all that the page has asked for."""
        self.run("1")
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"]
