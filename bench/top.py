#!/usr/bin/env python3
"""`toprun top` on a terminal, of jobs that no machine here could run: a stand-in serves their pictures on a job's socket.

    make bench-top      or: python3 bench/top.py [--nodes 64,12500] [--seconds 15]

TOPRUN names the binary (build/release/toprun). Each node has eight ranks, and each second there is another picture, in which one
rank has failed. *first frame* counts from the start of the program until the job's line stands on the terminal, *key* from
a key (down, Enter, a search) until what it changed has come; *CPU* is for all that, pictures too, *memory* the most that was resident.
Exit code 1 if a limit is missed: 1 s for the first frame; 100 ms for the slowest key, 250 ms above 4,096 ranks.
"""

import argparse
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import web_pictures  # noqa: E402

FIRST_LIMIT_S = 1.0
KEY_LIMIT_S = {False: 0.1, True: 0.25}
MANY_RANKS = 4_096
PICTURES = 3
COLUMNS, ROWS = 120, 40
QUIET_S = 0.03  # a frame is whole when nothing has come for so long
KEYS = ["j", "j", "j", "\r", "\r", "k", "s", "s", "s", "s", "\x1b[6~", "\x1b[5~", "G", "g"]


def pictures(nodes):
    picture = web_pictures.Picture(nodes)
    picture.state[-3] = "f"
    picture.job["attempts"][0]["what"] = f"rank {picture.ranks - 3} on {picture.name(nodes - 1)} ended with exit code 7"
    node_part = picture.node_part()
    for _ in range(PICTURES):
        yield json.dumps({"schema": "toprun.live/1", "job": picture.job, "nodes": node_part,
                          "figures": picture.figures()}, separators=(",", ":")).encode()


class Job:
    """Answers as a root does, on a socket in the runtime folder."""

    def __init__(self, folder, texts):
        self.texts = texts
        (folder / "toprun").mkdir(mode=0o700)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / f"toprun/{os.getpid()}.sock"))
        self.listener.listen()
        self.asked = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                question = connection.recv(4096)
                body = b'{"job":"train","id":"4711"}'
                if question.startswith(b"GET /picture"):
                    body = self.texts[self.asked % len(self.texts)]
                    self.asked += 1
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                connection.sendall(head.encode() + body)


class Terminal:
    def __init__(self, toprun, folder):
        self.end, other = pty.openpty()
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.start = time.monotonic()
        self.process = subprocess.Popen([toprun, "top", str(os.getpid())], stdin=other, stdout=other, stderr=other, start_new_session=True,
                                        env={**os.environ, "TERM": "xterm", "XDG_RUNTIME_DIR": str(folder)})
        os.close(other)
        self.text = ""

    def read(self, limit):
        """What comes within the limit; empty: nothing has."""
        if not select.select([self.end], [], [], limit)[0]:
            return ""
        try:
            text = os.read(self.end, 1 << 20).decode(errors="replace")
        except OSError:
            sys.exit(f"top.py: the program has ended: {self.text[-3000:]!r}")
        self.text += text
        return text

    def until(self, pattern, limit=30):
        deadline = time.monotonic() + limit
        while not re.search(pattern, self.text):
            if time.monotonic() > deadline:
                sys.exit(f"top.py: no {pattern!r} on the terminal in {self.text[-3000:]!r}")
            self.read(0.1)

    def press(self, keys):
        """Seconds until the last byte of what they changed."""
        while self.read(QUIET_S):
            pass
        start = time.monotonic()
        os.write(self.end, keys.encode())
        if not self.read(5):
            sys.exit(f"top.py: the key {keys!r} changes nothing")
        last = time.monotonic()
        while self.read(QUIET_S):
            last = time.monotonic()
        return last - start

    def resources(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024, ticks / os.sysconf("SC_CLK_TCK")


def measure(toprun, nodes, seconds):
    ranks = nodes * web_pictures.RANKS_PER_NODE
    with tempfile.TemporaryDirectory() as name:
        job = Job(pathlib.Path(name), list(pictures(nodes)))
        terminal = Terminal(toprun, name)
        terminal.until(rf"{ranks} ranks")
        first = time.monotonic() - terminal.start
        terminal.until("ended with exit code 7")
        times = []
        while time.monotonic() < terminal.start + seconds or len(times) < len(KEYS):
            times.append(terminal.press(KEYS[len(times) % len(KEYS)]))
        terminal.text = ""
        terminal.press("/")
        terminal.press(str(ranks - 1))
        times.append(terminal.press("\r"))
        terminal.until(rf"rank {ranks - 1}\b")
        memory, cpu = terminal.resources()
        passed = time.monotonic() - terminal.start
        os.write(terminal.end, b"q")
        terminal.process.wait(10)
        os.close(terminal.end)
        job.listener.close()
    slowest = max(times)
    is_bad = first > FIRST_LIMIT_S or slowest > KEY_LIMIT_S[ranks > MANY_RANKS]
    print(f"| {ranks} | {len(job.texts[0]) / 1e6:.1f} | {1000 * first:.0f} | {1000 * statistics.median(times):.0f} | {1000 * slowest:.0f} | "
          f"{len(times)} | {100 * cpu / passed:.0f} | {memory:.0f} |{' missed' if is_bad else ''}", flush=True)
    return is_bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="64,12500")
    parser.add_argument("--seconds", type=int, default=15)
    args = parser.parse_args()
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    if not os.access(toprun, os.X_OK):
        sys.exit(f"top.py: there is no {toprun}: run `make`")
    print(f"{COLUMNS} x {ROWS} characters, load {os.getloadavg()[0]:.1f}")
    print("| ranks | picture MB | first frame ms | key ms, median | slowest | keys | CPU, % of a core | memory MiB |")
    print("|---|---|---|---|---|---|---|---|")
    missed = [measure(toprun, int(nodes), args.seconds) for nodes in args.nodes.split(",")]
    sys.exit(1 if any(missed) else 0)


if __name__ == "__main__":
    main()
