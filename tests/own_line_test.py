# ctest: TIMEOUT 120
"""toprun's own lines begin at a line's start, behind whatever a rank has left unfinished: a progress bar."""

import os
import pty
import re
import signal
import socket
import subprocess
import unittest

import support

BARS = ("45/100", r"\r 45%|####     |", r"45/100\r")
# Leaves a bar unfinished, on one of its streams, and fails or goes on until it is told otherwise.
RANK = """\
printf %b "$BAR" >&$STREAM
>"$ROOT/up.$RANK"
while [ ! -e "$ROOT/go" ]; do sleep 0.05; done
exit $CODE
"""


class OwnLines(support.TestCase):
    def setUp(self):
        self.root = self.folder()

    def words(self, *flags):
        return [support.binary(), "--nproc-per-node", 2, *flags, "--no-python", "sh", "-c", RANK]

    def environment(self, bar=BARS[0], stream=2, code=7):
        return {"ROOT": str(self.root), "BAR": bar, "STREAM": str(stream), "CODE": str(code)}

    def started(self, command, **environment):
        for path in self.root.glob("*"):
            path.unlink()
        run = self.begin(*command, env=self.environment(**environment))
        support.wait_until(lambda: len(list(self.root.glob("up.*"))) == 2, 60, "the ranks run")
        return run

    def assert_begin_lines(self, text, told="toprun: rank"):
        self.assertIn(told, text)
        for line in re.split(r"\r?\n", text):
            self.assertNotIn("toprun: ", line[1:], repr(text))

    def test_the_report_of_a_failure(self):
        together = ["sh", "-c", '"$@" 2>&1', "sh"]
        for flags in ((), ("--prefix",), ("--tee", 3), ("--fold",), ("--max-restarts", 1)):
            for bar in BARS:
                for before, stream in (((), 2), (together, 2), (together, 1)):
                    with self.subTest(flags=flags, bar=bar, together=bool(before), stream=stream):
                        run = self.started([*before, *self.words(*flags)], bar=bar, stream=stream)
                        (self.root / "go").touch()
                        finished = run.wait(60)
                        self.assertEqual(finished.code, 7, finished)
                        self.assert_begin_lines(finished.out if before else finished.err)

    def test_a_notice_that_follows_no_failure(self):
        run = self.started(self.words())
        run.signal(signal.SIGTERM)
        self.assert_begin_lines(run.wait(60).err, "toprun: ended by SIGTERM")

    def test_what_the_keeper_says_of_a_killed_agent(self):
        run = self.started(self.words())
        run.says("(?s)45/100.*45/100")  # both are shown
        os.kill(run.agent(), signal.SIGKILL)
        self.assert_begin_lines(run.wait(60).err, f"toprun: {socket.gethostname()}: the agent (pid")

    def test_the_log_of_a_node(self):
        logs = self.folder()
        run = self.started(self.words("--node-log", logs))
        (self.root / "go").touch()
        run.wait(60)
        path, = logs.glob("*.out")
        self.assert_begin_lines(path.read_text())

    def test_a_terminal(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(list(map(str, self.words())), stdin=theirs, stdout=theirs, stderr=theirs,
                                   env={**os.environ, **self.environment()}, start_new_session=True)
        os.close(theirs)
        self.addCleanup(process.kill)
        support.wait_until(lambda: len(list(self.root.glob("up.*"))) == 2, 60, "the ranks run")
        (self.root / "go").touch()
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:
            pass  # its end
        os.close(ours)
        self.assertEqual(process.wait(60), 7)
        text = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", seen.decode())
        self.assert_begin_lines(text)


if __name__ == "__main__":
    unittest.main()
