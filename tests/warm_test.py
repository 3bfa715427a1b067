# ctest: TIMEOUT 900
"""--warm: ranks as forks of one Python that has imported their modules."""

import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest

import support
import warm_scripts

LIMIT_S = 120


def without_what_varies(text):
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"(\bpid |Thread |ident=|thread |started )\d+", r"\1N", text)


class Warm(support.TestCase):
    def setUp(self):
        self.path = self.folder()

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def launch(self, *words, nproc=2, env=None, python=sys.executable, **options):
        return self.toprun("--nproc-per-node", nproc, *words, limit=LIMIT_S, cwd=self.path,
                           env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": "1", **(env or {})}, **options)


class Semantics(Warm):
    """What a script sees and does is the same, but for what docs/start-up.md lists."""

    def seen(self, script, logs, nproc, *options):
        """What each rank printed and how the run ended."""
        finished = self.launch("--log-dir", logs, "--redirects", "3", *options,
                               *(script.command or ("script.py", "an argument", "--flag", "")),
                               nproc=nproc, env=script.env,
                               python=support.python() if script.torch else sys.executable)
        self.assertEqual("--warm is left out" in finished.err, bool(options) and script.refused, finished)
        printed = {path.relative_to(logs).parts[-2:]: without_what_varies(path.read_text(errors="backslashreplace"))
                   for path in sorted(logs.rglob("std*.log"))}
        return finished.code, printed

    def test_every_script(self):
        for name, script in warm_scripts.SCRIPTS.items():
            with self.subTest(name):
                self.path = self.folder()
                self.write("script.py", script.text)
                for file, text in script.files.items():
                    self.write(file, text)
                modules = "torch" if script.torch else "fractions"
                nproc = 2
                cold = self.seen(script, self.path / "cold", nproc)
                if cold[0] != 0:  # whoever fails first may have the other stopped before it prints
                    nproc = 1
                    cold = self.seen(script, self.path / "alone", nproc)
                warm = self.seen(script, self.path / "warm", nproc, f"--warm={modules}")
                self.assertEqual(warm, cold)
                self.assertTrue(any(cold[1].values()) or cold[0], "a script that shows nothing")

    def test_that_it_can_fail(self):
        """A script that does see the difference."""
        self.write("script.py", "import sys; print('fractions' in sys.modules)")
        script = warm_scripts.Script("")
        self.assertNotEqual(self.seen(script, self.path / "cold", 1),
                            self.seen(script, self.path / "warm", 1, "--warm=fractions"))

    def test_ranks_draw_numbers_of_their_own(self):
        self.write("script.py", "import random, numpy, torch\n"
                                "print(random.random(), numpy.random.random(), torch.rand(1).item(), torch.initial_seed())")
        finished = self.launch("--warm", "script.py", nproc=3, python=support.python())
        self.assert_ok(finished)
        self.assertNotIn("left out", finished.err)
        drawn = [line.split() for line in finished.out.splitlines()]
        for column in zip(*drawn):
            self.assertEqual(len(set(column)), 3, drawn)


if __name__ == "__main__":
    unittest.main()
