# ctest: TIMEOUT 200 LABELS cluster
"""`toprun shell` on the virtual cluster's real Slurm."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

import support
from cluster import column, shown, shows, wait_for
from submitting import SubmitCase
from support import TOPRUN


class Shell(SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def test_toprun_in_it_uses_every_node(self):
        line = shlex.join([TOPRUN, *shows("RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME")])
        finished = self.shell(["--nodes", "2"], f"hostname\n{line}\nexit 5\n")
        self.assertEqual(finished.code, 5, finished)
        rows = [row for row in shown(finished.out) if row["RANK"].isdigit()]
        self.assertEqual(column(rows, "RANK"), ["0", "1"], finished)
        self.assertEqual(len(set(column(rows, "TOPRUN_NODE_NAME"))), 2)
        self.assertRegex(finished.out, r"(?m)^n0$")

    def test_the_line_of_a_recipe(self):
        finished = self.run_to_end(
            support.binary(), "shell", "--dry-run", "--qos", "acc_debug", "--account", "bsc98",
            "--gres=gpu:2", "--cpus-per-task", "40", "--modules", "singularity",
            env={"SHELL": "/bin/bash", "PATH": "/nowhere"})
        self.assert_ok(finished)
        self.assertTrue(finished.out.startswith(
            "salloc --gres=gpu:2 --cpus-per-task=40 --account=bsc98 --qos=acc_debug --nodes=1 "
            "--ntasks-per-node=1 srun --nodes=1 --ntasks=1 "), finished.out)
        self.assertTrue(finished.out.endswith(
            f" env TOPRUN_SHELL=/bin/bash {os.path.realpath(TOPRUN)} shell --modules=singularity\n"),
            finished.out)
        self.assertRegex(finished.err, "(?m)^toprun: --modules singularity on host .*; perhaps the job's nodes have it$")

    def environments(self):
        """A folder with a virtual environment and a module; the variables that find the module."""
        init = pathlib.Path("/usr/share/modules/init/bash")
        if not init.exists():
            self.skipTest("environment-modules is not installed")
        folder = self.folder()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "torch-env"], check=True)
        (folder / "modules/singularity").mkdir(parents=True)
        (folder / "modules/singularity/3.11").write_text("#%Module\nsetenv SIF_HOME /opt/sif\n")
        return folder, {"MODULEPATH": str(folder / "modules"), "LOADEDMODULES": "", "HOME": str(folder),
                        "MODULESHOME": str(init.parent.parent), "B": "from here"}

    def test_modules_environment_and_variables_are_the_shells(self):
        folder, env = self.environments()
        options = ["--modules", "singularity", "--venv", folder / "torch-env", "-e", "A=x  y", "-e", "B"]
        typed = 'echo "<$SIF_HOME|$A|$B|$VIRTUAL_ENV|${TOPRUN_SHELL-}>" $(command -v python)\nexit 5\n'
        expected = f"</opt/sif|x  y|from here|{folder}/torch-env|> {folder}/torch-env/bin/python\n"
        finished = self.shell(["--nodes", "2", *options], typed, env=env)
        self.assertEqual(finished.code, 5, finished)
        self.assertIn(expected, finished.out)
        id = self.login("sbatch", "--parsable", "-o", folder / "out", "--wrap", "sleep 60").out.strip()
        wait_for(lambda: "RUNNING" in self.login("squeue", "-h", "-j", id, "-o", "%T").out, "it runs")
        finished = self.shell(["--attach", id, *options], typed, env=env)
        self.assertEqual(finished.code, 5, finished)
        self.assertIn(expected, finished.out)
        self.login("scancel", id)

    def test_the_projects_file_makes_the_shells_environment_too(self):
        folder, env = self.environments()
        (folder / "toprun.toml").write_text('modules = "singularity"\nvenv = "torch-env"\nenv = {A = "f"}\n')
        finished = self.shell(["-e", "B"], 'echo "<$SIF_HOME|$A|$B|$VIRTUAL_ENV>"\nexit 5\n', env=env,
                              cwd=folder)
        self.assertEqual(finished.code, 5, finished)
        self.assertIn(f"</opt/sif|f|from here|{folder}/torch-env>\n", finished.out)

    def test_what_is_not_there_is_named_before_anything_is_allocated(self):
        folder, env = self.environments()
        for verb, rest in [("shell", []), ("submit", ["--no-python", "true"])]:
            with self.subTest(verb):
                finished = self.login(TOPRUN, verb, "--chdir", folder, "--venv", "torch-evn", *rest)
                self.assertEqual((finished.code, finished.out), (2, ""), finished)
                self.assert_one_line(finished, rf"--venv \S*torch-evn on host ctl: there is no "
                                               rf"{folder}/torch-evn/bin/python; did you mean {folder}/torch-env\?")
                finished = self.login(TOPRUN, verb, "--dry-run", "--modules", "singularity/3.12", *rest,
                                      cwd=folder, env=env)
                self.assert_ok(finished)
                self.assertRegex(finished.err, "(?m)^toprun: --modules singularity/3.12 on host ctl: .*; "
                                               "did you mean singularity/3.11\\?; perhaps the job's nodes have it$")
        later = self.login(TOPRUN, "submit", "--dry-run", "--after", self.sleeping(), "--venv",
                           "torch-evn", *rest, cwd=folder)
        self.assert_ok(later)

    def sleeping(self, *words):
        id = self.login("sbatch", "--parsable", "-o", "/dev/null", *words, "--wrap",
                        "sleep 60").out.strip()
        if "-H" not in words:
            wait_for(lambda: "RUNNING" in self.login("squeue", "-h", "-j", id, "-o", "%T").out,
                     "it runs")
        return id

    def test_attach_enters_a_running_job(self):
        array = self.sleeping("-a", "1-2")
        typed = "echo job $SLURM_JOB_ID on $(hostname)\nexit 3\n"
        for id in (self.sleeping(), f"{array}_2"):
            with self.subTest(id):
                finished = self.shell(["--attach", id], typed)
                self.assertEqual(finished.code, 3, finished)
                number = re.search(r"JobId=(\d+)", self.login("scontrol", "show", "job", id).out)[1]
                self.assertRegex(finished.out, rf"(?m)^job {number} on n\d$")

    def test_attach_to_what_does_not_run(self):
        held, array = self.sleeping("-H"), self.sleeping("-a", "1-2")
        ended = self.login("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "exit 7").out.strip()
        self.login(TOPRUN, "submit", "--after", f"{ended}:any", "--wait", "--no-python", "true",
                   cwd=self.folder())
        for id, code, pattern in [
            ("999", 1, "job 999 is unknown: .*"),
            (held, 1, f"--attach {held}: the job is not running: PENDING: waiting.*; see toprun status {held}"),
            (ended, 1, f"--attach {ended}: the job is not running: failed, exit code 7; .*"),
            (array, 2, f"--attach {array}: 2 of its tasks run; name one task: {array}_1, {array}_2"),
        ]:
            with self.subTest(pattern):
                finished = self.login(TOPRUN, "shell", "--attach", id)
                self.assertEqual((finished.code, finished.out), (code, ""), finished)
                self.assert_one_line(finished, pattern)

    def test_what_cannot_be_is_one_line(self):
        for words, code, pattern in [
            (["--partition", "mai"], 2, r"--partition mai: this cluster has .*"),
            (["--constraint", "h100"], 1, r"Slurm refuses the job: .*[Ii]nvalid feature.*"),
            (["train.py"], 2, r"toprun shell train.py: a shell takes no script; .*"),
            (["--attach", "x_"], 2, r"--attach x_: is not a job's number; .*"),
            (["--on", "kubernetes", "-N2"], 2, "--on kubernetes: in Kubernetes and Run:AI, a shell opens only in a running job; give --attach JOB; .*"),
            (["--on", "slurm", "--attach", "dev"], 2, "--attach dev: .*"),
        ]:
            with self.subTest(words):
                finished = self.login(TOPRUN, "shell", *words)
                self.assertEqual(finished.code, code, finished)
                self.assert_one_line(finished, pattern)

    def test_which_engine_opens_the_shell(self):
        """A toprun.toml says where jobs are submitted; only --on and TOPRUN_ON choose the shell's engine."""
        folder = self.folder()
        finished = self.login(TOPRUN, "shell", "-N2", "--dry-run", env={"TOPRUN_ON": "foo"}, cwd=folder)
        self.assertEqual((finished.code, finished.out), (2, ""), finished)
        self.assert_one_line(finished, "TOPRUN_ON=foo: toprun knows the engines slurm, runai and kubernetes; .*")
        id = self.sleeping()
        (folder / "toprun.toml").write_text('on = "kubernetes"\n')
        for words, command in (["-N2"], "salloc .*--nodes=2 .*"), (["--attach", id], f"srun .*--jobid={id} .*"):
            finished = self.login(TOPRUN, "shell", *words, "--dry-run", cwd=folder)
            self.assert_ok(finished)
            self.assertRegex(finished.out, rf"\A{command}\n\Z")

    def test_nested_and_left_over(self):
        finished = self.on("ctl", "salloc", "-N1", TOPRUN, "shell")
        self.assertEqual(finished.code, 2, finished)
        self.assertRegex(finished.err, r"toprun: this shell is already inside job \d+: .*")
        finished = self.login(TOPRUN, "shell", "--dry-run", env={"SLURM_JOB_ID": "99999",
                                                                 "SLURM_STEP_ID": "0"})
        self.assert_ok(finished)


if __name__ == "__main__":
    unittest.main()
