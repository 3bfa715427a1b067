# ctest: TIMEOUT 300 LABELS cluster
"""The line that shows on a terminal how far a launch has come: there while it takes time, never mixed with
other text, and gone without a trace."""

import re
import time
import unittest

import cluster
import support
from ssh_cases import SshCase
from terminal_test import LIMIT_S, Terminal

# Rank 1 comes late.
LATE = """
import os, time
if os.environ["RANK"] == "1":
    time.sleep(8)
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if os.environ["RANK"] == "0":
    print("met", flush=True)
time.sleep(4)
dist.destroy_process_group()
"""
TOPRUN = support.TOPRUN
LINE = rb"toprun: \d+ s, "


class Screen:
    """What a terminal shows after some bytes: of the control sequences it knows those that toprun sends."""

    def __init__(self):
        self.rows = [""]
        self.column = 0

    def feed(self, text):
        for piece in re.findall(r"\x1b\[[?\d;]*[a-zA-Z]|[^\x1b]", text):
            if piece == "\r":
                self.column = 0
            elif piece == "\n":
                self.rows.append("")
            elif piece == "\x1b[J":
                self.rows[-1] = self.rows[-1][:self.column]
            elif not piece.startswith("\x1b"):
                row = self.rows[-1].ljust(self.column)
                self.rows[-1] = row[:self.column] + piece + row[self.column + 1:]
                self.column += 1
        return self

    def text(self):
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n")


def stop_and_resume(test, terminal):
    """Ctrl-Z leaves no progress line on the terminal, and fg brings it back."""
    terminal.press(b"\x1a")
    terminal.expect(rb"Stopped")
    test.assertNotIn("started, none", left_on(terminal))
    terminal.press(b"fg\n")
    terminal.expect(rb"(?s)Stopped.*toprun: \d+ s, ")


def left_on(terminal):
    """What stays on the screen, without the run's last line. What goes through a pipe may come after that."""
    text = Screen().feed(terminal.seen.decode()).text()
    return "\n".join(line for line in text.split("\n") if not re.match(r"toprun: [-\d]+ [:\d]+ → ", line))


class Progress(support.TestCase):
    def setUp(self):
        self.here = self.folder()

    def start(self, *flags, script, env=None, argv=None):
        (self.here / "script.py").write_text(script)
        argv = argv or [support.binary(), *flags, "script.py"]
        return Terminal(self, *argv, cwd=self.here, env={**support.without_torch(), **(env or {})})

    def test_while_the_ranks_import(self):
        terminal = self.start("--nproc-per-node", 2, script="import time; time.sleep(3)")
        terminal.expect(rb"toprun: \d s, 2 ranks started, none has connected to the store yet")
        self.assertEqual(terminal.code(), 0)
        self.assertEqual(left_on(terminal), "")

    def test_a_rank_that_others_wait_for(self):
        terminal = self.start("--nproc-per-node", 2, script=LATE, env={"PYTHON_EXEC": support.python()})
        terminal.expect(rb"toprun: \d+ s, 1 of 2 ranks have reached the store")
        self.assertEqual(terminal.code(), 0)
        self.assertEqual(left_on(terminal), "met")
        self.assertNotRegex(terminal.seen[terminal.seen.index(b"met"):], LINE)

    def test_output_and_own_lines_stand_alone(self):
        terminal = self.start(script="import time; time.sleep(3); print('a\\nb', flush=True); time.sleep(1); 1 / 0")
        terminal.expect(LINE)
        self.assertEqual(terminal.code(), 1)
        text = left_on(terminal)
        self.assertTrue(text.startswith("a\nb\n"), text)
        self.assertIn("ZeroDivisionError", text)
        self.assertNotRegex(text, r"started|\d s, ")
        after = terminal.seen[terminal.seen.index(b"a\r\nb\r\n"):]
        self.assertNotRegex(after, LINE, "nobody has come to the store: the ranks' own output says more")

    def test_nothing_for_what_is_quick_or_unwanted(self):
        slow = "import time; time.sleep(1.5); print('done')"
        cases = [
            (["--no-python", "echo", "done"], {}),  # Python's own start takes half a second on a busy machine
            (["--no-progress", "script.py"], {}),
            (["script.py"], {"TOPRUN_NO_PROGRESS": "1"}),
            (["script.py"], {"TERM": "dumb"}),
        ]
        for words, env in cases:
            with self.subTest(words=words, env=env):
                terminal = self.start(script=slow, env=env, argv=[support.binary(), *words])
                self.assertEqual(terminal.code(), 0)
                self.assertEqual(left_on(terminal), "done")
                self.assertNotIn(b"\x1b", terminal.seen)

    def test_nothing_beside_a_pipe(self):
        terminal = self.start(script="import time; time.sleep(1.5); print('end')",
                              argv=["sh", "-c", f"{support.binary()} script.py | cat"])
        terminal.code()
        self.assertEqual(left_on(terminal), "end")
        self.assertNotIn(b"\x1b", terminal.seen)

    def test_with_output_in_a_file(self):
        terminal = self.start(script="import time; time.sleep(3); print('end')",
                              argv=["sh", "-c", f"{support.binary()} script.py > out"])
        terminal.expect(LINE)
        terminal.code()
        self.assertEqual(left_on(terminal), "")
        self.assertEqual((self.here / "out").read_text(), "end\n")

    def test_a_prompt_is_left_alone(self):
        terminal = self.start(script="import time; answer = input('name? '); time.sleep(3); print('got', answer)")
        terminal.expect(rb"name\? ")
        time.sleep(1)  # in which the line would be drawn
        terminal.press(b"ada\n")
        self.assertEqual(terminal.code(), 0)
        self.assertNotRegex(terminal.seen, LINE)

    def test_its_width_follows_the_terminal(self):
        terminal = self.start(script="import time; time.sleep(3)")
        terminal.expect(LINE + b"1 rank started, none has connected to the store yet")
        terminal.resize(30)
        found = terminal.expect(rb"(toprun: [^\x1b]*\xe2\x80\xa6[^\x1b]*)\x1b")
        self.assertEqual(len(found[1].decode()), 29)
        terminal.code()

    def test_ctrl_c_leaves_no_trace(self):
        terminal = self.start(script="import time; time.sleep(60)")
        terminal.expect(LINE)
        terminal.press(b"\x03")
        self.assertEqual(terminal.code(), 130)
        self.assertNotIn("started, none", left_on(terminal))

    def test_ctrl_z_leaves_no_trace(self):
        support.needs_program("bash")
        terminal = self.start(script="import time; time.sleep(60)", argv=["bash", "--norc", "--noprofile", "-i"])
        terminal.press(f"{support.binary()} script.py\n".encode())
        terminal.expect(LINE)
        stop_and_resume(self, terminal)
        terminal.press(b"\x03")
        terminal.expect(rb"interrupted|exit code 130")
        terminal.press(b"exit\n")
        terminal.code()

    def test_nodes_that_are_awaited(self):
        port = support.free_port()
        common = ["--nnodes", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"]
        terminal = self.start(*common, "--node-rank", 0, script="pass")
        terminal.expect(rb"toprun: \d s, 1 of 2 nodes have joined")
        other = self.begin(support.binary(), *common, "--node-rank", 1, str(self.here / "script.py"),
                           env=support.without_torch())
        self.assertEqual(terminal.code(), 0)
        self.assertEqual(other.wait(LIMIT_S).code, 0)
        self.assertNotIn("have joined", left_on(terminal))


# The ranks of n1 print early, those of n0 late.
TWO_NODES = """
import os, time
time.sleep(1.5)
print("rank", os.environ["RANK"], flush=True)
time.sleep(4)
"""


class Launched:
    """A launcher has the terminal, the root's agent is behind srun or ssh."""

    def launched(self, *argv, env=None):
        here = self.folder()
        (here / "script.py").write_text(TWO_NODES)
        return Terminal(self, *self.cluster.on("ctl", *argv, TOPRUN, *self.FLAGS, here / "script.py"), cwd=here,
                        env={**support.without_torch(), "TERM": "xterm", **(env or {})})

    def assert_shown_and_gone(self, terminal):
        terminal.expect(LINE + rb"2 ranks started, none has connected to the store yet")
        self.assertEqual(terminal.code(), 0)
        text = left_on(terminal)
        self.assertEqual(sorted(line for line in text.split("\n") if line.startswith("rank")), ["rank 0", "rank 1"])
        self.assertNotIn("started, none", text)
        self.assertNotIn("toprun-launch", text)
        self.assertNotRegex(terminal.seen[terminal.seen.rindex(b"rank "):], LINE + b"2 ranks started")


class BySrun(Launched, cluster.SlurmCase):
    UP = ("--hosts", "2", "--racks", "1", "--slurm")
    FLAGS = ()

    def test_in_the_shell_of_salloc(self):
        self.assert_shown_and_gone(self.launched("salloc", "-N2", "-Q"))

    def test_unwanted(self):
        for env in {"TOPRUN_NO_PROGRESS": "1"}, {"TERM": "dumb"}, {"SLURM_LABELIO": "1"}:
            with self.subTest(env=env):
                terminal = self.launched("salloc", "-N2", "-Q", env=env)
                self.assertEqual(terminal.code(), 0)
                self.assertIn("rank 0", left_on(terminal))
                self.assertNotRegex(terminal.seen, LINE)

    def test_a_terminal_that_is_stopped_loses_nothing(self):
        here = self.folder()
        (here / "many.py").write_text("import os\nfor i in range(40_000 * (os.environ['RANK'] == '0')): print('line', i)\n")
        terminal = Terminal(self, *self.cluster.on("ctl", "salloc", "-N2", "-Q", TOPRUN, here / "many.py"), cwd=here,
                            env={**support.without_torch(), "TERM": "xterm"})
        terminal.expect(b"line 5\r")
        time.sleep(1)  # nobody reads
        self.assertEqual(terminal.code(), 0)
        seen = [int(one) for one in re.findall(rb"line (\d+)\r", terminal.seen)]
        lost = sorted(set(range(40_000)) - set(seen))
        self.assertEqual((lost, len(seen)), ([], 40_000))


class BySsh(Launched, SshCase):
    UP = ("--hosts", "2", "--racks", "1")
    HOSTS = ["n0", "n1"]
    FLAGS = ("--hosts", "n0,n1")

    def test_on_hosts(self):
        self.assert_shown_and_gone(self.launched(env={"TOPRUN_SSH": self.daemons.ssh()}))

    def test_ctrl_z_leaves_no_trace(self):
        support.needs_program("bash")
        here = self.folder()
        (here / "script.py").write_text("import time; time.sleep(60)")
        terminal = Terminal(self, *self.cluster.on("ctl", "bash", "--norc", "--noprofile", "-i"), cwd=here,
                            env={**support.without_torch(), "TERM": "xterm", "TOPRUN_SSH": self.daemons.ssh()})
        terminal.press(f"{TOPRUN} --hosts n0,n1 script.py\n".encode())
        terminal.expect(LINE + rb"2 ranks started")
        stop_and_resume(self, terminal)
        terminal.press(b"\x03")
        terminal.expect(rb"exit code 130")
        terminal.press(b"exit\n")
        terminal.code()


if __name__ == "__main__":
    unittest.main()
