# ctest: TIMEOUT 400 LABELS cluster
"""`toprun submit --after` on the virtual cluster's real Slurm, which forgets a job 10 s after its end and
keeps no accounting."""

import re
import shutil
import unittest

import support
from cluster import wait_for
from submitting import SubmitCase

TOPRUN = support.TOPRUN
FORGOTTEN_S = 60  # MinJobAge, and how often slurmctld looks

FAILS = """\
import os, time
while not os.path.exists("go"):
    time.sleep(0.05)
raise ValueError("the table has no column " + "x" * 100 + " at all")
"""
CAUSE = r"rank 0 on n\d ended with exit code 1: ValueError: the table has no column x{100} at all"


class After(SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def failing(self):
        """A folder, and in it a job that raises once the file `go` is there."""
        folder = self.folder()
        (folder / "fails.py").write_text(FAILS)
        return folder, self.submitted("fails.py", cwd=folder)

    def following(self, folder, *words):
        return self.begin(*self.cluster.on("ctl", TOPRUN, "submit", "--follow", *words), cwd=folder,
                          env={"PYTHON_EXEC": shutil.which("python3")})

    def wait_until_forgotten(self, *ids):
        for id in ids:
            wait_for(lambda: self.login("scontrol", "show", "job", id).code != 0,
                     f"Slurm has forgotten job {id}", FORGOTTEN_S)

    def assert_not_begun(self, finished, pattern, folder):
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        self.assert_one_line(finished, pattern)
        self.assertFalse((folder / "begun").exists())

    def test_a_job_that_nobody_knows_is_refused(self):
        folder = self.folder()
        finished = self.submit("--follow", "--after", "99999", "--no-python", "touch", "begun", cwd=folder)
        self.assert_not_begun(finished, r"--after 99999: job 99999 is unknown: .*; if it was submitted in another folder, submit this job there, or with that folder's --log-dir: its report is there; --dependency afterok:99999 leaves the check to Slurm", folder)
        self.assertEqual(self.login("squeue", "--noheader").out, "")

    def test_a_job_that_slurm_has_forgotten_is_judged_by_its_own_record(self):
        folder, bad = self.failing()
        (folder / "go").touch()
        good = self.submitted("--no-python", "true", cwd=folder)
        lost = self.login("sbatch", "--parsable", "-o", folder / "slurm-%j.out", "--wrap", "true",
                          cwd=folder).out.strip()
        self.wait_until_forgotten(bad, good, lost)
        words = ["--no-python", "touch", "begun"]
        self.assert_not_begun(self.submit("--after", bad, *words, cwd=folder),
                              rf"--after {bad}: job {bad} failed: {CAUSE}; .*", folder)
        self.assert_not_begun(self.submit("--after", f"{good}:notok", *words, cwd=folder),
                              rf"--after {good}:notok: job {good} ended with exit code 0; .*", folder)
        self.assert_not_begun(self.submit("--after", lost, *words, cwd=folder),
                              rf"--after {lost}: it is not known how job {lost} ended: .*", folder)
        finished = self.submit("--wait", "--after", good, "--after", f"{bad}:notok", "--after",
                               f"{lost}:any", *words, cwd=folder)
        self.assert_ok(finished)
        self.assertTrue((folder / "begun").exists())
        for after, end in (good, "ended with exit code 0"), (f"{bad}:notok", "failed"), (f"{lost}:any", "ended"):
            self.assertIn(f"toprun: --after {after}: that job has {end} already\n", finished.err)

    def test_a_job_that_has_failed_is_refused_with_its_cause(self):
        folder, bad = self.failing()
        (folder / "go").touch()
        self.wait_for_state(bad, "FAILED")
        finished = self.submit("--after", bad, "--no-python", "touch", "begun", cwd=folder)
        self.assert_not_begun(
            finished, rf"--after {bad}: job {bad} failed: {CAUSE}; start that job again, or start this job regardless with --after {bad}:any", folder)

    def test_a_job_that_fails_while_it_is_waited_for(self):
        folder, bad = self.failing()
        run = self.following(folder, "--after", bad, "--no-python", "touch", "begun")
        wait_for(lambda: "Dependency" in self.login("squeue", "--noheader", "-o", "%r").out, "it waits")
        (folder / "go").touch()
        finished = run.wait(60)
        self.assertEqual(finished.code, 69, finished)
        self.assertRegex(finished.err.splitlines()[-1],
                         rf"toprun: job \d+: not started: job {bad} failed: {CAUSE}$")
        self.assertFalse((folder / "begun").exists())
        recent = self.login(TOPRUN, "jobs", "--recent", cwd=folder)
        self.assertRegex(recent.out, rf"(?m)^ *\d+ .* 69 +not started: job {bad} failed: {CAUSE}", recent)
        unstarted = re.search(r"job (\d+): not started", finished.err)[1]
        status = self.login(TOPRUN, "status", unstarted, cwd=folder)
        self.assertRegex(status.out, rf"(?m)^  state +CANCELLED: not started: job {bad} failed: {CAUSE}$", status)
        self.assertNotIn("ran ", status.out)  # Slurm may date its start by 1970
        self.assertNotRegex(status.out, r"(?m)^  output |toprun logs", "it has no output")
        report = self.login(TOPRUN, "report", unstarted, cwd=folder)
        self.assertRegex(report.err, rf"the job never started: job {bad} failed: {CAUSE}; toprun status {unstarted} ")
        eta = self.login(TOPRUN, "eta", unstarted, cwd=folder)
        self.assertRegex(eta.out, rf"\Ajob {unstarted} \(touch\): not started: job {bad} failed: {CAUSE}\n\Z")
        for verb in "top", "stacks":
            asked = self.login(TOPRUN, verb, unstarted, cwd=folder)
            self.assertRegex(asked.err, rf"the job is not running: not started: job {bad} failed: {CAUSE}; toprun status {unstarted} ", verb)
        self.wait_until_forgotten(bad, unstarted)
        for verb in "status", "eta":
            told = self.login(TOPRUN, verb, unstarted, cwd=folder)
            self.assertRegex(told.out, rf"(?m)^job {unstarted} \(touch\)(:|\n  state     ) not started: job {bad} failed: {CAUSE} "
                                       r"\(from its files; Slurm has forgotten it\)$", verb)
        recent = self.login(TOPRUN, "jobs", "--recent", cwd=folder)
        self.assertRegex(recent.out, rf"(?m)^ *{unstarted} .* 69 +not started: job {bad} failed: {CAUSE}", recent)

    def test_a_job_that_slurm_keeps_although_it_can_never_start(self):
        folder, bad = self.failing()
        kept = self.login("sbatch", "--parsable", "-J", "kept", "-o", folder / "slurm-%j.out", "--kill-on-invalid-dep=no",
                          "--dependency", f"afterok:{bad}", "--wrap", "true", cwd=folder).out.strip()
        self.wait_for_state(bad, "RUNNING")
        waits = self.login(TOPRUN, "eta", kept, cwd=folder)
        self.assertIn(f"  job {bad} must end with exit code 0 first; its state is RUNNING\n", waits.out)
        report = self.login(TOPRUN, "report", kept, cwd=folder)
        self.assertIn(f"there is no report of job {kept}: the job has not started; toprun status {kept} shows what", report.err)
        (folder / "go").touch()
        wait_for(lambda: "NeverSatisfied" in self.login("squeue", "--noheader", "-o", "%r").out, "it waits in vain")
        eta = self.login(TOPRUN, "eta", cwd=folder)
        self.assertRegex(eta.out, rf"\Ajob {kept} \(kept\): it can never start; end it with toprun cancel {kept}\n"
                                  rf"  job {bad} failed: {CAUSE}\n\Z")
        status = self.login(TOPRUN, "status", kept, cwd=folder)
        self.assertRegex(status.out, rf"(?m)^  why +job {bad} failed: {CAUSE}\n  start +it can never start; end it")

    def test_a_cancelled_predecessor(self):
        folder, bad = self.failing()
        run = self.following(folder, "--after", bad, "--no-python", "touch", "begun")
        wait_for(lambda: "Dependency" in self.login("squeue", "--noheader", "-o", "%r").out, "it waits")
        self.assert_ok(self.login("scancel", bad))
        finished = run.wait(60)
        self.assertEqual(finished.code, 69, finished)
        self.assertRegex(finished.err.splitlines()[-1],
                         rf"toprun: job \d+: not started: job {bad} cancelled by a user")

    def test_a_task_of_an_array_that_has_failed(self):
        folder = self.folder()
        array = self.submitted("--array", "1-2", "--no-python", "sh", "-c",
                               "test $SLURM_ARRAY_TASK_ID = 2 || exit 4; until test -e go; do sleep 0.1; "
                               "done", cwd=folder)
        self.wait_for_state(f"{array}_1", "FAILED")
        finished = self.submit("--after", array, "--no-python", "touch", "begun", cwd=folder)
        self.assert_not_begun(finished, rf"--after {array}: job {array} failed: rank 0 on n\d ended with exit code 4; .*", folder)
        after = [self.submitted("--after", after, "--no-python", "touch", name, cwd=folder)
                 for after, name in ((f"{array}_2", "one"), (f"{array}:any", "any"))]
        (folder / "go").touch()
        for id in after:
            self.wait_for_state(id, "COMPLETED")
        self.assertTrue((folder / "one").exists() and (folder / "any").exists())

    def test_a_setup_that_fails_while_it_is_waited_for(self):
        folder = self.folder()
        setup = self.begin(*self.cluster.on("ctl", TOPRUN, "setup", "--slurm-arg=--hold", "--venv", "env",
                                            "--python", shutil.which("python3"), "./no-such-package"),
                           cwd=folder).wait(60)
        self.assert_ok(setup)
        id = setup.out.strip()
        run = self.following(folder, "--after", "setup", "--venv", "env", "--no-python", "touch", "begun")
        wait_for(lambda: "Dependency" in self.login("squeue", "--noheader", "-o", "%r").out, "it waits")
        self.assert_ok(self.login("scontrol", "release", id))
        finished = run.wait(90)
        self.assertEqual(finished.code, 69, finished)
        self.assertRegex(finished.err.splitlines()[-1],
                         rf"toprun: job \d+: not started: job {id} failed, exit code 1: (pip install|venv).* on host n")
        self.assertEqual(finished.err.splitlines()[-1].count(" on host n"), 1)

    def test_a_setup_that_fails_says_why(self):
        """Its reason is one line above in the job's output, which --wait does not show."""
        folder = self.folder()
        failed = self.begin(*self.cluster.on("ctl", TOPRUN, "setup", "--wait", "--venv", "env", "--python",
                                             shutil.which("python3"), "./no-such-package"), cwd=folder).wait(90)
        self.assertEqual(failed.code, 1, failed)
        id = failed.out.strip()
        self.assertRegex(failed.err.splitlines()[-1],
                         rf"toprun: job {id}: failed, exit code 1: (pip install|venv).* on host n")
        self.wait_until_forgotten(id)
        recent = self.login(TOPRUN, "jobs", "--recent", cwd=folder)
        self.assertRegex(recent.out, rf"(?m)^ *{id} .* 1 +failed: (pip install|venv)", recent)

    def test_the_last_line_is_the_cause(self):
        """srun adds a line of its own for each node, innocent ones included."""
        folder = self.folder()
        (folder / "go").touch()
        (folder / "fails.py").write_text(FAILS)
        finished = self.submit("--follow", "--nodes", "2", "fails.py", cwd=folder, limit=60)
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err.splitlines()[-1],
                         r"toprun: job \d+: failed: rank \d on n\d ended with exit code 1: "
                         r"ValueError: the table has no column x{100} at all$")
        self.assertNotIn("--log-dir", finished.out)


class Secrets(SubmitCase):
    UP = ("--hosts", "1", "--racks", "1", "--slurm")

    def test_a_secret_goes_by_the_environment(self):
        folder = self.folder()
        words = ["-e", "MY_TOKEN=hush-17", "-e", "SEEN=17", "--no-python", "sh", "-c",
                 "echo $MY_TOKEN $SEEN > got"]
        finished = self.submit("--wait", *words, cwd=folder)
        self.assert_ok(finished)
        self.assertEqual((folder / "got").read_text(), "hush-17 17\n")
        script = (folder / f"logs/{finished.out.strip()}/job.sbatch").read_text()
        self.assertNotIn("hush", script)
        self.assertIn("SEEN=17", script)
        refused = self.submit("--slurm-arg=--export=NONE", *words, cwd=folder)
        self.assertEqual(refused.code, 2, refused)
        self.assert_one_line(refused, r"-e MY_TOKEN: secrets reach the job through the environment, and "
                                      r"--export=NONE does not pass the environment on; .*")


if __name__ == "__main__":
    unittest.main()
