# ctest: TIMEOUT 120
"""--modules, --venv, -e: what the workers' environment is made of, with the real parts."""

import pathlib
import subprocess
import sys
import unittest

import support

INIT = pathlib.Path("/usr/share/modules/init/bash")  # Environment Modules, as Debian has them


class VirtualEnvironment(support.TestCase):
    def test_its_python_runs_the_script(self):
        folder = self.folder()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        script = folder / "where.py"
        script.write_text("import os, shutil, sys\n"
                          "print(sys.prefix, os.environ['VIRTUAL_ENV'], shutil.which('python'))\n")
        finished = self.run_to_end(support.binary(), "--venv", "env", script, cwd=folder)
        self.assert_ok(finished)
        env = folder / "env"
        self.assertEqual(finished.out, f"{env} {env} {env}/bin/python\n")

    def test_one_that_is_not_there_is_named_before_anything_starts(self):
        folder = self.folder()
        (folder / "s.py").write_text("print('started')\n")
        finished = self.run_to_end(support.binary(), "--venv", "no-such", folder / "s.py", cwd=folder)
        self.assertEqual((finished.code, finished.out), (2, ""))
        self.assertIn("toprun: --venv no-such on host ", finished.err)
        self.assertIn(f"there is no {folder}/no-such/bin/python; `toprun setup --venv {folder}/no-such -r FILE` "
                      f"builds the environment in a job, `python3 -m venv {folder}/no-such` builds it here\n", finished.err)


class Command(support.TestCase):
    """--before, and `before` in toprun.toml."""

    def setUp(self):
        self.here = self.folder()
        (self.here / "site.sh").write_text("echo noise\nexport SITE=here\n>ran\n")
        (self.here / "toprun.toml").write_text("before = 'source ./site.sh'\n")

    def run_here(self, *words, env=None):
        return self.run_to_end(support.binary(), *words, "--no-python", "sh", "-c", "echo [$SITE]",
                               cwd=self.here, env=env)

    def test_of_a_file_of_the_users_is_run_on_the_node(self):
        finished = self.run_here()
        self.assert_ok(finished)
        self.assertEqual(finished.out, "[here]\n")

    def test_is_shown_but_not_run_by_dry_run(self):
        finished = self.run_here("--dry-run")
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"(?m)^before +source ./site.sh \(bash runs this on every node; not run now\)$")
        self.assertFalse((self.here / "ran").exists())

    def test_that_fails_ends_the_run_before_anything_starts(self):
        finished = self.run_here("--before", "source /no/such/site.sh")
        self.assertEqual((finished.code, finished.out), (1, ""))
        self.assertRegex(finished.err, r"toprun: --before source /no/such/site\.sh on host \S+: the command ended "
                                       r"with code 1: .*No such file or directory; add \"\|\| true\" to .*\n\Z")

    def test_no_variable_of_the_environment_can_give_one(self):
        (self.here / "toprun.toml").unlink()
        finished = self.run_here(env={"TOPRUN_BEFORE": "source ./site.sh"})
        self.assert_ok(finished)
        self.assertEqual(finished.out, "[]\n")
        self.assertFalse((self.here / "ran").exists(), finished)


class Variables(support.TestCase):
    def test_reach_every_worker(self):
        finished = self.run_to_end(
            support.binary(), "--nproc-per-node", 2, "-e", "A=x y", "--env=B", "-e", "C=", "-e", "D",
            "--no-python", "sh", "-c", 'echo "[$A] [$B] [${C-unset}] [${D-unset}]"', env={"B": "b"})
        self.assert_ok(finished)
        self.assertEqual(finished.out, "[x y] [b] [] [unset]\n" * 2)

    def test_a_name_that_no_variable_can_have(self):
        finished = self.run_to_end(support.binary(), "-e", "1A=x", "true")
        self.assertEqual(finished.code, 2)
        self.assertIn("'1A' is not the name of a variable", finished.err)


@unittest.skipUnless(INIT.exists(), "environment-modules is not installed")
class Modules(support.TestCase):
    def setUp(self):
        super().setUp()
        self.modules = self.folder()
        (self.modules / "cuda").mkdir()
        (self.modules / "cuda/12.4").write_text("#%Module\nsetenv CUDA_HOME /opt/cuda-12.4\n"
                                                "puts stdout {echo said by the module;}\n")
        (self.modules / "rocm").write_text("#%Module\nconflict cuda\n")
        (self.modules / "nccl").write_text("#%Module\nprepend-path LD_LIBRARY_PATH /opt/nccl\n")

    def load(self, *names):
        words = [word for name in names for word in ("--modules", name)]
        return self.run_to_end(
            support.binary(), *words, "--no-python", "sh", "-c",
            'echo "$CUDA_HOME $LD_LIBRARY_PATH $LOADEDMODULES"',
            env={"MODULEPATH": str(self.modules), "LD_LIBRARY_PATH": "", "LOADEDMODULES": "",
                 "MODULESHOME": str(INIT.parent.parent)})

    def test_are_loaded_in_their_order(self):
        for names in (["cuda/12.4,nccl"], ["cuda", "nccl"]):
            finished = self.load(*names)
            self.assert_ok(finished)
            self.assertEqual(finished.out, "/opt/cuda-12.4 /opt/nccl cuda/12.4:nccl\n")

    def test_one_that_does_not_exist_is_named_with_the_nearest(self):
        finished = self.load("cuda/12.5")
        self.assertEqual((finished.code, finished.out), (1, ""))
        self.assertIn("toprun: --modules cuda/12.5 on host ", finished.err)
        self.assertIn("Unable to locate a modulefile for 'cuda/12.5'", finished.err)
        self.assertIn("did you mean cuda/12.4?", finished.err)

    def test_one_that_does_not_go_with_another_says_so(self):
        finished = self.load("cuda/12.4", "rocm")
        self.assertEqual((finished.code, finished.out), (1, ""))
        self.assertIn("ERROR: Module cannot be loaded due to a conflict.", finished.err)


if __name__ == "__main__":
    unittest.main()
