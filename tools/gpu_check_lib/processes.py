"""Programs with a limit, of which nothing is left: all that they start is known by a token in its environment."""

import contextlib
import dataclasses
import os
import pathlib
import secrets
import signal
import subprocess
import threading
import time

TOKEN = "GPU_CHECK_TOKEN"
END_S = 8  # from SIGTERM to SIGKILL
LONGEST_TEXT = 200_000  # characters of one program's output that are kept


@dataclasses.dataclass
class Done:
    code: int | None  # None: it ran past its limit
    out: str
    err: str
    seconds: float

    @property
    def text(self):
        return self.out + self.err


class Running:
    """A program that was started; `wait` has to follow."""

    def __init__(self, argv, env, cwd, log):
        self.argv, self.log, self.began = argv, log, time.monotonic()
        self.out, self.err = cwd / f"out-{secrets.token_hex(4)}", cwd / f"err-{secrets.token_hex(4)}"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        return read(self.out) + read(self.err)

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def wait(self, limit):
        code = None
        try:
            code = self.process.wait(max(0.0, limit))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        done = Done(code, read(self.out), read(self.err), time.monotonic() - self.began)
        self.log.add(self.argv, done)
        return done


def read(path):
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace")[:LONGEST_TEXT]
    return ""


class Log:
    """What was run and what it printed, in the order in which it ended."""

    def __init__(self):
        self.lock, self.parts = threading.Lock(), []

    def add(self, argv, done):
        code = "ran past its limit" if done.code is None else f"exit code {done.code}"
        with self.lock:
            self.parts.append(f"$ {' '.join(map(str, argv))}\n# {code}, {done.seconds:.1f} s\n{done.out}"
                              + (f"# stderr\n{done.err}" if done.err else ""))

    def text(self):
        with self.lock:
            return "\n".join(self.parts)


def left_over(token):
    """Processes that we started and that live on."""
    needle, found = f"{TOKEN}={token}".encode(), []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if needle in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def end_all(token):
    for _ in range(20):
        pids = left_over(token)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
