# ctest: TIMEOUT 240 EMULATED
"""Clients that misuse a store, or a store that is busy: the job goes on and ends as it should."""

import ctypes
import os
import pathlib
import re
import signal
import socket
import struct
import time
import unittest

import support

SILENCE_S = 3
QUICK = ["--rdzv-conf", f"keep_alive_interval=1,keep_alive_max_attempt={SILENCE_S}"]
THREAD_NAME = "toprun-store"

PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
PTRACE_O_TRACECLONE, PTRACE_EVENT_CLONE = 8, 3
WAIT_FOR_THREADS = 0x40000000  # __WALL

# Sets 131,000 keys that are made to collide and waits until that is done.
COLLIDING = """
import os, socket, struct
import colliding_keys

def counted(data):
    return struct.pack("<Q", len(data)) + data

keys = colliding_keys.keys(131_000)
store = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
store.sendall(b"\\x00\\xce\\xf7\\x85\\x3c\\x0b" + struct.pack("<Q", len(keys)) +
              b"".join(counted(key) + counted(b"") for key in keys) + b"\\x0d\\x07\\0\\0\\0")
print(store.recv(4, socket.MSG_WAITALL), flush=True)
"""


HELLO = b"\0\xce\xf7\x85\x3c"  # of today's client
PING = b"\x0d\x07\0\0\0"
WATCH = b"\x07"  # of PyTorch 1.13's client, which begins without a word


def counted(data):
    return struct.pack("<Q", len(data)) + data


def ptrace(request, thread, data=None):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, thread, None, data) != 0:
        raise unittest.SkipTest(f"ptrace is not allowed here: {os.strerror(ctypes.get_errno())}")


class Frozen:
    """Stops one thread of a process, as one is that the kernel gives no time or memory."""

    def __init__(self, thread):
        self.thread = thread
        ptrace(PTRACE_SEIZE, thread)
        ptrace(PTRACE_INTERRUPT, thread)
        os.waitpid(thread, WAIT_FOR_THREADS)

    def await_its_end(self):
        """Until then nobody else learns that its process has ended."""
        os.waitpid(self.thread, WAIT_FOR_THREADS)

    def thaw(self):
        ptrace(PTRACE_DETACH, self.thread)


class BeginsThreads:
    """A process that waits for SIGCONT; it is stopped where it begins its first thread, which goes on."""

    def __init__(self, pid):
        support.needs_real_processor("ptrace")
        self.pid, self.thread = pid, None
        ptrace(PTRACE_SEIZE, pid, PTRACE_O_TRACECLONE)

    def run_to_the_first_thread(self):
        os.kill(self.pid, signal.SIGCONT)
        while os.waitpid(self.pid, WAIT_FOR_THREADS)[1] >> 16 != PTRACE_EVENT_CLONE:
            ptrace(PTRACE_CONT, self.pid)
        self.thread = os.waitpid(-1, WAIT_FOR_THREADS)[0]
        ptrace(PTRACE_CONT, self.thread)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)  # it cannot be detached from while its thread runs
        os.waitpid(self.thread, WAIT_FOR_THREADS)


def store_thread(agent):
    for task in pathlib.Path(f"/proc/{agent}/task").iterdir():
        if (task / "comm").read_text().strip() == THREAD_NAME:
            return int(task.name)
    raise AssertionError("the agent has no thread for its store")


class BusyStore(support.TestCase):
    """A store that does not answer: it may have gigabytes to free."""

    def begin_held(self, *options, last_words):
        """A job whose rank waits for the file that freeze() makes."""
        self.go = self.folder() / "go"
        return self.begin(support.binary(), *QUICK, *options, "--no-python", "sh", "-c",
                          f"echo $TOPRUN_ATTEMPT; until test -e {self.go}; do sleep 0.1; done; {last_words}")

    def freeze(self, run):
        self.assertEqual(run.process.stdout.readline(), b"0\n")
        frozen = Frozen(store_thread(run.agent()))
        self.go.touch()
        return frozen

    def test_a_restart_waits_for_it_and_the_agent_lives(self):
        run = self.begin_held("--max-restarts", 1, last_words="test $TOPRUN_ATTEMPT = 1")
        frozen = self.freeze(run)
        time.sleep(SILENCE_S + 2)  # what a keeper would not bear
        frozen.thaw()
        finished = run.wait(60)
        self.assert_ok(finished)
        self.assertEqual(finished.out, "1\n")
        self.assert_nothing_left(run)

    def test_the_end_does_not_wait_for_it(self):
        run = self.begin_held(last_words="exit 0")
        self.freeze(run).await_its_end()
        self.assert_ok(run.wait(60))
        self.assert_nothing_left(run)


class Abuse(support.TestCase):
    def test_keys_that_are_made_to_collide(self):
        script = self.folder() / "client.py"
        script.write_text(COLLIDING)
        finished = self.toprun(*QUICK, script, env={
            **support.without_torch(), "PYTHONPATH": str(support.REPOSITORY / "tests")})
        self.assert_ok(finished)
        self.assertEqual(finished.out, "b'\\x07\\x00\\x00\\x00'\n")


class Alone(support.TestCase):
    """`toprun store`."""

    def start_server(self, port=0):
        return self.begin(support.binary(), "store", "--port", port)

    @staticmethod
    def port_of(server):
        return int(re.search(rb":(\d+)\n", server.process.stderr.readline())[1])

    def resident_mib(self, server):
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def test_watchers_that_read_nothing_share_what_they_are_sent(self):
        server = self.start_server()
        port = self.port_of(server)
        watchers = [self.enterContext(socket.create_connection(("127.0.0.1", port))) for _ in range(150)]
        for watcher in watchers:
            watcher.sendall(WATCH + counted(b"key"))
            self.assertEqual(len(watcher.recv(1)), 1)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(HELLO)
            for letter in (b"a", b"b"):
                client.sendall(b"\x01" + counted(b"key") + counted(letter * (8 << 20)))
            client.sendall(PING)
            self.assertEqual(client.recv(4, socket.MSG_WAITALL), PING[1:])
        self.assertLess(self.resident_mib(server), 256)

    def test_who_comes_while_it_starts_is_served(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = self.begin("sh", "-c", 'kill -STOP $$; exec "$0" "$@"', support.binary(), "store", "--port", port)
        with BeginsThreads(server.process.pid) as starter:
            starter.run_to_the_first_thread()
            with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                client.sendall(HELLO + PING)
                self.assertEqual(client.recv(4, socket.MSG_WAITALL), PING[1:])


if __name__ == "__main__":
    unittest.main()
