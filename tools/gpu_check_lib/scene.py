"""What every check gets: where things are, how to start them, and how long that may take."""

import contextlib
import json
import os
import pathlib
import random
import re
import secrets
import shlex
import shutil
import signal
import socket
import tempfile
import threading
import time

from .processes import TOKEN, Log, Running, end_all, left_over

HERE = pathlib.Path(__file__).resolve().parent
RANKS = HERE / "ranks.py"
# Ranks on one GPU are hosts of their own to NCCL, so they talk over sockets: through the loopback interface.
OVER_SOCKETS = {"NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "=lo"}
PORTS = 15000, 32768
LEAST_END_S, MOST_END_S = 10, 45  # for a run to end, whatever is left of the time
RECORDS = {"TORCH_FR_BUFFER_SIZE": "2000", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}


class NotHere(Exception):
    """This check cannot be done on this machine; the text says why."""


class Scene:
    def __init__(self, toprun, python, torch_facts, rehearsal, ends, extra_env):
        self.toprun, self.python, self.torch, self.rehearsal = toprun, python, torch_facts, rehearsal
        self.ends = ends  # on the monotonic clock
        self.token = secrets.token_hex(8)
        self.log = Log()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
        self.kept_folders = []  # (name, folder) whose files are evidence
        self.lock = threading.Lock()
        self.stopped = False
        self.environment = {**os.environ, TOKEN: self.token, "OMP_NUM_THREADS": "1", "XDG_RUNTIME_DIR": str(self.root),
                            "GPU_CHECK_DEVICE": "cuda" if self.on_gpu else "cpu", **extra_env}
        if python:
            self.environment["PYTHON_EXEC"] = python

    @property
    def on_gpu(self):
        return not self.rehearsal and bool(self.torch.get("gpus"))

    def needs_torch(self):
        if not self.python:
            raise NotHere(f"no Python with torch: {self.torch.get('why')}")
        if not self.on_gpu and not self.rehearsal:
            raise NotHere("torch sees no GPU")

    def needs_gpu(self, why):
        if not self.on_gpu:
            raise NotHere(f"without a GPU: {why}")

    def folder(self, keep_as=None):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        if keep_as:
            with self.lock:
                self.kept_folders.append((keep_as, folder))
        return folder

    def start(self, *argv, env=()):
        if self.stopped:
            raise NotHere("gpu_check was stopped")
        return Running([str(word) for word in argv], {**self.environment, **dict(env)}, self.folder(), self.log)

    def run(self, *argv, limit, env=()):
        return self.start(*argv, env=env).wait(min(limit, self.left()))

    def left(self):
        return max(0.0, self.ends - time.monotonic())

    def job(self, kind, *options, ranks=2, folder=None, env=()):
        """toprun's words for a job of ranks.py on this machine, and its environment."""
        words = [self.toprun, "--standalone", "--nproc-per-node", ranks, *options, RANKS, kind, folder or self.folder()]
        return words, {**OVER_SOCKETS, **RECORDS, "NCCL_RAS_ADDR": f"localhost:{free_port()}", **dict(env)}

    def run_job(self, kind, *options, limit, **more):
        """The command as a person would type it, and how it ended."""
        words, env = self.job(kind, *options, **more)
        return shown(words, env), self.run(*words, limit=limit, env=env)

    def until(self, condition, limit, what):
        """What the condition returns, once that is true."""
        end = time.monotonic() + min(limit, self.left())
        while not self.stopped:
            if found := condition():
                return found
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not within {limit:.0f} s")
            time.sleep(0.05)
        raise NotHere("gpu_check was stopped")

    def finish(self, run):
        """Waits for a run that is about to end by itself."""
        return run.wait(max(LEAST_END_S, min(MOST_END_S, self.left())))

    def end(self, run):
        run.signal(signal.SIGTERM)
        return self.finish(run)

    def stop(self):
        self.stopped = True
        end_all(self.token)

    def close(self):
        left = left_over(self.token)
        end_all(self.token)
        shutil.rmtree(self.root, ignore_errors=True)
        return left


def free_port():
    """A port that is free on all addresses, and below those from which Linux takes ports for outgoing connections."""
    while True:
        port = random.randrange(*PORTS)
        with contextlib.closing(socket.socket()) as one, contextlib.suppress(OSError):
            one.bind(("", port))
            return port


def shown(words, env=()):
    """A command as a person would type it."""
    return " ".join([*(f"{name}={shlex.quote(str(value))}" for name, value in dict(env).items()),
                     *(shlex.quote(str(word)) for word in words)])


def rows(text):
    """The JSON objects among the lines; a prefix of a rank's is passed over."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line[line.index("{"):]))
    return found


def own_lines(text):
    return "\n".join(line for line in text.splitlines() if line.startswith(("toprun: ", "  ")))


def field(pattern, text):
    found = re.search(pattern, text)
    return found[1] if found else None
