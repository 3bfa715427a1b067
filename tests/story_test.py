# ctest: TIMEOUT 300 LABELS cluster
"""A job's story on a real Slurm: who cancelled it, that it hung, its requeues and each run's end, in the
same words by every verb, while Slurm knows the job and when it has forgotten it."""

import getpass
import json
import os
import re
import shutil
import unittest

import submitting
import support

TOPRUN = support.TOPRUN
FORGOTTEN = "999999"  # an id that this Slurm never gave
CLOCK = r"\d\d:\d\d:\d\d"
UNTIL_GO = "until test -e go; do sleep 0.1; done"


class Story(submitting.SubmitCase):
    UP = ("--hosts", "2", "--slurm")

    def toprun(self, *words, **options):
        return self.login(TOPRUN, *words, **options)

    def told(self, *words, **options):
        finished = self.toprun(*words, **options)
        self.assert_ok(finished)
        return finished.out + finished.err

    def report(self, folder, id):
        path = folder / "logs" / id / "report.json"
        return json.loads(path.read_text()) if path.exists() else {"attempts": [], "exit_code": None}

    def wait_for_ranks(self, folder, id):
        self.wait_for_job(id, lambda: (attempts := self.report(folder, id)["attempts"]) and
                          attempts[-1]["phases_ms"]["spawn"] is not None, "its ranks run", 30)

    def forget(self, folder, id):
        """The files of a job that Slurm does not know."""
        logs = folder / "logs"
        shutil.copytree(logs / id, logs / FORGOTTEN)
        for path in logs.glob(f"*.{id}.out"):
            shutil.copy(path, logs / path.name.replace(f".{id}.", f".{FORGOTTEN}."))

    def recent(self, folder, id):
        """CODE and HOW of a row of jobs --recent, and its name."""
        table = self.told("jobs", "--recent", cwd=folder)
        row = re.search(rf"(?m)^ *{id}  +(\S+)  +\S+(?: {CLOCK})? +(\S+)  (.*)$", table)
        self.assertTrue(row, table)
        return row.groups()

    def assert_same_story(self, folder, id, name, code, how, beside_code=None):
        """What every verb says, now and when Slurm has forgotten it. The table has a column with the code."""
        self.forget(folder, id)
        for known in (id, FORGOTTEN):
            with self.subTest(id=known):
                row = self.recent(folder, known)
                self.assertEqual(row[:2], (name, str(code)))
                self.assertRegex(row[2], rf"^{beside_code or how}$")
                followed = self.toprun("logs", "-f", known, cwd=folder)
                self.assertEqual(followed.code, code, followed)
                self.assertRegex(followed.err, rf"(?m)^toprun: job {known}( \({name}\))?: {how}"
                                               r"($|, 20\d\d-.* \(from its files; Slurm has forgotten it\)$)")
        self.assertRegex(self.told("eta", id, cwd=folder), rf"\Ajob {id} \({name}\): {how}")
        self.assertRegex(self.told("eta", FORGOTTEN, cwd=folder), rf"\Ajob {FORGOTTEN} \({name}\): {how}")
        refused = self.toprun("cancel", FORGOTTEN, cwd=folder)
        self.assertEqual(refused.code, 1, refused)
        self.assertRegex(refused.err, rf"\Atoprun: nothing to cancel: job {FORGOTTEN} \({name}\): {how}")
        state = self.told("status", id, cwd=folder)
        self.assertRegex(state.replace("CANCELLED", "cancelled").replace("FAILED", "failed"), rf"(?m)^  state      ([A-Z]+: )?{how}$")
        self.assertRegex(self.told("status", FORGOTTEN, cwd=folder),
                         rf"\Ajob {FORGOTTEN} \({name}\)\n  state      {how} "
                         r"\(from its files; Slurm has forgotten it\)\n"
                         rf"  times      submitted 20\S+ {CLOCK} by {getpass.getuser()}, started 20\S+ {CLOCK}, ended 20\S+ {CLOCK}, ran \d+:\d\d\n"
                         rf"  nodes      \d: \S+\n  folder     {folder}\n")

    def test_who_cancelled_a_job_that_hung(self):
        folder = self.folder()
        script = folder / "hang.py"
        script.write_text("import os, socket, time\n"
                          "def rests():\n    time.sleep(1000)\n"
                          "import torch.distributed as d\nd.init_process_group('gloo')\n"
                          "d.barrier() if d.get_rank() else rests()\n")
        id = self.submitted("-N", "2", "--nproc-per-node", "1", "-J", "look", "--hang-timeout", "3", script,
                            cwd=folder, env={"PYTHON_EXEC": support.python()})
        self.wait_for_job(id, lambda: (attempts := self.report(folder, id)["attempts"]) and attempts[-1]["hang"],
                          "it hangs", 60)
        hang = r"since " + CLOCK + r": rank 0 on n0 sleeps at hang\.py:3 in rests, and 1 rank waits for it"
        self.assertRegex(self.told("status", id, cwd=folder), rf"(?m)^  state      RUNNING: hangs {hang}$")
        self.told("cancel", id, cwd=folder)
        self.wait_for_job(id, lambda: self.report(folder, id)["exit_code"], "the end of its run", 30)
        self.wait_for_state(id, "CANCELLED")
        self.assert_same_story(folder, id, "look", 143,
                               rf"cancelled by {getpass.getuser()} at {CLOCK}, it had hung {hang}")

    def test_top_says_who_cancelled_as_status_does(self):
        folder = self.folder()
        id = self.submitted("-N", "2", "--nproc-per-node", "1", "-J", "ended", "--no-python", "sleep", "100", cwd=folder)
        self.wait_for_ranks(folder, id)
        screen = self.start("ctl", "script", "-qfc", f"stty cols 100 rows 24; {TOPRUN} top {id}", "/dev/null",
                            env={"TERM": "xterm"}, cwd=folder)
        screen.prints("rank 1 .*runs")
        self.told("cancel", id, cwd=folder)
        shown = screen.wait(60).out
        how = rf"cancelled by {getpass.getuser()} at {CLOCK}"
        last = shown[shown.rindex("ended (") :]
        self.assertRegex(last, how)
        self.assertNotIn("interrupted", last)
        self.wait_for_state(id, "CANCELLED")
        self.assertRegex(self.told("status", id, cwd=folder).lower(), rf"(?m)^  state      (cancelled: )?{re.search(how, last)[0]}$")

    def test_cancelled_by_slurms_own_command(self):
        """Slurm knows that, but not who; when it has forgotten it, the run's signal is all that is known."""
        folder = self.folder()
        id = self.submitted("-N", "1", "--nproc-per-node", "1", "-J", "other", "--no-python", "sleep", "100",
                            cwd=folder)
        self.wait_for_ranks(folder, id)
        self.assert_ok(self.login("scancel", id))
        self.wait_for_job(id, lambda: self.report(folder, id)["exit_code"], "the end of its run", 30)
        self.wait_for_state(id, "CANCELLED")
        self.forget(folder, id)
        name, code, how = self.recent(folder, id)
        self.assertEqual((name, code), ("other", "143"))
        self.assertRegex(how, "^cancelled by a user or an administrator")
        self.assertNotIn("interrupted", how)
        # scancel signals the ranks as well: one that ends before toprun has its own signal is the cause.
        end = (r"(interrupted by SIGTERM, exit code 143|"
               r"failed, exit code 143: rank 0 on n\d was killed by SIGTERM \(terminated\))")
        name, code, how = self.recent(folder, FORGOTTEN)
        self.assertEqual((name, code), ("other", "143"))
        self.assertRegex(how, rf"\A{end.replace(', exit code 143', '')}\Z")
        self.assertRegex(self.told("status", FORGOTTEN, cwd=folder), rf"\Ajob {FORGOTTEN} \(other\)\n  state      {end} \(from its files")
        self.assertRegex(self.toprun("logs", "-f", FORGOTTEN, cwd=folder).err, end)

    def test_a_folder_is_asked_about_as_its_job(self):
        """Slurm answers for the folder of a job, also of an array, but not for a copy of the folder."""
        folder = self.folder()
        script = folder / "work.sh"
        script.write_text(f'echo "task $SLURM_ARRAY_TASK_ID"; {UNTIL_GO}\n')
        id = self.submitted("-N", "1", "--nproc-per-node", "1", "-J", "far", "--no-python", "bash", script, cwd=folder)
        array = self.submitted("--array", "3-4", "-N", "1", "--nproc-per-node", "1", "-J", "many", "--no-python", "bash",
                               script, cwd=folder)
        for one in id, f"{array}_3", f"{array}_4":
            self.wait_for_ranks(folder, one)
        shutil.copytree(folder / "logs" / id, folder / "copies" / id)
        elsewhere = self.folder()
        for word in id, array, f"{array}_4":
            for path in f"logs/{word}", f"logs/{word}/", folder / "logs" / word:
                with self.subTest(path=path):
                    told, by_folder = (re.sub(r"(ran|left)? \d+:\d\d\S*( left)?", "", self.told("status", name, cwd=folder))
                                       for name in (word, path))
                    self.assertIn("RUNNING", told)
                    self.assertEqual(by_folder, told)
            self.assertEqual(self.told("logs", folder / "logs" / word, cwd=elsewhere), self.told("logs", word, cwd=folder))
        for verb in "top", "stacks", "report":
            with self.subTest(verb):
                self.told(verb, f"logs/{id}/", cwd=folder)
        self.assertRegex(self.told("eta", f"logs/{id}", cwd=folder), rf"\Ajob {id} \(far\): running")
        for verb in "top", "stacks":  # no sshd runs there
            refused = self.toprun(verb, f"logs/{id}/report.json", cwd=folder)
            self.assertEqual(refused.code, 1, refused)
            self.assertRegex(refused.err, rf"(?m)^toprun: .*report\.json.* ssh.* n\d .*; toprun {verb} {id} asks Slurm instead$")
        copied = rf"Slurm's job {id} has its files in .*/logs/{id}"
        for verb, words, out in (("status", ["--json"], r"\{\n.*"), ("status", [], rf"run of .*/copies/{id}/report.json"),
                                 ("report", [], r"\{\n.*"), ("logs", [], r"task \n")):
            with self.subTest(verb=verb, words=words):
                told = self.toprun(verb, *words, f"copies/{id}", cwd=folder)
                self.assert_ok(told)
                self.assertRegex(told.out, rf"\A{out}")
                what = {"status": "state", "report": "report", "logs": "output"}[verb]
                self.assertRegex(told.err, rf"\Atoprun: {copied}; the {what} is from the job's files\n\Z")
                if words:
                    self.assertEqual(json.loads(told.out)["schema"], "toprun.status/1")
        following = self.start("ctl", TOPRUN, "logs", "-f", f"logs/{id}", cwd=folder)
        following.prints("task")
        (folder / "go").touch()
        self.assertEqual(following.wait(40).code, 0)
        for word in id, array:
            self.wait_for_state(word, "COMPLETED")
            with self.subTest(word=word):
                self.assertEqual(self.told("status", f"logs/{word}", cwd=folder), self.told("status", word, cwd=folder))
        self.assertRegex(self.toprun("cancel", f"logs/{id}", cwd=folder).err, rf"\Atoprun: job {id} has already ended")
        self.assertRegex(self.toprun("cancel", f"copies/{id}", cwd=folder).err,
                         rf"\Atoprun: copies/{id}: {copied}; toprun status, logs and report show what the job's files contain\n")

    def test_the_last_line_of_a_job_that_hangs(self):
        """toprun's own message of the hang makes the root's file the newest, not its ranks' lines."""
        folder = self.folder()
        (folder / "nap.py").write_text("import time\nimport torch.distributed as d\nd.init_process_group('gloo')\n"
                                       "if d.get_rank() == 0: print('step 4', flush=True)\nd.barrier()\n"
                                       "if d.get_rank() == 1:\n    time.sleep(1)\n    print('rank 1 takes a nap', flush=True)\n"
                                       "    time.sleep(1000)\nd.barrier()\n")
        id = self.submitted("-N", "2", "--nproc-per-node", "1", "-J", "nap", "--hang-timeout", "3", "nap.py",
                            cwd=folder, env={"PYTHON_EXEC": support.python()})
        self.wait_for_job(id, lambda: (attempts := self.report(folder, id)["attempts"]) and attempts[-1]["hang"],
                          "it hangs", 60)
        root = folder / "logs" / id / "n0.out"
        self.wait_for_job(id, lambda: "\ntoprun: no rank has made progress" in root.read_text(), "the message", 10)
        self.assertRegex(self.told("status", id, cwd=folder), r"(?m)^  last line  rank 1 takes a nap$")
        row = json.loads(self.told("jobs", "--json", cwd=folder))["jobs"][0]
        self.assertEqual(row["last_line"], "rank 1 takes a nap")

    def test_who_sent_the_signal_that_ended_a_job(self):
        folder = self.folder()
        id = self.submitted("-N", "2", "--nproc-per-node", "1", "-J", "sig", "--no-python", "sleep", "100", cwd=folder)
        self.wait_for_ranks(folder, id)
        self.told("cancel", "-s", "TERM", id, cwd=folder)
        self.wait_for_state(id, "FAILED")
        sent = rf"{getpass.getuser()} sent SIGTERM at {CLOCK}"
        self.assertRegex(self.told("status", id, cwd=folder), rf"(?m)^  state      FAILED, exit code 143: {sent}$")
        self.assertRegex(json.loads(self.told("report", id, cwd=folder))["told"], rf"^failed, exit code 143: {sent}$")
        self.forget(folder, id)
        self.assertRegex(self.told("status", FORGOTTEN, cwd=folder),
                         rf"\Ajob {FORGOTTEN} \(sig\)\n  state      interrupted by SIGTERM, exit code 143: {sent} \(")

    def test_what_failed_before_toprun_began(self):
        folder, program = self.folder(), self.folder() / "toprun"
        shutil.copy(TOPRUN, program)
        id = self.login(program, "submit", "--slurm-arg=--hold", "-N", "1", "-J", "gone", "--no-python", "true", cwd=folder).out.strip()
        program.unlink()
        self.login("scontrol", "release", id)
        self.wait_for_state(id, "FAILED")
        how = rf"failed, exit code 127; its output ends with: the job's script: {program}: No such file or directory"
        self.assertRegex(self.told("eta", id, cwd=folder), rf"^job {id} \(gone\): {how}")
        for gone in "logs", ".":
            with self.subTest(gone=gone):
                folder = self.folder()
                id = self.submitted("--slurm-arg=--hold", "-N", "1", "-J", "lost", "--no-python", "true", cwd=folder)
                shutil.rmtree(folder / gone)
                self.login("scontrol", "release", id)
                self.wait_for_state(id, "FAILED")
                self.assertRegex(self.told("eta", id, cwd=self.folder()),
                                 rf"^job {id} \(lost\): failed, signal 53: often Slurm could not open the job's output file, ")

    def test_what_failed_by_itself(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "--nproc-per-node", "1", "-J", "bad", "--no-python", "sh", "-c", "exit 3",
                            cwd=folder)
        self.wait_for_state(id, "FAILED")
        refused = self.toprun("cancel", id, cwd=folder)
        self.assertEqual(refused.code, 1, refused)
        self.assertIn("has already ended: failed: rank 0", refused.err)
        self.assertNotIn("started at", self.told("eta", id, cwd=folder))
        self.assert_same_story(folder, id, "bad", 3,
                               r"failed: rank 0 on n\d ended with exit code 3")

    def test_cancelled_while_it_waited(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "-J", "never", "--slurm-arg=--hold", "--no-python", "true", cwd=folder)
        self.assertRegex(self.told("logs", id, cwd=folder),
                         rf"job {id} has printed nothing yet: waiting; its output will be in .*/logs/never\.{id}\.out")
        self.told("cancel", id, cwd=folder)
        self.forget(folder, id)
        how = rf"cancelled by {getpass.getuser()} at (\S+ )?{CLOCK}, before it started"
        for known in (id, FORGOTTEN):
            name, code, said = self.recent(folder, known)
            self.assertEqual((name, code), ("never", "-"))
            self.assertRegex(said, rf"^{how}$")
            self.assertRegex(self.told("logs", known, cwd=folder),
                             rf"job {known} has printed nothing: {how}; its folder is .*/logs/{known}\n")
            report = self.toprun("report", known, cwd=folder)
            self.assertRegex(report.err, rf"\Atoprun: there is no report of job {known}: the job was {how}; toprun status ")
        self.assertRegex(self.toprun("top", f"logs/{FORGOTTEN}", cwd=folder).err,
                         rf"\Atoprun: logs/{FORGOTTEN}: {how}; Slurm has forgotten it; toprun status, logs and report show")
        shutil.copytree(folder / "logs" / id, folder / "copy")
        for word in "./copy", "copy":
            self.assertRegex(self.toprun("status", word, cwd=folder).err,
                             rf"\Atoprun: {word}: it is a job's folder, but its name is not the job's id; rename it ")

    def test_cancelled_tasks_of_an_array_that_had_not_begun(self):
        """What is cancelled is told of these tasks, whether they have a folder or not, and of no other."""
        folder = self.folder()
        id = self.submitted("--array", "1-4%1", "-N", "1", "--nproc-per-node", "1", "-J", "many", "--no-python",
                            "sh", "-c", UNTIL_GO, cwd=folder)
        self.wait_for_ranks(folder, f"{id}_1")
        told = self.told("cancel", f"{id}_[2-3]", cwd=folder)
        self.assertIn(f"asked these jobs to end: {id}_[2-3]", told)
        for path in (folder / "logs").glob(f"{id}*/story.jsonl"):
            self.assertNotIn("_1", path.parent.name, path.read_text())
        how = rf"cancelled by {getpass.getuser()} at (\S+ )?{CLOCK}"
        # Slurm answers that it does not know such a task any more.
        self.assertRegex(self.told("status", f"{id}_3", cwd=folder), rf"(?im)^  state +(CANCELLED:)? *{how}")
        self.assertNotIn("cancelled by", self.told("status", f"{id}_1", cwd=folder))
        (folder / "go").touch()
        self.wait_for_state(f"{id}_1", "COMPLETED")
        self.wait_for_state(f"{id}_4", "COMPLETED")
        for path in list((folder / "logs").iterdir()):
            path.rename(path.with_name(path.name.replace(id, FORGOTTEN, 1)))
        for task in 2, 3:
            self.assertRegex(self.told("status", f"{FORGOTTEN}_{task}", cwd=folder),
                             rf"\Ajob {FORGOTTEN}_{task} \(many\)\n  state      {how}")
            self.assertRegex(self.told("logs", f"{FORGOTTEN}_{task}", cwd=folder),
                             rf"job {FORGOTTEN}_{task} has printed nothing: {how}")
        for task in 1, 4:
            self.assertRegex(self.told("status", f"{FORGOTTEN}_{task}", cwd=folder),
                             rf"\Ajob {FORGOTTEN}_{task} \(many\)\n  state      ended with exit code 0")
        whole = self.told("status", FORGOTTEN, cwd=folder)
        self.assertEqual(re.findall(r"(?m)^job (\S+)", whole),
                         [f"{FORGOTTEN}_1", f"{FORGOTTEN}_4", f"{FORGOTTEN}_[2-3]"])
        for verb in "status", "eta":
            some = self.told(verb, f"{FORGOTTEN}_[1-2]", cwd=folder)
            self.assertEqual(re.findall(r"(?m)^job ([^\s:]+)", some), [f"{FORGOTTEN}_1", f"{FORGOTTEN}_2"], verb)
        self.assertIn("has forgotten the tasks", self.toprun("cancel", f"{FORGOTTEN}_[1-2]", cwd=folder).err)
        self.assertEqual(self.recent(folder, re.escape(f"{FORGOTTEN}_[2-3]"))[:2], ("many", "-"))
        self.assertNotRegex(self.told("jobs", "--recent", cwd=folder), rf"(?m)^ *{FORGOTTEN} ")
        refused = self.toprun("cancel", f"{id}_[7-8]", cwd=folder)
        self.assertEqual(refused.code, 1, refused)
        self.assertIn(f"job {id}_[7-8] is unknown: ", refused.err)

    def test_an_array_of_which_all_waiting_tasks_were_cancelled(self):
        """Slurm keeps a record without tasks of such an array, and the running tasks."""
        folder = self.folder()
        id = self.submitted("--array", "0-3%2", "-N", "1", "--nproc-per-node", "1", "-J", "half", "--no-python",
                            "sh", "-c", UNTIL_GO, cwd=folder)
        for task in 0, 1:
            self.wait_for_ranks(folder, f"{id}_{task}")
        self.told("cancel", f"{id}_[2-3]", cwd=folder)
        how = rf"cancelled by {getpass.getuser()} at (\S+ )?{CLOCK}"
        status = self.told("status", id, cwd=folder)
        self.assertEqual(re.findall(r"(?m)^job ([^\s:]+)", status), [f"{id}_0", f"{id}_1", f"{id}_[2-3]"])
        self.assertRegex(status, rf"(?m)^job {id}_\[2-3\] \(half\)\n  state      {how}, before it started")
        self.assertNotIn("administrator", status)
        eta = self.told("eta", id, cwd=folder)
        self.assertEqual(re.findall(r"(?m)^job (\S+) .*(running|cancelled)", eta),
                         [(f"{id}_0", "running"), (f"{id}_1", "running"), (f"{id}_[2-3]", "cancelled")])
        self.assertEqual(re.findall(rf"(?m)^ *({id}\S*)", self.told("jobs", "--recent", cwd=folder)), [f"{id}_[2-3]"])
        (folder / "go").touch()
        followed = self.toprun("logs", "-f", id, cwd=folder)
        self.assertEqual(re.findall(r"(?m)^toprun: job ([^\s:]+): ", followed.err), [f"{id}_0", f"{id}_1", f"{id}_[2-3]"])
        self.assertEqual(re.findall(r"(?m)^job (\S+) ", self.told("eta", id, cwd=folder)), [f"{id}_0", f"{id}_1", f"{id}_[2-3]"])
        for verb in "eta", "status":  # some tasks, of which Slurm has a record of none
            one = self.told(verb, f"{id}_[2-3]", cwd=folder)
            self.assertEqual(re.findall(r"(?m)^job (\S+) ", one), [f"{id}_[2-3]"])
            self.assertRegex(one, how)

    def test_the_rest_of_an_array_is_cancelled_after_some_of_its_tasks(self):
        """No task is in two rows, and Slurm's limit of the array is not told of tasks that have ended."""
        folder = self.folder()
        id = self.submitted("--array", "0-5%2", "-N", "1", "--nproc-per-node", "1", "-J", "rest", "--no-python",
                            "sh", "-c", UNTIL_GO, cwd=folder)
        for task in 0, 1:
            self.wait_for_ranks(folder, f"{id}_{task}")
        self.told("cancel", f"{id}_[3-5]", cwd=folder)
        self.told("cancel", id, cwd=folder)
        self.wait_for_state(f"{id}_0", "CANCELLED")
        self.wait_for_state(f"{id}_1", "CANCELLED")
        rows = re.findall(rf"(?m)^ *({id}\S*) .* (cancelled by \S+)", self.told("jobs", "--recent", cwd=folder))
        self.assertEqual(sorted(rows), [(f"{id}_{tasks}", f"cancelled by {getpass.getuser()}")
                                        for tasks in ("0", "1", "2", "[3-5]")])
        self.assertEqual(re.findall(r"(?m)^job ([^\s:]+)", self.told("status", id, cwd=folder)),
                         [f"{id}_{tasks}" for tasks in ("0", "1", "2", "[3-5]")])

    def test_a_forgotten_job_that_waited_for_another(self):
        folder = self.folder()
        first = self.submitted("-N", "1", "--nproc-per-node", "1", "--no-python", "sh", "-c", UNTIL_GO, cwd=folder)
        waits = self.submitted("-N", "1", "--nproc-per-node", "1", "-J", "next", "--after", first, "--no-python",
                               "true", cwd=folder)
        self.forget(folder, waits)
        (folder / "go").touch()
        how = f"it had not begun: it waited for job {first}"
        self.assertIn(f"job {FORGOTTEN} (next)\n  state      {how} (from its files; Slurm has forgotten it)\n",
                      self.told("status", FORGOTTEN, cwd=folder))
        self.assertIn(f"job {FORGOTTEN} has printed nothing: {how}; ", self.told("logs", FORGOTTEN, cwd=folder))
        self.wait_for_state(waits, "COMPLETED")
        (folder / "logs" / waits).rename(folder / "logs" / "999998")
        (folder / "logs" / f"next.{waits}.out").rename(folder / "logs" / "next.999998.out")
        self.assertIn("job 999998 (next)\n  state      ended with exit code 0", self.told("status", "999998", cwd=folder))

    def test_a_requeue_is_told_from_a_preemption_and_each_run_keeps_its_end(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "--nproc-per-node", "1", "-J", "again", "--no-python", "sh", "-c", UNTIL_GO,
                            cwd=folder)
        self.wait_for_ranks(folder, id)
        self.assert_ok(self.login("scontrol", "requeue", id))
        self.wait_for_job(id, lambda: self.report(folder, id)["exit_code"] == 75, "the end of its first run", 30)
        self.wait_for_state(id, "PENDING")
        self.assertRegex(self.told("status", id, cwd=folder),
                         rf"(?m)^  state      PENDING: waiting, requeued at {CLOCK}$")
        self.assertNotIn("again", self.told("jobs", "--recent", cwd=folder))
        (folder / "go").touch()
        self.start_again(id)
        self.wait_for_state(id, "COMPLETED", limit=60)
        told = self.told("status", id, cwd=folder)
        self.assertRegex(told, rf"(?m)^  ran before 20\d\d-\S+ {CLOCK} → {CLOCK}, exit code 75: requeued: "
                               "Slurm requeued the job$")
        self.assert_same_story(folder, id, "again", 0, "ended with exit code 0", beside_code="ended")


class List(submitting.SubmitCase):
    UP = ("--hosts", "2", "--slurm")

    def row(self, folder, id, **options):
        """STATUS of the job."""
        table = self.login(TOPRUN, "jobs", cwd=folder, **options).out
        found = re.search(rf"(?m)^ *{id} .*  n\S+ +(.*?) *$", table)
        return found[1] if found else table

    def test_what_a_job_says_and_that_it_starts_again(self):
        folder = self.folder()
        id = self.submitted("-N", "2", "--nproc-per-node", "1", "--max-restarts", "2", "-J", "train", "--no-python",
                            "sh", "-c", "[ $RANK$TOPRUN_ATTEMPT = 00 ] && printf 'step 1\\nstep 230 loss \\033[1m0.0043\\n'; "
                            f"{UNTIL_GO}; [ $TOPRUN_ATTEMPT = 1 ] || exit 1; "
                            "until test -e on; do sleep 0.1; done; echo step 231; "
                            "until test -e end; do sleep 0.1; done", cwd=folder)
        self.wait_for_job(id, lambda: self.row(folder, id) == "step 230 loss 0.0043", "its last line", 30)
        job = json.loads(self.login(TOPRUN, "jobs", "--json", cwd="/").out)["jobs"][0]
        self.assertEqual((job["id"], job["told"], job["last_line"]), (id, "running", "step 230 loss 0.0043"))
        self.assertRegex(self.login(TOPRUN, "status", id).out, r"(?m)^  last line  step 230 loss 0\.0043$")
        (folder / "go").touch()
        self.wait_for_job(id, lambda: self.row(folder, id) == "running, restart 1 of 2",
                          "it starts again, and no line is of the new attempt", 30)
        self.assertNotIn("last line", self.login(TOPRUN, "status", id).out)
        (folder / "on").touch()
        self.wait_for_job(id, lambda: self.row(folder, id) == "running, restart 1 of 2: step 231",
                          "a line of the new attempt", 30)
        (folder / "end").touch()
        self.wait_for_state(id, "COMPLETED")

    def test_without_an_id_the_latest_of_this_folder(self):
        folder, other = self.folder(), self.folder()
        ids = [self.submitted("-N", "1", "--nproc-per-node", "1", "--no-python", "echo", f"I am {where.name}", cwd=where)
               for where in (folder, folder, other)]
        for id in ids:
            self.wait_for_state(id, "COMPLETED")
        for where, id in (folder, ids[1]), (other, ids[2]):
            for words in ["status"], ["logs"], ["logs", "-f"]:
                with self.subTest(words=words, id=id):
                    finished = self.login(TOPRUN, *words, cwd=where)
                    self.assert_ok(finished)
                    self.assertIn(f"toprun: job {id}, your latest in this folder\n", finished.err)
                    self.assertIn(f"job {id} " if words == ["status"] else f"I am {where.name}\n", finished.out)
            with self.subTest(words="report", id=id):
                finished = self.login(TOPRUN, "report", cwd=where)
                self.assert_ok(finished)
                self.assertEqual(finished.err, f"toprun: job {id}, your latest in this folder\n")
                self.assertEqual(json.loads(finished.out)["id"], id)
        with self.subTest("none was submitted here"):
            refused = self.login(TOPRUN, "report", cwd=self.folder())
            self.assertEqual(refused.code, 1, refused)
            self.assert_one_line(refused, "you have submitted no job from this folder, according to the files in it; "
                                          "give the job's id; toprun jobs lists your jobs, and toprun jobs --recent "
                                          "those that have ended")
        with self.subTest("an earlier job of another cluster, whose numbers are higher"):
            (folder / f"logs/{ids[1]}").rename(folder / "logs/99999")
            finished = self.login(TOPRUN, "status", cwd=folder)
            self.assertIn("toprun: job 99999, your latest in this folder\n", finished.err)
            last = self.submitted("-N", "1", "--nproc-per-node", "1", "--no-python", "true", cwd=folder)
            self.wait_for_state(last, "COMPLETED")
            finished = self.login(TOPRUN, "status", cwd=folder)
            self.assertIn(f"toprun: job {last}, your latest in this folder\n", finished.err)
        nothing = self.login(TOPRUN, "status", cwd=self.folder())
        self.assertEqual(nothing.code, 1, nothing)
        self.assert_one_line(nothing, "you have submitted no job from this folder.*; give the job's id.*")


class OfMpi(submitting.SubmitCase):
    UP = ("--hosts", "2", "--slurm")

    @classmethod
    def setUpClass(cls):
        support.needs_program("mpirun")
        super().setUpClass()

    def test_a_job_of_mpirun_tells_its_end(self):
        folder = self.folder()
        id = self.submitted("-N", "2", "-J", "mpi", "--launcher", "mpirun", "--ranks-per-node", "1", "--no-python",
                            "sh", "-c", f"{UNTIL_GO}; exit 4", cwd=folder)
        path = folder / "logs" / id / "report.json"
        self.wait_for_job(id, path.exists, "its report", 30)
        told = self.login(TOPRUN, "status", id, cwd=folder).out
        self.assertRegex(told, r"(?m)^  run        attempt 0: running; 2 ranks on 2 nodes$")
        self.assertNotIn("phases", told)
        (folder / "go").touch()
        self.wait_for_job(id, lambda: json.loads(path.read_text())["exit_code"], "its end", 40)
        self.wait_for_state(id, "FAILED")
        how = "failed(, exit code 4|: rank [01] on n[01] ended with exit code 4)"  # Open MPI 4.1.4 names it at times
        os.rename(path.parent, folder / "logs" / FORGOTTEN)
        self.assertRegex(self.login(TOPRUN, "jobs", "--recent", cwd=folder).out,
                         rf"(?m)^ *{FORGOTTEN}  mpi  .* 4  {how.replace(', exit code 4', '')}$")  # the code has a column
        self.assertRegex(self.login(TOPRUN, "status", FORGOTTEN, cwd=folder).out,
                         rf"\Ajob {FORGOTTEN} \(mpi\)\n  state      {how} \(from its files")

    def test_a_job_of_mpirun_that_is_cancelled(self):
        folder = self.folder()
        id = self.submitted("-N", "2", "-J", "mpi", "--no-python", "sh", "-c", "touch rank$OMPI_COMM_WORLD_RANK; exec sleep 100",
                            cwd=folder, env={"TOPRUN_LAUNCHER": "mpirun", "TOPRUN_RANKS_PER_NODE": "1"})
        self.wait_for_job(id, lambda: (folder / "rank0").exists() and (folder / "rank1").exists(), "its ranks run", 30)
        top = self.login(TOPRUN, "top", id, cwd=folder)
        self.assertEqual(top.code, 1, top)
        self.assert_one_line(top, r".*mpirun starts this job's ranks \(--launcher mpirun\), and toprun top sees only .*")
        self.assert_ok(self.login(TOPRUN, "cancel", id, cwd=folder))
        followed = self.login(TOPRUN, "logs", "-f", id, cwd=folder)
        self.assertEqual(followed.code, 143, followed)
        self.assertRegex(followed.out, r"(?m)^toprun: .* interrupted by SIGTERM, exit code 143$")
        self.assertRegex(followed.err, rf"(?m)^toprun: job {id}: cancelled by ")
        self.assertRegex(self.login(TOPRUN, "jobs", "--recent", cwd=folder).out, rf"(?m)^ *{id}  mpi  .* 143  cancelled by ")

    def test_a_job_of_mpirun_tells_the_exception_that_it_ended_with(self):
        folder = self.folder()
        (folder / "train.py").write_text("import os\nprint(os.environ['RANK'])\n")
        id = self.submitted("-N", "2", "-J", "mpi", "--launcher", "mpirun", "--ranks-per-node", "1", "train.py",
                            cwd=folder)
        self.wait_for_state(id, "FAILED")
        how = ("(rank [01] on n[01]|the job) ended with exit code 1: KeyError: 'RANK'; --launcher "
               "mpirun does not set RANK, LOCAL_RANK, WORLD_SIZE or MASTER_ADDR: leave out --launcher mpirun, or use "
               "--via mpirun")
        log = (folder / "logs" / f"mpi.{id}.out").read_text()
        self.assertRegex(self.login(TOPRUN, "jobs", "--recent", cwd=folder).out,
                         rf"(?m)^ *{id}  mpi  .* 1  failed: {how}$", log)
        self.assertRegex(self.login(TOPRUN, "status", id, cwd=folder).out, rf"(?m)^  state +FAILED: {how}$")


if __name__ == "__main__":
    unittest.main()
