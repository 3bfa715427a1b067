# ctest: TIMEOUT 300 LABELS cluster
"""Runs that outlive the terminal that started them in the pods of a job (--detach), and shells in pods."""

import json
import os
import signal
import unittest

import cluster
import support
from exec_cases import JOB, SleepingJob

SOON_S = 60  # of what takes a second where nothing else runs
# A rank that prints, waits for a file and ends with the number in it.
WAITS = 'echo "rank $RANK on $ON_POD"; until [ -s {0} ]; do sleep 0.1; done; echo "rank $RANK ends"; exit $(cat {0})'


class Detached(SleepingJob):
    def setUp(self):
        super().setUp()
        self.go = self.folder() / "go"

    def verb(self, *words):
        run = self.launching(*words)
        finished = run.wait(SOON_S)
        self.kept = run
        return finished

    def detach(self, *words):
        """Starts a run of one rank in each of two pods and returns its id."""
        self.sleeping(2)
        finished = self.verb("run", "--in", JOB, "--detach", *words, "--no-python", "sh", "-c", WAITS.format(self.go))
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\Ajob/[0-9a-f]{8}\n\Z")
        self.assertRegex(finished.err, r"\Atoprun: run job/\w+ continues in the pods .*\n\Z")
        self.addCleanup(self.kept.kill_all)
        return finished.out.strip(), self.kept

    def end(self, code):
        self.go.write_text(str(code))

    def vanishes(self, kept):
        """The root's code is there before the other agents have ended."""
        cluster.wait_for(lambda: not kept.processes(), "nothing of the run is left", SOON_S)

    def out_of(self, pod):
        return next(self.homes[pod].glob("toprun-runs-*/*/out")).read_text()

    def printed(self, *texts):
        cluster.wait_for(lambda: all(text in self.out_of("job-master-0") for text in texts), texts, SOON_S)

    def test_it_is_found_again_by_its_id_and_by_its_jobs_name(self):
        run, kept = self.detach()
        self.printed("rank 0 on job-master-0", "rank 1 on job-worker-0")
        shown = self.verb("logs", run)
        self.assert_ok(shown)
        self.assertEqual(sorted(line for line in shown.out.splitlines() if line.startswith("rank")),
                         ["rank 0 on job-master-0", "rank 1 on job-worker-0"])
        following = self.launching("logs", "-f", JOB)
        self.end(7)
        finished = following.wait(SOON_S)
        self.assertEqual(finished.code, 7, finished)
        # The first to end with 7 has the other stopped, perhaps before it prints.
        self.assertRegex(finished.out, "rank [01] ends")
        self.assertNotIn("command terminated", finished.err)
        self.vanishes(kept)
        self.assertEqual(self.verb("logs", "-f", run).code, 7)

    def test_a_run_that_ends_well(self):
        run, kept = self.detach()
        self.printed("rank 0", "rank 1")
        self.end(0)
        finished = self.verb("logs", "-f", run)
        self.assert_ok(finished)
        self.assertIn("2 ranks on 2 nodes, all ended with 0", finished.out)
        self.vanishes(kept)

    def test_what_follows_it_may_end(self):
        run, kept = self.detach()
        self.printed("rank 0", "rank 1")
        following = self.launching("logs", "-f", run)
        following.prints("rank [01] on")
        launcher = next(pid for pid, line in following.processes().items() if line.startswith(support.TOPRUN))
        os.kill(launcher, signal.SIGKILL)
        cluster.wait_for(lambda: not following.processes(), "nobody follows any more", SOON_S)
        self.assertTrue(kept.processes())
        self.end(0)
        self.assert_ok(self.verb("logs", "-f", run))

    def test_status_and_cancel(self):
        run, kept = self.detach()
        self.printed("rank 0", "rank 1")
        status = self.verb("status", run)
        self.assert_ok(status)
        self.assertRegex(status.out, rf"\Arun {run}\n  run +attempt 0: .*2 ranks on 2 nodes\n(  (phases|slowest)? .*\n)*"
                                     r"  ranks +job-master-0 +rank 0\s+job-worker-0 +rank 1")
        report = self.verb("status", "--json", run)
        self.assertEqual(json.loads(report.out)["schema"], "toprun.report/1")
        self.assert_ok(self.verb("cancel", run))
        self.assertEqual(self.verb("logs", "-f", run).code, 143)
        self.vanishes(kept)

    def test_the_root_that_dies_ends_the_others(self):
        _, kept = self.detach()
        self.printed("rank 0", "rank 1")
        pid = int(next(self.homes["job-master-0"].glob("toprun-runs-*/*/pid")).read_text())
        os.kill(pid, signal.SIGKILL)
        self.vanishes(kept)

    def test_one_agent_that_cannot_start_ends_the_others(self):
        """Which would wait for it for as long as agents wait for each other."""
        for env, said in [({"TMPDIR": "/nowhere"}, r"cannot make /nowhere/toprun-runs-\d+ on host job-worker-0: No such file"),
                          ({"PET_NPROC_PER_NODE": "many"}, "PET_NPROC_PER_NODE=many")]:
            with self.subTest(env):
                self.forget_pods()
                self.cluster_state["pods"].clear()
                self.sleeping(2, of_last=env)
                run = self.launching("run", "--in", JOB, "--detach", "--no-python", "sh", "-c", WAITS.format(self.go))
                finished = run.wait(SOON_S)
                self.assertEqual((finished.code, finished.out), (1 if "TMPDIR" in env else 2, ""), finished)
                self.assertRegex(finished.err, said)
                self.assertIn("toprun: no agent on job-worker-0: see above\n", finished.err)
                self.vanishes(run)
                outs = self.homes["job-master-0"].glob("toprun-runs-*/*/out")  # none where it had not come so far
                self.assertNotIn("rank 0 on", "".join(out.read_text() for out in outs))

    def test_a_connection_that_breaks_before_the_run_goes_on_ends_it(self):
        """One agent holds its login until all others are there."""
        self.sleeping(2)
        before = f'[ "$ON_POD" = job-master-0 ] || until [ -e {self.go} ]; do sleep 0.1; done'
        run = self.launching("run", "--in", JOB, "--detach", "--before", before, "--no-python", "true")
        cluster.wait_for(lambda: list(self.homes["job-master-0"].glob("toprun-runs-*/*/out")), "the root is ready", SOON_S)
        kubectl = next(pid for pid, line in run.processes().items() if " exec job-worker-0 " in line)
        os.kill(kubectl, signal.SIGKILL)
        finished = run.wait(SOON_S)
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        self.assertIn("lost the connection to job-worker-0", finished.err)
        self.go.touch()
        self.vanishes(run)

    def test_ids_that_are_none(self):
        self.sleeping(2)
        for id, code, said in [
                (f"{JOB}/0123", 1, "run job/0123: pod job-master-0 has no run with this id; .*"),
                ("other/0123", 1, "run other/0123: Kubernetes has no .*"),
                (f"{JOB}/x", 2, "run job/x: the run's id does not have the form JOB/RUN; .*")]:
            for verb in (("logs",), ("logs", "-f"), ("status",), ("cancel",)):
                with self.subTest(verb, id=id):
                    finished = self.verb(*verb, id)
                    self.assertEqual(finished.code, code, finished)
                    self.assert_one_line(finished, said)


class Shell(SleepingJob):
    def test_a_shell_in_a_pod(self):
        self.sleeping(2)
        for which, pod in (("", "job-master-0"), ("/1", "job-worker-0"), ("/job-worker-0", "job-worker-0")):
            with self.subTest(which):
                line = f"echo 'echo on $ON_POD; exit 5' | {support.TOPRUN} shell --attach {JOB}{which}"
                run = self.begin(*self.cluster.on("ctl", "sh", "-c", line), env=self.env)
                finished = run.wait(SOON_S)
                self.assertEqual((finished.code, finished.out), (5, f"on {pod}\n"), finished)
                self.assertIn(f"this shell runs in pod {pod}: its programs end when the connection ends", finished.err)
        finished = self.launch("shell", "--attach", f"{JOB}/2")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, "--attach job/2: the job has 2 pods, and no pod has this number; .*")

    def test_the_dry_run(self):
        self.sleeping(1)
        finished = self.launch("shell", "--attach", JOB, "--dry-run")
        self.assert_ok(finished)
        self.assertTrue(finished.out.startswith("kubectl exec job-master-0 -i -c pytorch -- sh -c "), finished)
        named = self.launch("shell", "--on", "kubernetes", "--attach", JOB, "--dry-run")
        self.assertEqual(named.out, finished.out, named)


if __name__ == "__main__":
    unittest.main()
