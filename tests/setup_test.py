# ctest: TIMEOUT 300 LABELS cluster
"""`toprun setup`: environments built by real pip from wheels made here, by hand and as jobs of the
virtual cluster's real Slurm."""

import json
import unittest

import support
from submitting import SubmitCase
from support import TOPRUN
from wheels import NO_INDEX, make_wheel

LIMIT_S = 120  # venv and pip start many Pythons; on a loaded machine


def shelf(folder):
    """A folder of wheels, and the environment in which pip knows no other place."""
    wheels = folder / "wheels"
    wheels.mkdir()
    make_wheel(wheels, "demo", "1.2", {"demo.py": "__version__ = '1.2'\n"})
    make_wheel(wheels, "sick", "3.0", {"sick.py": "import no_such_library\n"})
    make_wheel(wheels, "wants", "1.0", {"wants.py": ""}, requires=["absent>=2"])
    return {**NO_INDEX, "PIP_FIND_LINKS": str(wheels)}


def record_of(folder):
    return json.loads((folder / "toprun-setup.json").read_text())


class Local(support.TestCase):
    def setUp(self):
        super().setUp()
        self.work = self.folder()
        self.env = shelf(self.work)

    def setup(self, *words, env=None, limit=LIMIT_S):
        return self.run_to_end(support.binary(), "setup", "--on", "local", *words, cwd=self.work,
                               env={**self.env, **(env or {})}, limit=limit)

    def test_builds_what_run_then_uses(self):
        (self.work / "requirements.txt").write_text("demo==1.2\n")
        finished = self.setup("--venv", "env", "-r", "requirements.txt")
        self.assert_ok(finished)
        self.assertRegex(finished.err, rf"toprun: built {self.work}/env: Python 3\.\S+, "
                                       r"imported demo 1\.2\n\Z")
        record = record_of(self.work / "env")
        self.assertEqual((record["schema"], record["state"], record["imports"]),
                         ("toprun.setup/1", "complete", {"demo": "1.2"}))
        (self.work / "use.py").write_text("import demo, sys; print(demo.__version__, sys.prefix)\n")
        used = self.run_to_end(support.binary(), "--venv", "env", "use.py", cwd=self.work)
        self.assert_ok(used)
        self.assertEqual(used.out, f"1.2 {self.work}/env\n")


class AsJob(SubmitCase):
    UP = ("--hosts", "2", "--racks", "1", "--slurm")

    def setUp(self):
        self.work = self.folder()
        self.env = shelf(self.work)

    def setup(self, *words, limit=LIMIT_S):
        return self.begin(*self.cluster.on("ctl", TOPRUN, "setup", *words), cwd=self.work,
                          env=self.env).wait(limit)

    def test_a_job_builds_it(self):
        finished = self.setup("--follow", "--venv", "env", "demo")
        self.assert_ok(finished)
        id = finished.out.splitlines()[0]
        record = record_of(self.work / "env")
        self.assertEqual((record["state"], record["job"], record["imports"]),
                         ("complete", id, {"demo": "1.2"}))
        self.assertRegex(record["host"], r"\An[01]\Z")

    def test_submit_waits_for_it(self):
        id = self.setup("--venv", "env", "demo").out.strip()
        (self.work / "use.py").write_text("import demo; print('used', demo.__version__)\n")
        finished = self.submit("--after", "setup", "--venv", "env", "--nodes", "2", "--follow", "use.py",
                               cwd=self.work, limit=LIMIT_S)
        self.assert_ok(finished)
        self.assertEqual(finished.out.count("used 1.2\n"), 2, finished)
        self.assertEqual(record_of(self.work / "env")["job"], id)
        again = self.submit("--after", "setup", "--venv", "env", "--dry-run", "use.py", cwd=self.work)
        self.assert_ok(again)
        self.assertIn("--after setup: it has been built already", again.err)
        self.assertNotIn("--dependency", again.out)


if __name__ == "__main__":
    unittest.main()
