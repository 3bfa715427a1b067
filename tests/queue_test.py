# ctest: TIMEOUT 400 LABELS cluster
"""The queue's verbs on a real Slurm of four hosts in two racks (r0: n0, n2; r1: n1, n3): jobs,
status, logs, cancel, eta and cluster. It keeps no accounting, as small sites do."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import unittest

import cluster
import support

TOPRUN = support.TOPRUN
NOBODY = 65534


class Queue(cluster.SlurmCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def toprun(self, *words, **options):
        return self.login(TOPRUN, *words, **options)

    def submit(self, *words, script="sleep 100", folder=None):
        """Submits a script and returns the job's id."""
        submitted = self.login("sbatch", "--parsable", "-o", (folder or self.folder()) / "%x.%j.out",
                               *words, "--wrap", script)
        self.assert_ok(submitted)
        return submitted.out.strip()

    def in_state(self, job, state):
        cluster.wait_for(lambda: state in self.login("squeue", "-h", "-o", "%T", "-j", job).out,
                         f"{job} {state}")

    def assert_refused(self, finished, code, *patterns):
        self.assertEqual(finished.code, code, finished)
        for pattern in patterns:
            self.assertRegex(finished.err, pattern)
        self.assertEqual(finished.err.count("\n"), 1, finished)
        self.assertEqual(finished.out, "")

    @contextlib.contextmanager
    def stopped_slurmctld(self):
        pids = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if self.is_our_slurmctld(pid)]
        self.assertEqual(len(pids), 1)
        os.kill(pids[0], signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pids[0], signal.SIGCONT)

    def is_our_slurmctld(self, pid):
        try:
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode()
        except OSError:
            return False
        return line.startswith(b"slurmctld\0") and f"/{self.cluster.name}/" in environment


class Waiting(Queue):
    def setUp(self):
        self.running = self.submit("-N4", "--exclusive", "-J", "first", "-t", "10")
        self.in_state(self.running, "RUNNING")

    def test_what_waits_and_why(self):
        waiting = self.submit("-N4", "--exclusive", "-J", "second|part", "-t", "5")
        dependent = self.submit("-d", f"afterok:{self.running}", "-J", "third")
        held = self.submit("-H", "-J", "fourth")
        array = self.submit("-a", "1-3%2", "-J", "fifth", "--exclusive")
        # Slurm gives each its reason in its own time, at first some the wrong one.
        wanted = [(waiting, "(Resources)"), (dependent, "(Dependency)"), (held, "(JobHeldUser)")]
        cluster.wait_for(
            lambda: all(re.search(rf"^ *{job} .*{re.escape(reason)}  ", self.toprun("jobs").out, re.M)
                        for job, reason in wanted), "the reasons")
        finished = self.toprun("jobs")
        self.assert_ok(finished)
        table, reasons = finished.out.split("\n\n")
        rows = [line.split() for line in table.splitlines()]
        self.assertEqual(rows[0], ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES",
                                   "NODELIST(REASON)", "STATUS"])
        found = {row[0]: row for row in rows[1:]}
        self.assertEqual(found[self.running][1:5], ["main", "first", "root", "R"])
        self.assertEqual(found[self.running][6:], ["4", "n[0-3]", "running"])
        self.assertEqual(found[waiting][1:],
                         ["main", "second|part", "root", "PD", "0:00", "4", "(Resources)", "waiting"])
        self.assertEqual(found[dependent][-2], "(Dependency)")
        self.assertEqual(found[held][-2], "(JobHeldUser)")
        self.assertIn(f"{array}_[1-3%2]", found)
        self.assertIn("Dependency: a job that it depends on has not ended yet", reasons)
        self.assertIn("JobHeldUser: its owner holds it: scontrol release", reasons)

        written = json.loads(self.toprun("jobs", "--json").out)
        self.assertEqual((written["schema"], written["engine"]), ("toprun.jobs/1", "slurm"))
        by_id = {job["id"]: job for job in written["jobs"]}
        self.assertEqual(by_id[self.running]["state"], "running")
        self.assertEqual(by_id[self.running]["limit_s"], 600)
        self.assertEqual(by_id[waiting]["reason"], "Resources")
        self.assertEqual(by_id[waiting]["name"], "second|part")
        self.assertEqual(by_id[f"{array}_[1-3%2]"]["array"], array)
        self.assertRegex(by_id[waiting]["submitted"], r"^20\d\d-.*Z$")

        for verb in "status", "eta":
            with self.subTest(verb):
                told = self.toprun(verb, dependent).out
                self.assertIn(f"job {self.running} must end with exit code 0 first; its state is RUNNING",
                              told)
        told = self.toprun("eta", waiting).out
        self.assertIn("Resources: the nodes or GPUs that it asks for are in use", told)
        self.assertRegex(told, f"next running job to reach its time limit is "
                               rf"{self.running} on n\[0-3\], in \d+ min")
        everything = json.loads(self.toprun("eta", "--json").out)
        self.assertEqual({job["id"] for job in everything["jobs"]},
                         {waiting, dependent, held, f"{array}_[1-3%2]"})
        status = self.toprun("status", waiting)
        self.assert_ok(status)
        self.assertRegex(status.out, rf"\Ajob {waiting} \(second\|part\) of root, partition main\n")
        self.assertIn("PENDING: waiting", status.out)
        nothing_yet = self.toprun("logs", waiting)
        self.assert_ok(nothing_yet)
        self.assertIn(f"job {waiting} has printed nothing yet", nothing_yet.err)

    def test_another_users_jobs(self):
        finished = self.login("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                              TOPRUN, "cancel", self.running)
        self.assert_refused(finished, 1, f"toprun: job {self.running} belongs to root: .*denied.*; only the job's owner and Slurm's operators may do this")
        nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", TOPRUN)
        self.assertNotIn(self.running, self.login(*nobody, "jobs").out)
        self.assertIn(self.running, self.login(*nobody, "jobs", "--all").out)
        self.assert_ok(self.login(*nobody, "status", self.running))

    def test_cancel(self):
        dry = self.toprun("cancel", "--dry-run", "--signal", "sigusr1", self.running)
        self.assert_ok(dry)
        self.assertEqual(dry.out, f"scancel --signal USR1 {self.running}\n")
        self.assert_ok(self.login("squeue", "-h", "-j", self.running))
        array = self.submit("-a", "1-3", "--exclusive")
        both = self.toprun("cancel", f"{array}_[2-3]", "999999", self.running)
        self.assertEqual(both.code, 1, both)
        self.assertIn("job 999999 is unknown", both.err)
        self.assertIn(f"asked these jobs to end: {array}_[2-3], {self.running}", both.err)
        cluster.wait_for(lambda: "RUNNING" in self.login("squeue", "-h", "-o", "%T", "-j",
                                                         f"{array}_1").out, "the one left")
        again = cluster.wait_for(lambda: (tried := self.toprun("cancel", self.running)).code and tried,
                                 "all its nodes are free")
        self.assert_refused(again, 1, f"job {self.running} has already ended: cancelled by a user")

    def test_a_signal_that_slurm_refuses_because_the_job_is_ending(self):
        folder = self.folder()
        for program, text in (
                ("scancel", "echo 'scancel: error: Kill job error on job id 19: Invalid job id specified' >&2; exit 1"),
                *((each, f"{shutil.which(each)} \"$@\" | sed s/RUNNING/COMPLETING/g") for each in ("squeue", "scontrol"))):
            (folder / program).write_text(f"#!/bin/sh\n{text}\n")
            (folder / program).chmod(0o755)
        refused = self.toprun("cancel", "--signal", "KILL", self.running,
                              env={"PATH": f"{folder}:{os.environ['PATH']}"})
        self.assert_refused(refused, 1, rf"toprun: job {self.running} is already ending: .*Invalid job id specified")

    def test_a_job_that_slurm_refused_at_its_submission(self):
        folder = self.folder()
        self.assertEqual(self.login("sbatch", "-N1", "--mem=999999G", "-J", "toobig", "--wrap", "true", cwd=folder).code, 1)
        known = self.login("scontrol", "show", "job", "-o").out
        refused = re.search(r"(?m)^JobId=(\d+) JobName=toobig .*JobState=FAILED", known)[1]
        self.assertNotIn("toobig", self.login(TOPRUN, "jobs", "--recent", cwd=folder).out)
        for verb in "status", "eta":
            told = self.login(TOPRUN, verb, refused, cwd=folder).out
            self.assertRegex(told, r"(FAILED: |\(toobig\): )not started: Slurm refused it: no node fits what it asks for", verb)
            self.assertNotIn("started at", told)

    def test_unknown_and_malformed_ids(self):
        for verb in "status", "logs", "cancel", "eta":
            with self.subTest(verb):
                self.assert_refused(self.toprun(verb, "999999"), 1,
                                    "toprun: job 999999 is unknown: Slurm does not know this job; Slurm forgets jobs "
                                    "10 s after their end, and there is no accounting here "
                                    r"\(Slurm accounting storage is disabled\)")
                self.assert_refused(self.toprun(verb, "train.py"), 2,
                                    "toprun: job id train.py: ")
        self.assert_refused(self.toprun("logs", "-f", "999999"), 1, "job 999999 is unknown")
        self.assert_refused(self.toprun("cancel", "--signal", "NOPE", self.running), 2,
                            "toprun: --signal NOPE: no such signal")

    def test_an_engine_that_does_not_answer(self):
        with self.stopped_slurmctld():
            no_answer = r"cannot ask Slurm: s[a-z]+ failed: no answer within 1\.0 s; check with `scontrol ping`"
            for words in (["jobs"], ["status", self.running], ["cancel", self.running]):
                with self.subTest(words):
                    finished = self.toprun(*words, env={"TOPRUN_ENGINE_TIMEOUT": "1"})
                    self.assert_refused(finished, 1, f"toprun: {no_answer}")
            path = self.folder() / self.running
            path.mkdir()
            (path / "n0.out").write_text("hello\n")
            for words in ["cancel"], ["eta"], ["stacks"], ["logs", "-f"]:
                with self.subTest(words):
                    finished = self.toprun(*words, path, env={"TOPRUN_ENGINE_TIMEOUT": "1"})
                    self.assert_refused(finished, 2 if "-f" in words else 1, rf"toprun: (--follow|{path}): .*{no_answer}")
            (path / "report.json").write_text('{"schema": "toprun.report/1", "exit_code": 0, "attempts": []}')
            for words in ["status"], ["status", "--json"], ["logs"], ["report"]:
                with self.subTest(words):
                    finished = self.toprun(*words, path, env={"TOPRUN_ENGINE_TIMEOUT": "1"})
                    self.assert_ok(finished)
                    self.assertRegex(finished.err, rf"\Atoprun: {no_answer}.*; the \w+ is from the job's files\n\Z")
            finished = self.toprun("cluster", env={"TOPRUN_ENGINE_TIMEOUT": "1"})
            self.assertEqual(finished.code, 1)
            self.assertIn("$HOME", finished.out)

    def test_programs_that_warn(self):
        folder = self.folder()
        for program in "squeue", "scontrol":
            path = folder / program
            path.write_text(f"#!/bin/sh\necho {program}: warning: old version >&2\n"
                            f'exec {shutil.which(program)} "$@"\n')
            path.chmod(0o755)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "SQUEUE_FORMAT": "%j",
                       "SQUEUE_PARTITION": "urgent", "SLURM_TIME_FORMAT": "relative"}
        jobs = self.toprun("jobs", env=environment)
        self.assert_ok(jobs)
        self.assertRegex(jobs.out, rf"(?m)^ *{self.running} +main +first +root +R ")
        self.assertEqual(jobs.err, "squeue: warning: old version\n")  # passed on, not read
        self.assertRegex(self.toprun("status", self.running, env=environment).out, r"(?m)^  state +RUNNING$")

    def test_a_program_that_never_answers(self):
        folder = self.folder()
        # Of the programs that do answer, which is slow where others use the processors.
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "TOPRUN_ENGINE_TIMEOUT": "4"}
        for program, words in [
            ("squeue", ["jobs"]), ("scontrol", ["status", self.running]),
            ("scancel", ["cancel", self.running]), ("sbatch", ["submit", "--no-python", "true"]),
        ]:
            with self.subTest(program):
                path = folder / program
                path.write_text("#!/bin/sh\nsleep 100 & exec sleep 100\n")
                path.chmod(0o755)
                finished = self.login(TOPRUN, *words, env=environment, cwd=self.folder())
                path.unlink()
                self.assertEqual((finished.code, finished.out), (1, ""), finished)
                self.assertRegex(finished.err, rf"(?m)^toprun: .*{program}.* failed: no answer within "
                                               "4.0 s; ")
                self.assertEqual(finished.err.count("\n"), 1)


class Logs(Queue):
    def test_follows_until_the_end(self):
        folder = self.folder()
        go = folder / "go"
        job = self.submit("-N1", folder=folder, script=f"echo first; until test -e {go}; do sleep 0.1; "
                                                       "done; echo last; printf rest; exit 7")
        run = self.start("ctl", TOPRUN, "logs", "-f", job)
        out = folder / f"wrap.{job}.out"
        cluster.wait_for(lambda: out.exists() and "first" in out.read_text(), "output")
        go.touch()
        finished = run.wait(40)
        self.assertEqual(finished.code, 7, finished)
        self.assertEqual(finished.out, "first\nlast\nrest\n")
        self.assertRegex(finished.err, f"job {job}: failed, exit code 7")
        self.assertEqual(self.toprun("logs", job).out, "first\nlast\nrest\n")

    def following(self, run):
        """The pid of its toprun, once that has found the job. Until then Ctrl-C just ends it."""
        pids = cluster.wait_for(lambda: [pid for pid, line in run.processes().items()
                                         if line.startswith(TOPRUN)], "toprun")
        cluster.wait_for(lambda: "\nSigBlk:\t0000000000004002\n"
                         in pathlib.Path(f"/proc/{pids[0]}/status").read_text(), "following")
        return pids[0]

    def test_ctrl_c_leaves_the_job_alone(self):
        job = self.submit("-N1", script="echo here; sleep 100")
        run = self.start("ctl", "sh", "-c", 'exec "$@"', "-", TOPRUN, "logs", "-f", job)
        self.in_state(job, "RUNNING")
        os.kill(self.following(run), signal.SIGINT)
        finished = run.wait(20)
        self.assertIn(f"job {job} is not cancelled: toprun logs -f {job} follows the job again", finished.err)
        self.assertIn("RUNNING", self.login("squeue", "-h", "-o", "%T", "-j", job).out)

    def test_any_name_that_sbatch_gives_a_file(self):
        folder = self.folder()
        job = self.submit("-N1", "-w", "n1", "-J", "a b", "-o",
                          folder / "%x_%A_%5j_%J_%N_%n_%s_%t_%u_%%.log", script="echo hi")
        finished = self.start("ctl", TOPRUN, "logs", "-f", job).wait(40)
        self.assertEqual(finished.out, "hi\n", finished)
        self.assertEqual([path.name for path in folder.iterdir()],
                         [f"a b_{job}_{int(job):05}_{job}_n1_0_batch_0_root_%.log"])

    def test_goes_on_while_the_engine_does_not_answer(self):
        folder = self.folder()
        job = self.submit("-N1", folder=folder, script=f"until test -e {folder}/go; do sleep 0.1; "
                                                       "done; echo late")
        self.in_state(job, "RUNNING")
        run = self.start("ctl", TOPRUN, "logs", "-f", job, env={"TOPRUN_ENGINE_TIMEOUT": "3"})
        self.following(run)
        with self.stopped_slurmctld():
            run.says("no answer within")
        (folder / "go").touch()
        finished = run.wait(60)
        self.assert_ok(finished)
        self.assertEqual(finished.out, "late\n")
        self.assertRegex(finished.err, "(?m)^toprun: cannot ask Slurm: scontrol failed: no answer "
                                       "within 3.0 s; .*; toprun still follows the job and tries again$")
        self.assertIn("toprun: the engine answers again\n", finished.err)

    def test_one_rank_of_a_job_that_has_not_begun(self):
        job = self.submit("-H")
        for choice in ("--rank", "1"), ("--node", "n1"):
            finished = self.toprun("logs", job, *choice)
            self.assertEqual((finished.code, finished.out), (0, ""), finished)
            self.assertRegex(finished.err, rf"^toprun: job {job} has printed nothing yet: waiting; its output will be in ")

    def test_one_node_of_a_job_that_writes_its_report_elsewhere(self):
        """Its folder has no report.json from which one could see that it has begun."""
        folder = self.folder()
        job = self.submit("-N1", folder=folder)
        self.in_state(job, "RUNNING")
        (folder / job).mkdir()
        act = {"act": "submitted", "at": "2026-11-28T05:21:30.000Z", "by": "ada", "name": "a", "report": f"{folder}/r.json"}
        (folder / job / "story.jsonl").write_text(json.dumps(act) + "\n")
        (folder / job / "n1.out").write_text("hello\n")
        finished = self.toprun("logs", job, "--node", "n1")
        self.assertEqual((finished.code, finished.out), (0, "hello\n"), finished)

    def test_ranks_of_mpirun_cannot_be_looked_at(self):
        folder = self.folder()
        job = self.submit("-N1", folder=folder)
        self.in_state(job, "RUNNING")
        (folder / job).mkdir()
        (folder / job / "story.jsonl").write_text('{"act":"submitted","at":"2026-11-28T05:21:30.000Z","by":"ada","launcher":"mpirun"}\n')
        for verb in "top", "stacks":
            self.assert_refused(self.toprun(verb, job), 1,
                                rf"mpirun starts this job's ranks \(--launcher mpirun\), and toprun {verb} sees only ranks "
                                rf"that toprun starts; toprun logs -f {job} shows their output$")

    def test_a_script_s_own_argument_is_no_launcher(self):
        folder = self.folder()
        job = self.submit("-N1", folder=folder)
        self.in_state(job, "RUNNING")
        (folder / job).mkdir()
        (folder / job / "job.sbatch").write_text("#!/bin/bash\nexec /opt/toprun train.py --launcher=mpirun --lr 1\n")
        (folder / job / "story.jsonl").write_text('{"act":"submitted","at":"2026-11-28T05:21:30.000Z","by":"ada"}\n')
        self.assertNotIn("mpirun", self.toprun("stacks", job).err)

    def test_a_word_that_names_no_job_keeps_no_other_from_its_answer_or_its_end(self):
        folder = self.folder()
        jobs = [self.submit("-H") for _ in range(2)]
        (folder / "999998").mkdir()  # Slurm has forgotten this one
        (folder / "999998" / "report.json").write_text('{"schema": "toprun.report/1", "exit_code": 3, "attempts": []}')
        words = [jobs[0], "./999998", "./none", jobs[1]]
        end = r"job 999998: failed, exit code 3 \(from its files; Slurm has forgotten it\)"
        none = r"toprun: \./none: there is no such file; .*"
        told = self.toprun("eta", *words, cwd=folder)
        self.assertEqual(told.code, 2, told)
        self.assertRegex(told.err, rf"\A{none}\n\Z")
        self.assertRegex(told.out, rf"(?s)\Ajob {jobs[0]} .*\njob {jobs[1]} .*\n{end}\n\Z")
        alone = self.toprun("eta", "--json", "./999998", cwd=folder)
        self.assert_ok(alone)
        self.assertEqual([(job["id"], job["exit_code"]) for job in json.loads(alone.out)["jobs"]], [("999998", 3)])
        self.assert_refused(self.toprun("eta", "./none", cwd=folder), 2, rf"\A{none}\n\Z")
        sent = self.toprun("cancel", *words, cwd=folder)
        self.assertEqual(sent.code, 2, sent)
        self.assertRegex(sent.err, rf"\Atoprun: nothing to cancel: {end}\n{none}\n"
                                   rf"toprun: asked these jobs to end: {jobs[0]}, {jobs[1]}\n\Z")
        self.assertEqual(self.login("squeue", "-h", "-o", "%i", "-j", ",".join(jobs)).out, "")

    def test_a_signal_is_not_for_a_job_that_waits(self):
        """scancel would repeat it until the job runs."""
        waits = self.submit("-H")
        refused = self.toprun("cancel", "--signal", "USR1", waits)
        self.assert_refused(refused, 1, f"toprun: job {waits} waits: only a running job can get a signal")

    def test_a_signal_is_for_the_tasks_that_run(self):
        folder = self.folder()
        task = folder / "task.sh"
        task.write_text("trap 'echo >> got.$SLURM_ARRAY_TASK_ID' USR1; touch runs.$SLURM_ARRAY_TASK_ID; "
                        "while true; do sleep 0.1; done")
        array = self.submit("-a", "0-4%2", "-N1", folder=folder, script=f"cd {folder}; srun -n1 sh {task}")
        cluster.wait_for(lambda: len(list(folder.glob("runs.*"))) == 2, "two tasks run", 30)
        dry = self.toprun("cancel", "--dry-run", "--signal", "USR1", array)
        self.assertEqual(dry.out, f"timeout 4 scancel --verbose --signal USR1 '{array}_[0-1]'\n")
        sent = self.toprun("cancel", "--signal", "USR1", array)
        self.assert_ok(sent)
        self.assertEqual(sent.err, f"toprun: sent USR1 to {array}_[0-1]; 3 tasks of job {array} wait and get no signal\n")
        one = self.toprun("cancel", "--signal", "USR1", f"{array}_1")
        self.assertEqual((one.code, one.err), (0, f"toprun: sent USR1 to {array}_1\n"))
        self.assertEqual([(folder / f"got.{task}").read_text() for task in (0, 1)], ["\n", "\n\n"])  # once each time
        self.assert_ok(self.toprun("cancel", array))

    def test_a_signal_to_tasks_by_name_goes_to_ten_at_a_time(self):
        """scancel's ten threads are each busy with one task, if other tasks wait."""
        folder = self.folder()
        array = self.submit("-a", "0-14%13", "-c", "1", folder=folder, script=f"touch {folder}/runs.$SLURM_ARRAY_TASK_ID; sleep 100")
        cluster.wait_for(lambda: len(list(folder.glob("runs.*"))) == 13, "13 tasks run", 30)
        some = [f"{array}_{n}" for n in range(11)]
        dry = self.toprun("cancel", "--dry-run", "--signal", "USR1", *some, f"{array}_[10-12]")
        self.assertEqual(dry.out, f"timeout 4 scancel --verbose --signal USR1 '{array}_[0-9]'\n"
                                  f"timeout 4 scancel --verbose --signal USR1 '{array}_[10-12]'\n")
        (folder / array).mkdir()
        (folder / "scancel").write_text(  # the second part fails
            f"#!/bin/sh\ncase $* in *10*) echo 'scancel: error: no answer' >&2; exit 1;; esac\nexec {shutil.which('scancel')} \"$@\"\n")
        (folder / "scancel").chmod(0o755)
        sent = self.toprun("cancel", "--signal", "HUP", *some, env={"PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual((sent.code, sent.err.splitlines()), (1, [
            "toprun: sent HUP to 10 of 11 tasks", "toprun: scancel failed: scancel: error: no answer",
            "toprun: sent HUP to " + ", ".join(some[:10])]))
        story = (folder / array / "story.jsonl").read_text()
        self.assertEqual([json.loads(line)["tasks"] for line in story.splitlines()], [str(n) for n in range(10)])

    def test_a_task_that_ends_before_its_signal_keeps_it_from_no_other(self):
        folder = self.folder()
        array = self.submit("-a", "0-4%2", "-N1", folder=folder)
        (folder / array).mkdir()
        (folder / "scancel").write_text(
            f"#!/bin/sh\necho 'scancel: Signal 10 to job {array}_0\nscancel: error: Kill job error on job id {array}_1: '$GONE'\n"
            "scancel: Job is in transitional state, retrying' >&2; exit 124\n")
        (folder / "scancel").chmod(0o755)
        cluster.wait_for(lambda: self.login("squeue", "-h", "-t", "R", "-j", array).out.count("\n") == 2, "two tasks run", 30)
        for gone in "Invalid job id specified", "Job/step already completing or completed":
            sent = self.toprun("cancel", "--signal", "HUP", array, env={"PATH": f"{folder}:{os.environ['PATH']}", "GONE": gone})
            self.assertEqual((sent.code, sent.err), (0, f"toprun: {array}_1 had already ended and got no signal\n"
                             f"toprun: sent HUP to {array}_0; 3 tasks of job {array} wait and get no signal\n"))
        story = (folder / array / "story.jsonl").read_text()
        self.assertEqual([json.loads(line)["tasks"] for line in story.splitlines()], ["0", "0"])

    def test_the_list_of_waiting_tasks_is_asked_in_full(self):
        array = self.submit("-a", ",".join(str(n * (n + 1) // 2) for n in range(40)), "-H")
        for words in ("jobs", "--json"), ("status", array), ("eta", array):
            self.assertIn("703,741,780", self.toprun(*words).out, words)

    def test_a_list_of_waiting_tasks_that_is_shortened_all_the_same(self):
        folder = self.folder()
        array = self.submit("-a", ",".join(str(n * (n + 1) // 2) for n in range(40)) + "%1", "-N1", folder=folder)
        self.in_state(f"{array}_0", "RUNNING")
        (folder / "scontrol").write_text(f"#!/bin/sh\nSLURM_BITSTR_LEN=64 exec {shutil.which('scontrol')} \"$@\"\n")
        (folder / "scontrol").chmod(0o755)
        env = {"PATH": f"{folder}:{os.environ['PATH']}"}
        self.assertTrue(self.toprun("status", array, env=env).out.startswith(
            f"array {array} (wrap): 2 or more tasks: 1 running, 1 or more waiting\n"))
        for id, sent in ((array, f"{array}_0; some tasks of job {array} wait and get no signal"), (f"{array}_[0]", f"{array}_[0]")):
            self.assertEqual(self.toprun("cancel", "--signal", "USR1", id, env=env).err, f"toprun: sent USR1 to {sent}\n")

    def test_an_array(self):
        tasks = ["1", "2", "10"]
        array = self.submit("-a", ",".join(tasks), "-N1", script="echo I am $SLURM_ARRAY_TASK_ID; "
                                                                "exit $SLURM_ARRAY_TASK_ID")
        followed = self.start("ctl", TOPRUN, "logs", "-f", array).wait(40)
        self.assertEqual(followed.code, 10, followed)  # the highest, as sbatch --wait
        lines = [f"{array}_{task}: I am {task}" for task in tasks]
        self.assertEqual(sorted(followed.out.splitlines()), sorted(lines))
        ends = [f"toprun: job {array}_{task}: failed, exit code {task}" for task in tasks]
        self.assertEqual(followed.err.splitlines()[-3:], ends)
        shown = self.toprun("logs", array)
        self.assertEqual((shown.out.splitlines(), shown.err.splitlines()), (lines, ends))
        status = self.toprun("status", array).out
        self.assertTrue(status.startswith(f"array {array} (wrap): 3 tasks: 3 failed\n\njob {array}_1 (wrap) "), status)
        self.assertEqual(re.findall(r"(?m)^job (\S+)", status), [f"{array}_{task}" for task in tasks])
        self.assertEqual(self.toprun("logs", f"{array}_2").out, "I am 2\n")
        self.assertIn("exit code 2", self.toprun("status", f"{array}_2").out)

    def test_an_array_of_many_tasks(self):
        array = self.submit("-a", "0-9", "-N1", "-J", "many", script="exit $((SLURM_ARRAY_TASK_ID == 4 ? 3 : 0))")
        cluster.wait_for(lambda: not self.login("squeue", "-h", "-j", array).out.strip(), "its end")
        status = self.toprun("status", array).out
        self.assertTrue(status.startswith(f"array {array} (many): 10 tasks: 9 succeeded, 1 failed\n\njob {array}_4 (many) "), status)
        self.assertEqual(re.findall(r"(?m)^job (\S+)", status), [f"{array}_4"])
        self.assertEqual(re.findall(rf"(?m)^  {array}_(\d+) +ended with exit code 0$", status), list("012356789"))
        self.assertTrue(status.endswith(f"\n  toprun status {array}_N shows one task\n"), status)

    def test_an_array_of_which_slurm_has_forgotten_a_task(self):
        """Slurm forgets tasks one by one; their files are beside those of the others."""
        folder = self.folder()
        array = self.submit("-a", "1", "-N1", folder=folder,
                            script=f"echo I am 1; until [ -e {folder}/go ]; do sleep 0.1; done")
        self.in_state(f"{array}_1", "RUNNING")
        (folder / f"{array}_0").mkdir()
        (folder / f"{array}_0" / "n0.out").write_text("before\nI am 0\n")
        report = {"schema": "toprun.report/1", "exit_code": 7, "attempts": []}
        (folder / f"{array}_0" / "report.json").write_text(json.dumps(report))
        lines = [f"{array}_0: I am 0", f"{array}_1: I am 1"]
        cluster.wait_for(lambda: "I am 1" in self.toprun("logs", array).out, "its output")
        self.assertEqual(self.toprun("logs", "-n", "1", array).out.splitlines(), lines)
        status = self.toprun("status", array).out
        self.assertRegex(status, rf"\Aarray {array} \(wrap\): 2 tasks: 1 running, 1 failed\n\n"
                                 rf"job {array}_0\n  state      failed, exit code 7 \(from its files; Slurm has forgotten it\)\n")
        self.assertIn(f"\njob {array}_1 (wrap)", status)
        eta = json.loads(self.toprun("eta", array, "--json").out)["jobs"]
        self.assertEqual({job["id"]: (job["state"], job["exit_code"], job["waits_for"]) for job in eta},
                         {f"{array}_0": ("failed", 7, []), f"{array}_1": ("running", None, [])})
        following = self.start("ctl", TOPRUN, "logs", "-f", "-n", "1", array)
        following.prints("I am 1")
        (folder / "go").touch()
        followed = following.wait(40)
        self.assertEqual((followed.code, sorted(followed.out.splitlines())), (7, lines), followed)
        self.assertEqual(followed.err.splitlines()[-2:], [
            f"toprun: job {array}_0: failed, exit code 7 (from its files; Slurm has forgotten it)",
            f"toprun: job {array}_1: ended with exit code 0"])

    def test_a_run_before_a_requeue_may_have_been_on_more_nodes(self):
        folder = self.folder()
        job = self.submit("-N1", folder=folder, script="true")
        cluster.wait_for(lambda: (folder / f"wrap.{job}.out").exists(), "the job has begun")
        (folder / job).mkdir()
        for host in "n1", "n2":
            (folder / job / f"{host}.out").write_text(f"step on {host}\n")
        for words in ([job], ["-f", job]):
            shown = self.start("ctl", TOPRUN, "logs", *words).wait(40)
            self.assertEqual(shown.out, "n1: step on n1\nn2: step on n2\n", shown)

    def test_the_last_of_a_failed_job_is_what_broke(self):
        """Its peers' last lines, which are many, stand before it; stdout has the job's output alone."""
        folder = self.folder()
        job = self.job_of_toprun(folder, "--nproc-per-node", "2", worker="trap 'seq 20 | sed s/^/peer\\ /; exit 1' TERM; "
                                 f"touch {folder}/trap.$RANK; [ $RANK != 1 ] || {{ until test $(ls {folder} | "
                                 "grep -c ^trap.) = 4; do sleep 0.1; done; exit 9; }")
        cluster.wait_for(lambda: "FAILED" in self.toprun("status", job).out, "its end", 60)
        broke = "rank 1 on n0 ended with exit code 9"
        shown = self.toprun("logs", job)
        self.assert_ok(shown)
        self.assertEqual(shown.err, f"toprun: job {job}: failed: {broke}\n")
        self.assertIn("n1: peer 20", shown.out)
        self.assertIn(broke, "\n".join(shown.out.splitlines()[-10:]))
        tail = self.login("sh", "-c", f"{TOPRUN} logs {job} 2>&1 | tail -n 1")
        self.assertEqual(tail.out, shown.err)
        os.rename(folder / job, folder / "999996")  # Slurm has forgotten it
        self.assertRegex(self.toprun("logs", "999996", cwd=folder).err,
                         rf"\Atoprun: job 999996.*: failed: {broke}, 20.* \(from its files; Slurm has forgotten it\)\n\Z")

    def job_of_toprun(self, folder, *options, worker):
        """A job laid out as `toprun submit` does; its id. Each rank waits for `folder`/go."""
        lines = f"{worker}; until test -e {folder}/go; do sleep 0.1; done; echo $RANK ends"
        script = folder / "job.sh"
        script.write_text(
            f"#!/bin/bash\nd={folder}/$SLURM_JOB_ID; mkdir $d\n"
            f"srun -N2 --ntasks-per-node=1 -o $d/%N.out {TOPRUN} {shlex.join(options)} "
            f"--report $d/report.json --log-dir $d --no-python sh -c {shlex.quote(lines)}\n")
        submitted = self.login("sbatch", "--parsable", "-N2", "-w", "n0,n1", "-o",
                               folder / "%x.%j.out", script)
        self.assert_ok(submitted)
        return submitted.out.strip()

    def test_a_run_of_toprun(self):
        folder = self.folder()
        job = self.job_of_toprun(folder, "--nproc-per-node", "2", "--tee", "3",
                                 worker="echo $RANK begins")
        report = folder / job / "report.json"
        cluster.wait_for(lambda: report.exists() and self.ranks_run(report), "ranks")
        live = json.loads(report.read_text())
        self.assertIsNone(live["exit_code"])
        self.assertIsNone(live["ended"])
        status = self.toprun("status", job)
        self.assert_ok(status)
        self.assertIn("run        attempt 0: running; 4 ranks on 2 nodes", status.out)
        self.assertRegex(status.out, r"(?m)^  phases     nodes joined .*, ordered .*, ranks started .*s$")
        for row in re.findall(r"(?m)^  slowest +(.*)$", status.out):  # only what took long
            self.assertRegex(row, r"n[01] took ([1-9]\d\d ms|\d+\.\d s) to (join|start its ranks) \(median .*\)$")
        self.assertRegex(status.out, r"n0  ranks 0-1  /core/r0/n0")
        self.assertRegex(status.out, r"n1  ranks 2-3  /core/r1/n1")
        written = json.loads(self.toprun("status", "--json", job).out)
        self.assertEqual(written["schema"], "toprun.status/1")
        self.assertEqual(written["jobs"][0]["report"]["schema"], "toprun.report/1")
        for path in job, f"{job}/n0.out", f"job.sh.{job}.out":
            written = json.loads(self.toprun("report", f"./{path}", cwd=folder).out)
            self.assertEqual((written["id"], written.get("state")), (job, "running"), path)
        for choice, words in ("--node n7", "choose one of: n0, n1"), ("--rank 4", "ranks 0 to 3"):
            followed = self.start("ctl", TOPRUN, "logs", "-f", job, *choice.split()).wait(20)
            self.assertEqual(followed.code, 2, followed)
            self.assertIn(words, followed.err)
        run = self.start("ctl", TOPRUN, "logs", "-f", job)
        (folder / "go").touch()
        finished = run.wait(40)
        self.assert_ok(finished)
        for line in ["n0: 0 begins", "n0: 1 ends", "n1: 3 begins", "n1: 2 ends"]:
            self.assertRegex(finished.out, rf"(?m)^{line[:4]}.*{line[4:]}$")
        self.assertEqual(json.loads(report.read_text())["exit_code"], 0)
        self.assertEqual(self.toprun("logs", job, "--rank", "3").out, "3 begins\n3 ends\n")
        of_node = self.toprun("logs", job, "--node", "n1").out
        self.assertRegex(of_node, "(?m)^.*2 begins$")
        self.assertNotIn("0 begins", of_node)
        self.assert_refused(self.toprun("logs", job, "--node", "n7"), 2,
                            "--node n7: the job has no output from this node; choose one of: n0, n1")
        self.assert_refused(self.toprun("logs", job, "--rank", "4"), 2,
                            "--rank 4: the job has ranks 0 to 3")
        self.forgotten(folder, job)

    def ranks_run(self, report):
        return json.loads(report.read_text())["attempts"][-1]["phases_ms"]["spawn"] is not None

    def forgotten(self, folder, job):
        """A job that Slurm does not know is found by its files."""
        old = folder / "999999"
        os.rename(folder / job, old)
        status = self.toprun("status", "999999", cwd=folder)
        self.assert_ok(status)
        self.assertRegex(status.out, r"\Ajob 999999 \(job\.sh\)\n  state      ended with exit code 0 "
                                     r"\(from its files; Slurm has forgotten it\)\n")
        self.assertIn("ended with exit code 0; 4 ranks on 2 nodes", status.out)
        logs = self.toprun("logs", "999999", cwd=folder.parent)
        self.assert_ok(logs)
        self.assertRegex(logs.out, "(?m)^n1: .*2 begins$")
        for path in old, old / "report.json":
            logs = self.toprun("logs", path, cwd="/")
            self.assert_ok(logs)
            self.assertRegex(logs.out, "(?m)^n1: .*2 begins$")
            status = self.toprun("status", path, cwd="/")
            self.assert_ok(status)
            self.assertIn("ended with exit code 0; 4 ranks on 2 nodes", status.out)
        for word, where in (".", old), ("..", old / "deeper"), ("999999/n1.out", folder), ("job.sh.999999.out", folder):
            with self.subTest(word=word):
                where.mkdir(exist_ok=True)
                (folder / "job.sh.999999.out").touch()
                for verb in "status", "logs":
                    shown = self.toprun(verb, word, cwd=where)
                    self.assert_ok(shown)
                    self.assertRegex(shown.out, r"\Ajob 999999 " if verb == "status" else "(?m)^n1: .*2 begins$")
        (old / "deeper").rmdir()
        for verb in "status", "logs":
            shown = self.toprun(verb, cwd=old)
            self.assertRegex(shown.err, r"\Atoprun: job 999999, whose folder this is\n")
            self.assertIn("job 999999 " if verb == "status" else "2 begins", shown.out)
        for verb in "status", "logs", "eta", "cancel":
            with self.subTest(verb=verb):
                self.assert_refused(self.toprun(verb, folder.name, cwd=folder.parent), 2,
                                    f"{folder.name}: it is a folder, and not the folder or the report of a job; "
                                    "give the id or the folder of one of the jobs in it: 999999")
                for gone in "999998", "999998.out", "job.sh.999998.out":
                    self.assert_refused(self.toprun(verb, f"{folder.name}/{gone}", cwd=folder.parent), 2,
                                        f"{folder.name}/{gone}: there is no such file; give the job's id")
        self.assert_refused(self.toprun("logs", "/"), 2, "it is a folder, and not the folder or the report of a job; "
                                                         "give the job's id, .*, or its folder, as in logs/17")

    def test_a_restarted_job_with_a_file_per_rank(self):
        folder = self.folder()
        job = self.job_of_toprun(folder, "--nproc-per-node", "1", "--max-restarts", "1", "--redirects", "3",
                                 worker='echo $TOPRUN_ATTEMPT begins >&2; '
                                        'test $TOPRUN_ATTEMPT = 1 || test $RANK = 0 || exit 9')
        cluster.wait_for(lambda: "last line  1 begins" in self.toprun("status", job).out, "the last line of a rank")
        (folder / "go").touch()
        self.assert_ok(self.start("ctl", TOPRUN, "logs", "-f", job).wait(40))
        logs = self.toprun("logs", job, "--rank", "1")
        self.assertEqual(logs.out, "0 begins\n1 ends\n1 begins\n")
        self.assertRegex(logs.err, r"\Atoprun: attempt 0, [\d: -]*\d:\ntoprun: attempt 1, [\d: -]*\d:\n\Z")

    def test_a_failed_attempt_is_told_while_the_next_runs(self):
        folder = self.folder()
        job = self.job_of_toprun(folder, "--nproc-per-node", "1", "--max-restarts", "1",
                                 worker='test $TOPRUN_ATTEMPT = 1 || test $RANK = 0 || exit 9')
        report = folder / job / "report.json"
        cluster.wait_for(lambda: report.exists() and len(json.loads(report.read_text())["attempts"])
                         == 2 and self.ranks_run(report), "a second attempt")
        status = self.toprun("status", job).out
        self.assertIn("run        attempt 1: running", status)
        self.assertRegex(status, r"attempt 0  rank 1 on n1 ended with exit code 9")


class Words(Queue):
    """What people read about arrays, limits, requeues, and jobs that have ended."""

    def test_tasks_that_wait_together(self):
        folder = self.folder()
        array = self.submit("-a", "2-3%2", "-N4", "--exclusive", "-H", "-o", folder / "%x.%A_%a.out")
        status = self.toprun("status", array)
        self.assert_ok(status)
        self.assertIn(f"job {array}_[2-3%2] (wrap)", status.out)
        self.assertRegex(status.out, rf"(?m)^  output     {folder}/wrap\.{array}_\*\.out$")
        self.assertRegex(status.out, rf"(?m)^  next       toprun logs -f {array}$")
        self.assertNotIn("4294967294", status.out)
        logs = self.toprun("logs", array)
        self.assert_ok(logs)
        self.assertIn(f"{array}_*.out", logs.err)

    def test_the_outlook_of_several_jobs(self):
        ids = [self.submit("-N1", "-H", "-J", name) for name in ("first", "second")]
        shown = self.toprun("eta", *ids)
        self.assert_ok(shown)
        self.assertEqual(re.findall(r"(?m)^job (\S+ \S+):", shown.out), [f"{ids[0]} (first)", f"{ids[1]} (second)"])
        some = self.toprun("eta", "999999", ids[1], "--json")
        self.assertEqual((some.code, [job["id"] for job in json.loads(some.out)["jobs"]]), (1, [ids[1]]))
        self.assertRegex(some.err, r"\Atoprun: job 999999 is unknown: ")
        self.toprun("cancel", *ids)
        again = self.toprun("cancel", ids[0])
        self.assertRegex(again.err, r"\Atoprun: job \d+ has already ended: cancelled by [^(]*\d\d:\d\d:\d\d(; it ended at .*)?\n")
        self.assertEqual(len(set(re.findall(r"\d\d:\d\d:\d\d", again.err))), len(re.findall(r"\d\d:\d\d:\d\d", again.err)))

    def test_a_task_that_is_not_there(self):
        """scontrol says so on stdout, and Slurm is well."""
        array, plain = self.submit("-a", "0-2", "-H"), self.submit("-H")
        for verb in "status", "logs", "eta", "cancel", "top", "stacks":
            with self.subTest(verb=verb):
                self.assert_refused(self.toprun(verb, f"{array}_7"), 1,
                                    rf"job {array}_7 is unknown: Slurm knows tasks 0-2 of job {array}, but the job has no task 7;")
                self.assert_refused(self.toprun(verb, f"{plain}_0"), 1,
                                    rf"job {plain}_0 is unknown: job {plain} is not an array, and has no tasks;")
        self.assertIn("this job has no component 5", self.toprun("status", f"{plain}+5").err)
        for verb in "status", "logs":
            finished = self.toprun(verb, "999999")
            self.assert_refused(finished, 1, r"\Atoprun: job 999999 is unknown: .*; no files of this job were found below "
                                             rf"{re.escape(os.getcwd())}; toprun jobs lists your jobs, "
                                             "and toprun jobs --recent those that have ended\n")
        running = self.submit("-a", "3,5%1")
        self.in_state(f"{running}_3", "RUNNING")
        number = str(int(running) + 1)  # of task 3
        for words in ["status", f"{number}_4"], ["status", f"{number}_[3-4]"], ["cancel", "--dry-run", f"{number}_[3-4]"]:
            with self.subTest(words):
                self.assert_refused(self.toprun(*words), 1, f": {number} is Slurm's number of task 3 of array {running}: "
                                                            f"write {running}_3;")
        self.assert_refused(self.toprun("cancel", "--dry-run", f"{plain}_[0-3]"), 1, f"job {plain} is not an array")

    def test_limits(self):
        running = self.submit("-N4", "--exclusive")
        self.in_state(running, "RUNNING")
        waiting = self.submit("-N4", "--exclusive")
        self.assertRegex(self.toprun("status", running).out, r"(?m)^  times .*, no time limit$")
        told = self.toprun("status", waiting).out
        self.assertRegex(told, r"(?m)^  times .*, (its partition's|no) time limit$")
        self.assertRegex(told, r"(?m)^  start      .*start")
        self.assertNotRegex(self.toprun("eta", waiting).out, r"\d{3,} h |time limit")

    def test_behind_a_job_without_a_time_limit_no_start_is_expected(self):
        holder = self.submit("-N4", "--exclusive", "-t", "UNLIMITED", "-J", "holder")
        self.in_state(holder, "RUNNING")
        waiting = self.submit("-N4", "--exclusive", "-t", "5", "-J", "next")
        cluster.wait_for(lambda: json.loads(self.toprun("jobs", "--json").out)["jobs"][0]["reason"] == "Resources" and
                         re.search(r" 20\d\d-", self.login("squeue", "-h", "--start", "-o", "%i %S", "-j", waiting).out),
                         "Slurm's plan of the start", 70)
        self.assertRegex(self.toprun("eta", waiting).out,
                         rf"\Ajob {waiting} \(next\): start unknown: job {holder} on n\[0-3\] has no time limit\n")
        self.assertRegex(self.toprun("status", waiting).out, r"(?m)^  start      unknown: job ")
        for words in ["jobs"], ["eta", waiting], ["status", waiting]:
            with self.subTest(words):
                jobs = json.loads(self.toprun(*words, "--json").out)["jobs"]
                self.assertEqual([job["expected_start"] for job in jobs if job["id"] == waiting], [None])

    def test_a_job_that_was_put_back(self):
        job = self.submit("-N1", "--requeue")
        self.in_state(job, "RUNNING")
        self.assert_ok(self.login("scontrol", "requeue", job))
        cluster.wait_for(lambda: "BeginTime" in self.toprun("status", job).out, "the pause")
        told = self.toprun("status", job).out
        self.assertIn("BeginTime: it was put back into the queue", told)
        self.assertRegex(told, r"(?m)^  times +.*put back into the queue 1 time, last \d{4}-")
        self.assertNotRegex(told, r"(?m)^  times +submitted")  # not when it came back
        for verb in "jobs", "eta":
            with self.subTest(verb):
                told = self.toprun(verb).out
                self.assertIn("BeginTime: it was put back into the queue", told)
                self.assertNotIn("--begin", told)

    def test_what_waits_is_told_while_it_is_followed(self):
        first = self.submit("-N4", "--exclusive", "-t", "10")
        self.in_state(first, "RUNNING")
        second = self.submit("-N4", "--exclusive", "-t", "10")
        run = self.start("ctl", TOPRUN, "logs", "-f", second)
        run.says(f"job {second}: no waiting job of its partition that could start has a higher priority; the next running job to reach its time limit is {first} .*; expected to start at \d+-")
        run.kill_all()
        screen = self.start("ctl", "script", "-qfc", f"stty cols 80 rows 24; {TOPRUN} top {second}", "/dev/null",
                            env={"TERM": "xterm"})
        screen.prints(rf"wrap \({second}\) waits")
        screen.kill_all()

    def failed_job(self, folder):
        """A job of toprun whose rank fails, of which Slurm still knows."""
        (folder / "t.py").write_text("raise ValueError('7 does not match the world size')\n")
        submitted = self.login(TOPRUN, "submit", "--nproc-per-node", "1", "t.py", cwd=folder,
                               env=support.without_torch())
        self.assert_ok(submitted)
        job = submitted.out.strip()
        cluster.wait_for(lambda: "FAILED" in self.toprun("status", job).out, "its end")
        return job

    def test_what_has_ended(self):
        folder = self.folder()
        job = self.failed_job(folder)
        cause = "failed: rank 0 on n0 ended with exit code 1: ValueError: 7 does not match the world size"
        told = self.toprun("jobs", "--recent")
        self.assert_ok(told)
        self.assertRegex(told.out, rf"(?m)^ *{job}  t  +20\d\d-\S+ \S+ +1  {cause}$")
        self.assertIn("1 rank on 1 node", self.toprun("status", job).out)
        os.rename(folder / "logs" / job, folder / "logs" / "999999")  # Slurm has forgotten it
        told = self.toprun("jobs", "--recent", "--json", cwd=folder)
        self.assertIn(("999999", 1, cause), [(one["id"], one["exit_code"], one["cause"])
                                             for one in json.loads(told.out)["jobs"]])
        (folder / "logs" / "999997").mkdir()
        (folder / "logs" / "999997" / "report.json").write_text(json.dumps(
            {"schema": "toprun.report/1", "exit_code": 0, "attempts": []}))
        told = self.toprun("jobs", "--recent", cwd=folder)
        self.assertRegex(told.out, r"(?m)^ *999997  .* 0  ended$")
        named = {"schema": "toprun.report/1", "exit_code": 0, "attempts": [], "job": "slurm.x.999996.0", "title": "mine",
                 "started": "2126-11-28T05:20:30.000Z", "ended": "2126-11-28T05:20:30.000Z",
                 "updated": "2126-11-28T05:20:30.000Z"}
        (folder / "logs" / "999996").mkdir()
        (folder / "logs" / "999996" / "report.json").write_text(json.dumps(named))
        (folder / "slurm-999995.out").write_text("toprun: script gone.py: No such file or directory\n"
                                                 "srun: error: n0: task 0: Exited with exit code 2\n")
        (folder / "loss.999994.out").write_text("no job's\n")
        told = self.toprun("jobs", "--recent", cwd=folder)
        self.assertRegex(told.out, r"(?m)^ *999996  mine  .* 0  ended$")
        self.assertRegex(told.out, r"(?m)^ *999995  - .* -  it is not known how it ended; its output ends with: script gone.py: ")
        self.assertNotIn("999994", told.out)
        followed = self.toprun("logs", "-f", "999999", cwd=folder)
        self.assertEqual(followed.code, 1, followed)
        self.assertIn(f"job 999999 (t): {cause}, 20", followed.err)
        self.assertIn("(from its files; Slurm has forgotten it)", followed.err)

    def test_an_array_that_slurm_has_forgotten(self):
        folder = self.folder()
        for task, code in (("2", 0), ("10", 3)):
            (folder / f"999998_{task}").mkdir()
            (folder / f"999998_{task}" / "n0.out").write_text(f"I am {task}\n")
            report = {"schema": "toprun.report/1", "exit_code": code, "attempts": []}
            (folder / f"999998_{task}" / "report.json").write_text(json.dumps(report))
        followed = self.toprun("logs", "-f", "999998", cwd=folder)
        self.assertEqual(followed.code, 3, followed)
        self.assertEqual(followed.out, "999998_2: I am 2\n999998_10: I am 10\n")
        told = self.toprun("status", "999998", cwd=folder)
        self.assert_ok(told)
        self.assertRegex(told.out, r"(?m)^  next       toprun logs 999998_10$")

    def test_jobs_on_a_file_server_that_hangs(self):
        """The table is there without what their files would tell."""
        folder, hangs = self.folder(), self.folder()
        (folder / "hang.py").write_text(HANG)
        far = self.submit("-N1", "-D", hangs)
        near = self.submit("-N1", "-D", folder)
        for job in far, near:
            self.in_state(job, "RUNNING")
        finished = self.on("ctl", "python3", "-B", folder / "hang.py", hangs, TOPRUN, "jobs")
        self.assertRegex(finished.out, rf"(?m)^ *{far} .*  -$")
        self.assertRegex(finished.out, rf"(?m)^ *{near} .*  running$")

    def test_colours_on_a_terminal_only(self):
        support.needs_program("script")
        job = self.submit("-N1")
        self.in_state(job, "RUNNING")

        def on_terminal(words, **env):
            return self.login("script", "-qec", shlex.join([TOPRUN, *words]), "/dev/null",
                              env={"TERM": "xterm", **env}).out
        for words in (["jobs"], ["status", job]):
            self.assertIn("\x1b[32m", on_terminal(words))
            self.assertNotIn("\x1b", on_terminal(words, NO_COLOR="1"))
            self.assertNotIn("\x1b", self.toprun(*words).out)
        self.login("scancel", job)
        folder = self.folder()
        for end, colour in (("true", 32), ("false", 31)):
            words = ["submit", "--follow", "-D", str(folder), "--no-python", end]
            self.assertRegex(on_terminal(words), rf"\x1b\[{colour}mtoprun: job \d+: (ended|failed)")
            self.assertNotIn("\x1b", on_terminal(words, NO_COLOR="1"))

    def test_status_of_a_job_of_srun_says_how_to_ask_its_ranks(self):
        run = self.start("ctl", "srun", "-N1", "-J", "bare", TOPRUN, "--no-python", "sleep", "100")
        job = cluster.wait_for(lambda: self.login("squeue", "-h", "-t", "R", "-n", "bare", "-o", "%i").out.strip(), "it runs")
        self.assertRegex(self.toprun("status", job).out,
                         rf"(?m)^  more +if it runs toprun: toprun stacks {job} shows what each rank does now; ")
        self.login("scancel", job)
        run.wait(30)

    def test_how_a_script_of_ones_own_gets_a_report(self):
        folder = self.folder()
        job = self.submit("-N1", folder=folder)
        self.in_state(job, "RUNNING")
        more = re.search(r"(?m)^  more +if its script runs toprun: toprun (.*) lets status show ranks", self.toprun("status", job).out)
        self.assertEqual(more[1], f'--node-log "{folder}/$SLURM_JOB_ID" --report "{folder}/$SLURM_JOB_ID/report.json"')
        self.login("scancel", job)
        job = self.submit("-N1", script=f"{TOPRUN} {more[1]} --no-python sh -c 'exit 3'", folder=folder)
        cluster.wait_for(lambda: "exit code 3" in (told := self.toprun("status", job).out) and "ended" in told, "its end")
        told = self.toprun("status", job).out
        self.assertRegex(told, r"(?m)^  attempt 0  rank 0 on n\d ended with exit code 3")
        self.assertNotIn("  more ", told)

    def test_completion_asks_slurm(self):
        job = self.submit("-N1", "-J", "mine")
        for words, expected in ((["logs", ""], f"{job}\tmine, "), (["submit", "-p", "ur"], "urgent"),
                                (["submit", "--after", job[:1]], f"{job}\tmine, "),
                                (["submit", "-w", "n"], "n0\t"), (["submit", "-x", "n0,n1"], "n0,n1\t"),
                                (["submit", "--partition=main,u"], "--partition=main,urgent")):
            with self.subTest(words):
                told = self.toprun("completion", "--words", *words)
                self.assertEqual((told.code, told.err), (3, ""), "no file fits")
                self.assertIn(expected, told.out)


class Cluster(Queue):
    def test_what_is_free(self):
        job = self.submit("-w", "n0,n1,n3", "--exclusive", "-N3")
        self.in_state(job, "RUNNING")
        written = json.loads(self.toprun("cluster", "--json", env={"PROJECT": "/"}).out)
        self.assertEqual((written["schema"], written["engine"]), ("toprun.cluster/1", "slurm"))
        main, urgent = written["partitions"]
        self.assertEqual((main["name"], main["default"], main["nodes"], main["idle"]),
                         ("main", True, 4, "n2"))
        self.assertEqual((urgent["name"], urgent["priority"]), ("urgent", 10))
        self.assertEqual(written["compact"][0]["nodes"], ["n2"])
        by_use = {place["use"]: place for place in written["file_systems"]}
        self.assertEqual(by_use["$PROJECT"]["path"], "/")
        self.assertGreater(by_use["$PROJECT"]["total_bytes"], 0)
        self.login("scancel", job)
        cluster.wait_for(lambda: "main* 4 idle\n" in self.login("sinfo", "-h", "-o", "%P %D %t").out,
                         "idle nodes")
        finished = self.toprun("cluster")
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"(?m)^main +none +4 +\d +- +default$")
        self.assertRegex(finished.out, r"(?m)^urgent +none .*its jobs go first \(priority tier 10\)$")
        self.assertRegex(finished.out, r"(?m)^most idle nodes in one leaf: 2 in core/r0: n\[0,2\]$")

    def test_a_file_system_that_hangs(self):
        script = self.folder() / "hang.py"
        script.write_text(HANG)
        finished = self.on("ctl", "python3", "-B", script, self.folder(), TOPRUN, "cluster")
        self.assertRegex(finished.out, r"(?m)^\$SCRATCH +/.* +no answer within 2.0 s +fuse")
        self.assertLess(finished.seconds, 20)


# Mounts a file system whose server never answers, and runs a command with it as $SCRATCH.
HANG = """\
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.unshare(0x20000)
libc.mount(None, b"/", None, 0x4000 | 0x40000, None)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"nobody", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    raise OSError(ctypes.get_errno(), "mount")
subprocess.run(sys.argv[2:], env={**os.environ, "SCRATCH": sys.argv[1]})
"""


class WithoutAnEngine(support.TestCase):
    def run_without(self, *words):
        return self.toprun(*words, env={"PATH": "/nowhere"})

    def test_says_what_was_looked_for(self):
        for words in (["jobs"], ["eta"], ["cancel", "7"], ["logs", "-f", "7"]):
            with self.subTest(words):
                finished = self.run_without(*words)
                self.assertEqual(finished.code, 1, finished)
                self.assert_one_line(finished, "found neither Slurm nor Run:AI nor Kubernetes: squeue, scontrol, runai and kubectl are not in PATH; .*")

    def test_a_job_that_never_began_is_among_the_recent_ones(self):
        """It has no end of its own: by that it came behind 20 others, and was not listed."""
        folder = self.folder()
        for number in range(22):
            kept = folder / f"logs/{100 + number}"
            kept.mkdir(parents=True)
            end = f"2026-11-28T05:{number:02}:00.000Z"
            (kept / "report.json").write_text(json.dumps({"schema": "toprun.report/1", "exit_code": 1, "updated": end,
                                                          "ended": end, "attempts": [{"attempt": 0, "nodes": []}]}))
        kept = folder / "logs/130"
        kept.mkdir()
        (kept / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --dependency=afterok:121\n")
        (kept / "story.jsonl").write_text('{"act":"submitted","at":"2026-11-28T05:21:30.000Z","by":"ada","name":"b"}\n')
        finished = self.toprun("jobs", "--recent", env={"PATH": "/nowhere"}, cwd=folder)
        self.assert_ok(finished)
        rows = finished.out.splitlines()[1:]
        self.assertEqual(len(rows), 20, finished)
        self.assertRegex(rows[0], r"^ *130 +b +- +69 +not started: job 121 failed")

    def test_the_output_of_a_forgotten_job_without_a_report_may_end_with_a_line_of_toprun(self):
        folder = self.folder()
        line = "script gone.py: No such file or directory"
        (folder / "slurm-24.out").write_text(f"hello\ntoprun: {line}\n")
        (folder / "logs/28").mkdir(parents=True)
        (folder / "logs/28/story.jsonl").write_text(
            '{"act":"submitted","at":"2026-11-28T05:21:30.000Z","by":"ada","name":"b"}\n')
        (folder / "logs/28/job.sbatch").write_text("#!/bin/bash\n")
        for task in 0, 1:
            (folder / f"logs/28_{task}").mkdir()
            (folder / f"logs/28_{task}/report.json").write_text(
                '{"schema": "toprun.report/1", "exit_code": 0, "attempts": []}')
        told = self.toprun("status", "24", env={"PATH": "/nowhere"}, cwd=folder)
        self.assert_ok(told)
        words = f"it is not known how it ended; its output ends with: {line}"
        self.assertIn(f"job 24\n  state      {words}", told.out)
        listed = self.toprun("completion", "--words", "status", "2", env={"PATH": "/nowhere"}, cwd=folder)
        self.assert_ok(listed)
        self.assertIn(f"24\t{words}\n", listed.out)
        self.assertIn("28\tarray with files of 2 tasks\n", listed.out)
        self.assertIn("28_1\tb, ended with exit code 0\n", listed.out)

    def test_status_calls_the_advice_as_the_failure_report_does(self):
        kept = self.folder() / "logs/24"
        kept.mkdir(parents=True)
        cause = {"kind": "exit", "what": "rank 0 on n0 ended with exit code 1", "message": "", "next": "see x.py, line 3",
                 "last_output": ["one", "no more data"]}
        (kept / "report.json").write_text(json.dumps({
            "schema": "toprun.report/1", "exit_code": 1,
            "attempts": [{"attempt": 0, "cause": cause,
                          "lost_nodes": [{"node": "n2", "at": "2026-11-28T05:21:30.000Z", "why": "it was silent"}]}]}))
        told = self.toprun("status", "24", env={"PATH": "/nowhere"}, cwd=kept.parent.parent)
        self.assert_ok(told)
        self.assertTrue(told.out.endswith("  next       see x.py, line 3\n             toprun logs 24\n"), told)
        self.assertRegex(told.out, r"(?m)^  attempt 0  rank 0 on n0 ended with exit code 1\n"
                                   r"  last line  no more data\n"
                                   r"             n2 was lost at .*: it was silent$")

    def test_the_path_of_a_report_beside_a_story_tells_who_cancelled_the_job(self):
        kept = self.folder() / "logs/24"
        kept.mkdir(parents=True)
        (kept / "story.jsonl").write_text('{"act":"cancelled","at":"2026-11-28T05:21:30.000Z","by":"ada"}\n')
        (kept / "report.json").write_text(json.dumps({"schema": "toprun.report/1", "exit_code": None, "attempts": [{"attempt": 0}],
                                                      "started": "2026-11-28T05:20:30.000Z"}))
        for words in (kept, "/"), (kept / "report.json", "/"), ("logs/24/report.json", kept.parent.parent):
            told = self.toprun("status", words[0], env={"PATH": "/nowhere"}, cwd=words[1])
            self.assert_ok(told)
            self.assertRegex(told.out, r"(?m)^  cancelled  by ada, 2026-11-28 \d\d:21:30$")
            self.assertRegex(told.out, r"(?m)^  run        attempt 0: was waiting for nodes when last reported")

    def test_a_file_with_the_name_of_the_latest_job_is_not_its_report(self):
        folder = self.folder()
        (folder / "logs/17").mkdir(parents=True)
        (folder / "logs/17/job.sbatch").touch()
        report = '{"schema": "toprun.report/1", "exit_code": 0, "attempts": []}'
        (folder / "logs/17/report.json").write_text(report)
        (folder / "17").write_text("notes\n")
        told = self.toprun("status", env={"PATH": "/nowhere"}, cwd=folder)
        self.assert_ok(told)
        self.assertIn("job 17\n  state      ended with exit code 0", told.out)
        self.assert_ok(self.toprun("report", env={"PATH": "/nowhere"}, cwd=folder))

    def test_a_report_may_have_the_ending_of_an_output(self):
        folder = self.folder()
        (folder / "foo.out").write_text('{"schema": "toprun.report/1", "exit_code": 0, "attempts": []}')
        (folder / "bar.out").write_text("hello\n")
        told = self.toprun("status", "foo.out", env={"PATH": "/nowhere"}, cwd=folder)
        self.assert_ok(told)
        self.assertIn("run of foo.out", told.out)
        refused = self.toprun("status", "bar.out", env={"PATH": "/nowhere"}, cwd=folder)
        self.assertEqual(refused.code, 2, refused)
        self.assert_one_line(refused, "bar.out: it is a file, and not the folder or the report of a job; .*")

    def test_status_shows_what_a_lost_node_wrote_last(self):
        """Its own rank may have failed while the root did not hear it."""
        kept = self.folder() / "logs/24"
        kept.mkdir(parents=True)
        cause = {"kind": "node_lost", "what": "node n2 was lost", "node": "n2", "message": "no message for 10.0 s", "next": "look at n2"}
        (kept / "report.json").write_text(json.dumps({
            "schema": "toprun.report/1", "exit_code": 1, "attempts": [{"attempt": 0, "cause": cause}]}))
        line = "n2: lost the root agent at n0: no message for 10.0 s; rank 3 on n2 ended with exit code 1: ValueError: x (…)"
        (kept / "n2.out").write_text(f"step 1\ntoprun: {line}\n")
        (kept / "n0.out").write_text("toprun: node n2 was lost\n")
        told = self.toprun("status", "24", env={"PATH": "/nowhere"}, cwd=kept.parent.parent)
        self.assert_ok(told)
        self.assertIn(f"  attempt 0  node n2 was lost: no message for 10.0 s\n  lost node  n2 wrote last: {line}\n", told.out)

    def test_the_logs_of_one_node_need_no_name_in_front(self):
        folder = self.folder()
        kept = folder / "999991"
        kept.mkdir()
        (kept / "n1.out").write_text("step 1\n")
        nodes = [{"name": "n1", "first_rank": 0, "nproc": 2}]
        for others, shown in ({}, "step 1\n"), ({"name": "n2", "first_rank": 2, "nproc": 2}, "n1: step 1\n"):
            with self.subTest(others):
                report = {"schema": "toprun.report/1", "exit_code": 0,
                          "attempts": [{"attempt": 0, "nodes": nodes + [others] * bool(others)},
                                       {"attempt": 1, "nodes": nodes}]}
                (kept / "report.json").write_text(json.dumps(report))
                finished = self.toprun("logs", "999991", env={"PATH": "/nowhere"}, cwd=folder)
                self.assert_ok(finished)
                self.assertEqual(finished.out, shown)

    def test_a_report_says_who_has_joined_where_the_root_cannot_be_asked(self):
        report = self.folder() / "report.json"
        soon = "2126-11-28T06:00:00.000Z"
        report.write_text(json.dumps({
            "schema": "toprun.report/1", "exit_code": None, "running": True, "updated": "2026-11-28T05:59:00.000Z",
            "root": {"host": "nowhere.invalid", "pid": 7, "socket": "/run/x"},
            "gathering": {"here": ["n0"], "missing": ["n1", "n2"], "least": 3, "most": 3, "begins_at": None, "ends_at": soon},
            "attempts": [{"attempt": 0, "nodes": []}]}))
        shown = self.toprun("status", report, limit=60)
        self.assert_ok(shown)
        self.assertRegex(shown.out, r"(?m)^  here       1 of 3 nodes: n0$")
        self.assertRegex(shown.out, r"(?m)^  waits for  2 more of n\[1-2\], until 2126-11-28 .*; then it ends$")
        self.assertRegex(shown.out, r"(?m)^  root       .*; so whether the run goes on cannot be told from here$")

    def test_a_name_where_kubectl_knows_no_cluster(self):
        folder = self.folder()
        kubectl = folder / "kubectl"
        for said, line in {
                "The connection to the server localhost:8080 was refused - did you specify the right host or port?":
                    r"job abc: kubectl knows no cluster here that could have a job with this name; "
                    r"log in to the cluster or set KUBECONFIG",
                "Unable to connect to the server: no route to host":
                    r"cannot find out whether job abc exists: kubectl get .*: Unable to connect .*"}.items():
            kubectl.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
            kubectl.chmod(0o755)
            for verb in ("status", "logs", "cancel", "report"):
                with self.subTest(verb, said=said):
                    finished = self.toprun(verb, "abc", env={"PATH": str(folder)}, cwd=folder)
                    self.assertEqual(finished.code, 1, finished)
                    self.assert_one_line(finished, line)

    def test_a_name_where_slurm_is(self):
        folder = self.folder()
        programs = {"kubectl": "echo 'The connection to the server localhost:8080 was refused' >&2; exit 1",
                    "scontrol": "exit 1",
                    "squeue": "case \"$*\" in *' wait1 '*) echo 15;; *' twice '*) echo 15; echo 16;; esac"}
        for name, text in programs.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        for absent in (), ("kubectl",):
            for name in absent:
                (folder / name).unlink()
            for job, advice in (("wait1", "job 15 has that name"), ("abc", "give a number from squeue"),
                                ("twice", "several jobs have that name: give a number from squeue")):
                for verb in ("status", "logs", "cancel"):
                    with self.subTest(verb, job=job, absent=absent):
                        of_slurm = f".*job {job}: Slurm's job ids are numbers; {advice}"
                        finished = self.toprun(verb, job, env={"PATH": str(folder)}, cwd=folder)
                        self.assertEqual(finished.code, 1, finished)
                        self.assert_one_line(finished, of_slurm)
                        finished = self.toprun(verb, job, env={"PATH": str(folder), "KUBECONFIG": "/k"}, cwd=folder)
                        with_kubectl = "" if absent else "; kubectl reaches no cluster with this KUBECONFIG"
                        self.assert_one_line(finished, of_slurm + with_kubectl)
        (folder / "kubectl").write_text(f"#!/bin/sh\n{programs['kubectl']}\n")
        (folder / "kubectl").chmod(0o755)
        finished = self.toprun("status", "wait1", env={"PATH": str(folder), "TOPRUN_ON": "kubernetes"}, cwd=folder)
        self.assert_one_line(finished, "job wait1: kubectl knows no cluster here .*set KUBECONFIG")
        (folder / "kubectl").unlink()
        finished = self.toprun("run", "--in", "wait1", "--no-python", "true", env={"PATH": str(folder)}, cwd=folder)
        self.assert_one_line(finished, "neither runai nor kubectl is in PATH; .*")

    def test_a_host_outside_the_cluster_reads_the_jobs_files(self):
        folder = self.folder()
        for program in "squeue", "scontrol", "sacct":
            (folder / program).write_text(f"#!/bin/sh\necho '{program}: error: fetch_config: DNS SRV lookup failed' >&2\n"
                                          f"echo '{program}: fatal: Could not establish a configuration source' >&2\nexit 1\n")
            (folder / program).chmod(0o755)
        logs = folder / "logs/1"
        logs.mkdir(parents=True)
        (logs / "n0.out").write_text("step 1\n")
        (logs / "report.json").write_text(json.dumps({
            "schema": "toprun.report/1", "exit_code": 0, "started": "2026-11-28T05:00:00.000Z", "ended": "2026-11-28T05:10:00.000Z",
            "attempts": [{"attempt": 0, "nodes": []}]}))
        why = ("cannot ask Slurm: this host does not belong to a cluster; log in where jobs are submitted, "
               "or set SLURM_CONF to the cluster's slurm.conf")
        env = {"PATH": f"{folder}:/bin"}
        for words in (["status", "1"], ["status"], ["logs", "1"]):
            with self.subTest(words):
                finished = self.toprun(*words, env=env, cwd=folder)
                self.assert_ok(finished)
                self.assertIn(f"toprun: {why}; the ", finished.err)
                self.assertRegex(finished.out, r"job 1\n  state .*from its files; no engine" if words[0] == "status" else "^step 1$")
        self.assert_ok(self.toprun("report", "1", env=env, cwd=folder))
        for words in (["status", "2"], ["logs", "2"], ["cancel", "1"], ["eta", "1"], ["jobs"]):
            with self.subTest(words):
                finished = self.toprun(*words, env=env, cwd=folder)
                self.assertEqual(finished.code, 1, finished)
                self.assertIn(why, finished.err)
                self.assertNotIn("fatal", finished.err)
        shown = self.toprun("cluster", env=env, cwd=folder)
        self.assertIn(why, shown.out + shown.err)

    def test_the_file_systems_need_none(self):
        finished = self.run_without("cluster")
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"(?m)^\$HOME")
        self.assertRegex(finished.out, r"(?m)^.*local disk \(perhaps exported\)")


if __name__ == "__main__":
    unittest.main()
