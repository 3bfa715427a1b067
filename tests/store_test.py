# ctest: TIMEOUT 400 LABELS torch
"""`toprun store` and the clients that PyTorch has for it."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

import support
from support import REPOSITORY

CLIENTS = REPOSITORY / "tests/store_clients.py"
DIFFERENTIAL = REPOSITORY / "tests/store_differential.py"
DISTRIBUTION_PYTHON = "/usr/bin/python3"
TORCH_SERVER = """
import signal, sys, torch.distributed as dist
signal.signal(signal.SIGTERM, signal.SIG_DFL)
store = dist.TCPStore("127.0.0.1", int(sys.argv[1]), None, True, wait_for_workers=False, use_libuv=True)
print("ready", flush=True)
signal.pause()
"""


def old_python():
    """The distribution's Python with a PyTorch of generation A (2.0 or older)."""
    found = subprocess.run([DISTRIBUTION_PYTHON, "-c", "import torch; print(torch.__version__)"],
                           capture_output=True, text=True) if shutil.which(DISTRIBUTION_PYTHON) else None
    version = re.match(r"(\d+)\.(\d+)", found.stdout) if found else None
    if not version or (int(version[1]), int(version[2])) > (2, 0):
        raise unittest.SkipTest("the distribution has no PyTorch up to 2.0 (Debian 12: python3-torch)")
    return DISTRIBUTION_PYTHON


class StoreTest(support.TestCase):
    def serve(self, *options):
        """Starts a server on a port of the kernel's choice; returns it and the port."""
        run = self.begin(support.binary(), "store", "--port", "0", *options)
        line = run.process.stderr.readline().decode()
        ready = re.fullmatch(r"toprun: store: listening on \S+:(\d+)\n", line)
        self.assertTrue(ready, line)
        return run, int(ready[1])

    def test_serves_until_it_is_told_to_stop(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number.name):
                run, port = self.serve()
                socket.create_connection(("127.0.0.1", port)).close()
                run.signal(number)
                self.assertEqual(run.wait(20).code, 0)

    def test_todays_client(self):
        _, port = self.serve()
        finished = self.run_to_end(support.python(), CLIENTS, port, limit=180)
        self.assert_ok(finished)
        self.assertIn("ok many_clients", finished.out)

    def test_client_of_generation_a(self):
        python = old_python()
        _, port = self.serve()
        finished = self.run_to_end(python, CLIENTS, port, limit=180)
        self.assert_ok(finished)
        self.assertIn("ok many_clients", finished.out)

    def test_answers_as_pytorchs_server_does(self):
        python = support.python()
        _, port = self.serve()
        their_port = support.free_port()
        theirs = self.begin(python, "-c", TORCH_SERVER, their_port)
        self.assertEqual(theirs.process.stdout.readline(), b"ready\n")
        self.assert_ok(self.run_to_end(sys.executable, DIFFERENTIAL, port, their_port, limit=180))

    def test_a_limit_of_the_command_line_is_named_when_it_is_met(self):
        run, port = self.serve("--max-value", "1k")
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.settimeout(20)
            client.sendall(b"\x00\xce\xf7\x85\x3c\x01" + b"\x01" + b"\0" * 7 + b"k" + b"\x01\x04" + b"\0" * 6)
            self.assertEqual(client.recv(1), b"")
        run.signal(signal.SIGTERM)
        self.assertIn("a value is longer than the limit max-value, 1024 bytes", run.wait(20).err)

    def test_bad_options_are_named(self):
        for words, said in {
            ("--port", "65536"): "--port 65536: must be a whole number from 0 to 65535",
            ("--port", "x"): "--port x: must be a whole number from 0 to 65535",
            ("--max-key", "0"): "--max-key 0: must be a number of bytes",
            ("--max-memory", "4T"): "--max-memory 4T: must be a number of bytes",
            ("--max-backlog", "99999999999G"): "--max-backlog 99999999999G: must be a number of bytes",
            ("--nonsense",): "--nonsense",
        }.items():
            with self.subTest(words=words):
                finished = self.toprun("store", *words)
                self.assertEqual(finished.code, 2, finished)
                self.assertIn(said, finished.err)
                self.assertEqual(finished.err.count("\n"), 1, finished)

    def test_a_port_in_use_names_who_holds_it(self):
        run, port = self.serve()
        finished = self.toprun("store", "--port", port)
        self.assertEqual(finished.code, 1, finished)
        self.assertIn(f"port {port}", finished.err)
        self.assertIn(f"pid {run.process.pid}", finished.err)
        self.assertEqual(finished.err.count("\n"), 1, finished)
