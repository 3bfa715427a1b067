"""What is warned of before the workers start: real agents, real files and limits."""

import os
import shutil
import sys
import unittest

import support
from support import two_nodes

WARNING = r"(?m)^toprun: warning: "


class OneNode(support.TestCase):
    def script(self):
        script = self.folder() / "train.py"
        script.write_text("print('trained')\n")
        return script

    def warnings(self, prelude, script, *before, options=()):
        """What toprun warns of where a shell has done this before."""
        finished = self.run_to_end(
            *before, "sh", "-c", f'{prelude}; exec "$@"', "sh", support.binary(),
            "--nproc-per-node", 2, *options, script, limit=30, env=support.without_torch())
        lines = [line for line in finished.err.splitlines() if line.startswith("toprun: warning: ")]
        return finished, lines

    def assert_trained(self, finished):
        self.assert_ok(finished)
        self.assertEqual(finished.out, "trained\n" * 2)

    def test_a_sound_one_warns_of_nothing(self):
        finished, lines = self.warnings(":", self.script())
        self.assert_trained(finished)
        self.assertEqual(lines, [])

    def test_few_open_files(self):
        finished, lines = self.warnings("ulimit -Sn 200", self.script())
        self.assert_ok(finished)
        self.assertEqual(len(lines), 1, finished)
        self.assertRegex(lines[0], r"open files is low on \S+: .*; run `ulimit -n 65536` before toprun")

    def test_an_interface_that_is_not_there(self):
        finished, lines = self.warnings("export GLOO_SOCKET_IFNAME=eth9", self.script())
        self.assert_trained(finished)
        self.assertEqual(len(lines), 1, finished)
        self.assertIn("GLOO_SOCKET_IFNAME=eth9 (set by you): this machine has no interface eth9 on ", lines[0])
        finished, lines = self.warnings("export GLOO_SOCKET_IFNAME=lo", self.script())
        self.assert_trained(finished)
        self.assertEqual(lines, [], "lo is enough on one node")

    def test_turned_off(self):
        finished, lines = self.warnings("ulimit -Sn 200", self.script(), options=["--no-preflight"])
        self.assert_trained(finished)
        self.assertEqual(lines, [])

    def test_a_tiny_shared_memory(self):
        support.needs_root()
        support.needs_program("unshare")
        finished, lines = self.warnings("mount -t tmpfs -o size=64m tmpfs /dev/shm || exit 77",
                                        self.script(), "unshare", "--mount")
        if finished.code == 77:
            self.skipTest("cannot mount a tmpfs here")
        self.assert_ok(finished)
        self.assertEqual(len(lines), 1, finished)
        self.assertRegex(lines[0], r"/dev/shm has 64 MiB or less left on \S+: .*--shm-size")

    def test_a_script_that_cannot_be_read(self):
        support.needs_root()  # to become somebody else
        support.needs_program("setpriv")
        python = shutil.which("python3", path="/usr/bin:/bin")
        if not python:
            self.skipTest("no Python that everybody may run")
        script = self.script()
        os.chmod(script.parent, 0o755)
        os.chmod(script, 0)
        finished, lines = self.warnings(
            f"export PYTHON_EXEC={python}", script,
            "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        if finished.code == 126:
            self.skipTest("the binary is where only root gets")
        self.assertNotEqual(finished.code, 0, finished)
        self.assertRegex(lines[0], r"the script cannot be read on \S+: Permission denied; make the script readable there")


class TwoNodes(support.TestCase):
    def both(self, scripts, pythons=(sys.executable, sys.executable)):
        """Runs train.py on two agents, each with its own folder; the root's words."""
        port = support.free_port()
        runs = []
        for rank, (text, python) in enumerate(zip(scripts, pythons)):
            folder = self.folder()
            (folder / "train.py").write_text(text)
            runs.append(self.begin(
                support.binary(), *two_nodes(port, rank, nproc=1), "train.py", cwd=folder,
                env={**support.without_torch(), "PYTHON_EXEC": str(python)}))
        finished = [run.wait(60) for run in runs]
        for end in finished:
            self.assert_ok(end)
            self.assertEqual(len(end.out.splitlines()), 1, end)
        self.assertNotRegex(finished[1].err, WARNING, "only the root compares")
        return finished[0].err

    def test_the_same_script_in_two_folders(self):
        self.assertNotRegex(self.both(["print(1)\n"] * 2), WARNING)

    def test_different_scripts(self):
        self.assertRegex(self.both(["print(1)\n", "print(2)\n"]),
                         WARNING + r"the script differs between nodes: one on \S+, another on \S+; copy the same "
                                   r"script to all nodes$")

    def test_different_versions(self):
        # The same interpreter below two made-up environments.
        pythons = []
        for version in ("3.10", "3.11"):
            prefix = self.folder()
            (prefix / "bin").mkdir()
            os.symlink(os.path.realpath(sys.executable), prefix / "bin/python")
            (prefix / "pyvenv.cfg").write_text(
                f"home = {os.path.dirname(os.path.realpath(sys.executable))}\nversion = {version}.1\n")
            torch = prefix / f"lib/python{version}/site-packages/torch"
            torch.mkdir(parents=True)
            (torch / "version.py").write_text(f"__version__ = '2.{version[-1]}.0'\n")
            pythons.append(prefix / "bin/python")
        said = self.both(["print(1)\n"] * 2, pythons)
        self.assertRegex(said, WARNING + r"nodes have different Pythons: 3.10 on \S+, 3.11 on \S+; "
                                         r"give all nodes the same environment$")
        self.assertRegex(said, WARNING + r"nodes have different versions of torch: 2.0.0 on \S+, "
                                         r"2.1.0 on \S+; install the same version on all nodes$")


if __name__ == "__main__":
    unittest.main()
