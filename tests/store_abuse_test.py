# ctest: TIMEOUT 240
"""Ranks that misuse their job's store, or a store that is busy with it: the job goes on and ends as it
should."""

import ctypes
import os
import pathlib
import time
import unittest

import support

SILENCE_S = 3
QUICK = ["--rdzv-conf", f"keep_alive_interval=1,keep_alive_max_attempt={SILENCE_S}"]
THREAD_NAME = "toprun-store"

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
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


class Frozen:
    """Stops one thread of a process, as one is that the kernel gives no time or memory."""

    def __init__(self, thread):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.thread = thread
        self.trace(PTRACE_SEIZE)
        self.trace(PTRACE_INTERRUPT)
        os.waitpid(thread, WAIT_FOR_THREADS)

    def trace(self, request):
        if self.libc.ptrace(request, self.thread, None, None) != 0:
            raise unittest.SkipTest(f"ptrace is not allowed here: {os.strerror(ctypes.get_errno())}")

    def await_its_end(self):
        """Until then nobody else learns that its process has ended."""
        os.waitpid(self.thread, WAIT_FOR_THREADS)

    def thaw(self):
        self.libc.ptrace(PTRACE_DETACH, self.thread, None, None)


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


if __name__ == "__main__":
    unittest.main()
