"""On a terminal: the first rank that is shown has one too, as with torchrun; all others, and everything
that goes elsewhere, are as without."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unittest

import support

LIMIT_S = 30
# Each rank tells where it prints.
WHERE = """
import os, sys
size = tuple(os.get_terminal_size(2)) if os.isatty(2) else None
print(f"rank {os.environ['RANK']}:", os.isatty(0), os.isatty(1), os.isatty(2), size,
      file=sys.stderr)
"""


def set_columns(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 40, columns, 0, 0))


class Terminal:
    """A terminal of 100 columns with a command on it; everything that it shows is kept in `seen`."""

    def __init__(self, test, *argv, cwd, env=None):
        self.seen = b""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            set_columns(0, 100)  # here: on a loaded machine the command may begin before our parent goes on
            os.chdir(cwd)
            os.environ.update(env or {})
            os.execvp(str(argv[0]), [str(word) for word in argv])
        self.status = None
        test.addCleanup(self.end)

    def resize(self, columns):
        set_columns(self.descriptor, columns)

    def press(self, keys):
        os.write(self.descriptor, keys)

    def read(self, limit):
        if not select.select([self.descriptor], [], [], limit)[0]:
            return False
        try:
            self.seen += os.read(self.descriptor, 4096)
        except OSError:  # nobody has it open any more
            return False
        return True

    def expect(self, pattern):
        deadline = time.monotonic() + LIMIT_S
        while not (found := re.search(pattern, self.seen, re.S)):
            if not self.read(max(0, deadline - time.monotonic())):
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
        return found

    def code(self):
        """The exit code, all that was shown read."""
        while self.read(LIMIT_S):
            pass
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def end(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)


class OnATerminal(support.TestCase):
    def setUp(self):
        self.here = self.folder()

    def script(self, text):
        (self.here / "script.py").write_text(text)
        return "script.py"

    def start(self, *flags, script=WHERE, env=None, launcher=None):
        return Terminal(self, launcher or support.binary(), *flags, self.script(script), cwd=self.here,
                        env={**support.without_torch(), **(env or {})})

    def places(self, *flags):
        terminal = self.start(*flags)
        self.assertEqual(terminal.code(), 0, terminal.seen)
        text = re.sub(r"\x1b\[\d*m", "", terminal.seen.decode())
        return sorted(re.findall(r"rank \d: [^\r]+", text))

    def test_the_first_rank_has_one(self):
        self.assertEqual(self.places("--nproc-per-node", 2),
                         ["rank 0: True True True (100, 40)", "rank 1: True False False None"])

    def test_the_first_that_is_shown(self):
        self.assertEqual(self.places("--nproc-per-node", 3, "--local-ranks-filter", "1,2"),
                         ["rank 1: True True True (100, 40)", "rank 2: True False False None"])

    def test_none_where_lines_get_a_prefix_or_go_to_files(self):
        for flags in (["--tee", 3], ["--prefix"], ["--fold"]):
            with self.subTest(flags):
                self.assertIn("rank 0: True False False None", "\n".join(self.places(*flags)))

    def test_none_where_one_of_ours_is_a_pipe(self):
        script = self.script(WHERE)
        terminal = Terminal(self, "sh", "-c", f"{support.binary()} {script} | cat", cwd=self.here,
                            env=support.without_torch())
        terminal.code()
        self.assertIn(b"rank 0: True False True (100, 40)", terminal.seen)

    def test_what_it_prints_comes_through_byte_by_byte(self):
        # The terminal itself makes \r\n of \n, once.
        terminal = self.start(script="""
import sys
sys.stdout.buffer.write(b"a\\n 1%\\r 2%\\r\\x1b[1mb\\x1b[0m\\r\\n\\xff")
""")
        self.assertEqual(terminal.code(), 0)
        self.assertIn(b"a\r\n 1%\r 2%\r\x1b[1mb\x1b[0m\r\r\n\xff", terminal.seen)

    def test_its_size_follows(self):
        terminal = self.start(script="""
import os, time
width = 0
while width != 60:
    if width != (width := os.get_terminal_size(1).columns):
        print("width", width)
    time.sleep(0.01)
""")
        terminal.expect(b"width 100")
        terminal.resize(60)
        terminal.expect(b"width 60")
        self.assertEqual(terminal.code(), 0)

    def test_a_prompt_and_what_is_typed(self):
        terminal = self.start(script="print('got', repr(input('name? ')))")
        terminal.expect(rb"name\? ")
        terminal.press(b"ada\n")
        terminal.expect(b"got 'ada'")
        self.assertEqual(terminal.seen.count(b"ada\r\n"), 1, "echoed once")
        self.assertEqual(terminal.code(), 0)

    def test_ctrl_c_ends_it(self):
        terminal = self.start(script="""
import time
try:
    print("ready")
    time.sleep(60)
except KeyboardInterrupt:
    print("told to end")
    raise SystemExit(3)
""")
        terminal.expect(b"ready")
        terminal.press(b"\x03")
        terminal.expect(b"told to end")
        self.assertEqual(terminal.code(), 130)
        self.assertEqual(terminal.seen.count(b"told to end"), 1)

    def test_lines_of_others_stay_whole_beside_a_bar(self):
        terminal = self.start("--nproc-per-node", 2, script="""
import os, sys
for i in range(300):
    if os.environ["RANK"] == "0":
        sys.stdout.write(f"\\r<bar {i:3}>")
    else:
        print(f"[line {i:3}]")
""")
        self.assertEqual(terminal.code(), 0)
        shown = terminal.seen.decode()
        self.assertEqual(len(re.findall(r"<bar \d\d\d|<bar +\d+>", shown)), 300)
        self.assertEqual(len(re.findall(r"\[line +\d+\]\r\n", shown)), 300, "none torn")

    def test_tqdm_looks_as_with_torchrun(self):
        bar = """
import os, tqdm
for _ in tqdm.tqdm(range(3), disable=None, dynamic_ncols=True,
                   bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} "):  # no rate: it varies in width
    pass
"""
        def shown(launcher):
            terminal = Terminal(self, *launcher, self.script(bar), cwd=self.here,
                                env={"PYTHON_EXEC": support.python()})
            self.assertEqual(terminal.code(), 0, terminal.seen)
            return re.findall(rb"\r *(\d+%\|[^|]*\| \d/3) ", terminal.seen)
        ours, theirs = shown([support.binary()]), shown(support.torchrun())
        self.assertEqual(ours[-1], theirs[-1])
        self.assertEqual(theirs[-1][:5], b"100%|")

    def test_no_terminal_is_left(self):
        before = set(os.listdir("/dev/pts"))
        self.assertEqual(len(self.places("--nproc-per-node", 2)), 2)
        self.assertLessEqual(len(set(os.listdir("/dev/pts")) - before), 1, "but the test's own")


if __name__ == "__main__":
    unittest.main()
