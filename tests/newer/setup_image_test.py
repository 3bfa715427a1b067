"""Images that `toprun setup` cannot build with the Apptainer of a newer Debian, and what is left of
them (`make test-newer`)."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import containers
import support
from apptainer_test import configuration, needs_apptainer

LIMIT_S = 120


class Images(support.TestCase):
    def setUp(self):
        needs_apptainer()
        self.work = self.folder()
        self.env = configuration(self.work)
        (self.work / "root").mkdir()
        containers.make_root(self.work / "root")

    def setup(self, source, image="t.sif", **more):
        return self.run_to_end(support.binary(), "setup", "--on", "local", "--container", image, "--from",
                               source, cwd=self.work, env={**self.env, **more}, limit=LIMIT_S)

    def state(self, image="t.sif"):
        return json.loads((self.work / f"{image}.toprun-setup.json").read_text())["state"]

    def assert_fails(self, finished, pattern):
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err.splitlines()[-1], rf"\Atoprun: {pattern}\Z", finished)
        self.assertEqual(self.state(), "failed")
        self.assertEqual(list(self.work.glob("t.sif*")), [self.work / "t.sif.toprun-setup.json"])

    def test_one_of_a_folder(self):
        self.assert_ok(self.setup("./root"))
        self.assertEqual(self.state(), "complete")
        used = self.run_to_end("apptainer", "--quiet", "exec", "t.sif", "sh", "-c", "echo inside",
                               cwd=self.work, env=self.env)
        self.assert_ok(used)
        self.assertEqual(used.out, "inside\n")
        again = self.setup("./root")
        self.assert_ok(again)
        self.assert_one_line(again, ".*/t.sif is up to date: nothing is built .*")

    def test_a_registry_that_does_not_answer(self):
        source = f"docker://127.0.0.1:{support.free_port()}/none:1"
        self.assert_fails(self.setup(source), ".*connection refused.*")

    def test_an_archive_that_is_none(self):
        (self.work / "text.tar").write_text("no archive")
        self.assert_fails(self.setup("text.tar"), ".*")

    def test_no_space(self):
        small = self.work / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        finished = self.setup("./root", image="small/t.sif")
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err.splitlines()[-1], "no space left on device; make room")
        self.assertEqual([path.name for path in small.iterdir()], ["t.sif.toprun-setup.json"])


if __name__ == "__main__":
    unittest.main()
