# ctest: TIMEOUT 200 LABELS cluster
"""What --dry-run prints is what is then executed: the programs of Slurm that toprun starts write down
how they were called. submit and ssh have their cases beside their others."""

import json
import os
import re
import shlex
import shutil
import sys

from submitting import SubmitCase
from support import TOPRUN, binary

RECORDER = """\
#!{python}
import json, os, sys
with open({record!r}, "a") as record:
    record.write(json.dumps(["{name}", *sys.argv[1:]]) + "\\n")
os.execv({real!r}, ["{name}", *sys.argv[1:]])
"""
WORKER = "import json, sys; print('called', json.dumps(sys.orig_argv), flush=True)\n"


class DryRun(SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def setUp(self):
        self.work = self.folder()
        self.record = self.work / "record"
        programs = self.work / "bin"
        programs.mkdir()
        for name in "salloc", "srun", "scancel":
            (programs / name).write_text(RECORDER.format(
                python=sys.executable, record=str(self.record), name=name, real=shutil.which(name)))
            (programs / name).chmod(0o755)
        self.env = {"PATH": f"{programs}:{os.environ['PATH']}", "SHELL": "/bin/bash",
                    "PYTHON_EXEC": shutil.which("python3")}

    def recorded(self, name):
        """The words with which this program was called; it was called once."""
        calls = [json.loads(line) for line in self.record.read_text().splitlines()]
        (call,) = [call for call in calls if call[0] == name]
        return call

    def test_shell(self):
        words = ["--nodes", "2", "--time", "5", "-e", "A=x  'y'"]
        dry = self.login(TOPRUN, "shell", "--dry-run", *words, env=self.env)
        self.assert_ok(dry)
        self.assertFalse(self.record.exists())
        finished = self.shell(words, 'echo "<$A>"\nexit 3\n', env=self.env)
        self.assertEqual(finished.code, 3, finished)
        self.assertIn("<x  'y'>\n", finished.out)
        self.assertEqual(self.recorded("salloc"), shlex.split(dry.out))

    def test_run_in_an_allocation(self):
        script = self.work / "a worker.py"
        script.write_text(WORKER)
        words = ["--nproc-per-node", "2", "--tee", "0", script, "--x", "a  b", "$HOME", ""]
        allocated = ["salloc", "--quiet", "-N2", "--ntasks-per-node=1", TOPRUN]
        dry = self.login(*allocated, "--dry-run", *words, env=self.env)
        self.assert_ok(dry)
        promised = dict(re.findall(r"(?m)^(agents|each worker) +(.*)$", dry.out))
        self.record.unlink()  # salloc's own
        finished = self.login(*allocated, *words, env=self.env)
        self.assert_ok(finished)
        step, _, told = promised["agents"].rpartition(" (")
        self.assertEqual(told, "the secret goes to its standard input)")
        self.assertEqual(self.recorded("srun"), shlex.split(step))
        called = [json.loads(text) for text in re.findall(r"(?m)^called (.*)$", finished.out)]
        self.assertEqual(called, [shlex.split(promised["each worker"])] * 4)

    def test_run_here(self):
        (self.work / "worker.py").write_text(WORKER)
        words = [binary(), "--nproc-per-node", "2", "-m", "worker", "it's", "-v"]
        env = {**self.env, "PYTHONPATH": str(self.work)}
        dry = self.run_to_end(words[0], "--dry-run", *words[1:], env=env)
        self.assert_ok(dry)
        finished = self.run_to_end(*words, env=env)
        self.assert_ok(finished)
        promised = re.search(r"(?m)^each worker +(.*)$", dry.out)[1]
        called = [json.loads(text) for text in re.findall(r"(?m)^called (.*)$", finished.out)]
        self.assertEqual(called, [shlex.split(promised)] * 2)

    def test_cancel(self):
        id = self.submitted("--nodes", "1", "--no-python", "sleep", "300", cwd=self.work)
        dry = self.login(TOPRUN, "cancel", "--dry-run", id, env=self.env)
        self.assert_ok(dry)
        self.assertFalse(self.record.exists())
        self.assert_ok(self.login(TOPRUN, "cancel", id, env=self.env))
        self.assertEqual(self.recorded("scancel"), shlex.split(dry.out))
        self.wait_for_state(id, "CANCELLED")
