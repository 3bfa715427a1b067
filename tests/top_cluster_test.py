# ctest: TIMEOUT 200 LABELS cluster
"""`toprun top ID` of a Slurm job that has not begun, on a terminal of the login host."""

import json
import re
import shlex
import time
import unittest

import submitting
import support
import top_test

TOPRUN = submitting.TOPRUN
HANGS = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 1:
    time.sleep(100)
dist.all_reduce(torch.ones(1))
"""


class Waiting(submitting.SubmitCase):
    UP = ("--hosts", "1", "--slurm")

    def held(self, folder):
        return self.submitted("--slurm-arg=--hold", "-N", "1", "--nproc-per-node", "2", "--no-python", "sleep", "100",
                              cwd=folder)

    def top(self, folder, id):
        command = shlex.join(map(str, self.cluster.on("ctl", TOPRUN, "top", id)))
        return top_test.Tmux(self, self.folder(), 100, 24, command, {})

    def test_it_waits_until_the_job_begins(self):
        folder = self.folder()
        id = self.held(folder)
        screen = self.top(folder, id)
        shown = screen.expect(f"({id}) waits")
        self.assertIn("JobHeldUser", shown)
        self.assertIn("q quit", shown)
        self.assert_ok(self.login("scontrol", "release", id))
        screen.expect("2 ranks: 2 run")
        screen.press("q")
        screen.expect("code 0")
        self.assert_ok(self.login(TOPRUN, "cancel", id))

    def test_keys_and_signals_end_the_wait(self):
        folder = self.folder()
        id = self.held(folder)
        for key, code in (("q", 0), ("C-c", 130)):
            screen = self.top(folder, id)
            screen.expect(f"({id}) waits")
            screen.press("?")
            screen.expect("any key goes back")
            screen.press("x")
            screen.expect(f"({id}) waits")
            screen.press(key)
            screen.expect(f"code {code}")
        screen = self.top(folder, id)
        screen.expect(f"({id}) waits")
        self.assert_ok(self.login(TOPRUN, "cancel", id))
        shown = screen.expect("code 1")
        self.assertRegex(shown.replace("\n", " "), f"cannot look at job {id}: the job is not running: cancelled by")

    def test_the_last_state_stays_where_slurm_ends_its_step_first(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "--nproc-per-node", "2", "--no-python", "sleep", "100", cwd=folder)
        screen = self.top(folder, id)
        screen.expect("2 ranks: 2 run")
        with open(folder / "logs" / id / "story.jsonl", "a", encoding="utf-8") as story:
            story.write(json.dumps({"act": "cancelled", "by": "alice", "at": time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                                                                           time.gmtime())}) + "\n")
        step = max(re.findall(rf"^{id}\.\d+", self.login("squeue", "-h", "-s", "-j", id, "-o", "%i").out, re.M),
                   key=lambda one: int(one.split(".")[1]))
        self.assert_ok(self.login("scancel", step))
        shown = screen.expect("code 0")
        self.assertIn("cancelled by alice at", shown)
        self.assertIn("2 ranks: 2 stopped", shown)
        self.assertNotIn("slurmstepd", shown)
        self.assert_ok(self.login(TOPRUN, "cancel", id))

    def test_a_cancelled_job_has_stopped_ranks_and_says_its_hang(self):
        folder = self.folder()
        (folder / "hang.py").write_text(HANGS)
        id = self.submitted("-N", "1", "--nproc-per-node", "2", "--hang-timeout", "3", "hang.py", cwd=folder,
                            env={"PYTHON_EXEC": support.python()})
        screen = self.top(folder, id)
        screen.expect("made progress")
        self.assert_ok(self.login(TOPRUN, "cancel", id))
        shown = screen.expect("code 0")
        self.assertRegex(shown, r"2 ranks: 2 stopped")
        self.assertRegex(shown, r"\ncancelled by \S+ at [0-9:]+, it had hung since [0-9:]+: rank ")
        self.assertNotRegex(shown, r"\d (run|hang|wait)s?\b")

    def test_the_report_of_a_running_job_is_asked_of_the_job(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "--no-python", "sleep", "100", cwd=folder)
        screen = self.top(folder, id)
        screen.expect("1 runs")
        file = json.loads((folder / "logs" / id / "report.json").read_text())
        time.sleep(1.1)
        asked = json.loads(self.login(TOPRUN, "report", id, cwd=folder).out)
        self.assertGreater(asked["updated"], file["updated"])
        self.assertEqual((asked["id"], asked["exit_code"], asked["started"]), (id, None, file["started"]))
        self.assert_ok(self.login(TOPRUN, "cancel", id))

    def test_status_shows_the_page_and_how_to_reach_it(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "--web", "--no-python", "sleep", "100", cwd=folder)
        page = folder / "logs" / id / "page.json"
        self.wait_for_job(id, page.exists, "the page's address is written", 30)
        self.assertEqual(page.stat().st_mode & 0o777, 0o600)
        shown = self.login(TOPRUN, "status", id, cwd=folder)
        self.assert_ok(shown)
        port = re.search(r"(?m)^  page +http://127\.0\.0\.1:(\d+)/#token=\S+ on n0$", shown.out).group(1)
        self.assertRegex(shown.out, rf"from your own machine: ssh -N -L {port}:127\.0\.0\.1:{port} -J ctl n0, ")
        self.assert_ok(self.login(TOPRUN, "cancel", id))
        self.wait_for_state(id, "CANCELLED")
        self.assertNotIn("  page", self.login(TOPRUN, "status", id, cwd=folder).out)

    def test_a_job_over_the_partitions_limit_is_said_to_be_stuck(self):
        folder = self.folder()
        id = self.submitted("--slurm-arg=--hold", "-N", "1", "-t", "90", "--no-python", "sleep", "1", cwd=folder)
        self.assert_ok(self.login("scontrol", "update", "PartitionName=main", "MaxTime=5"))
        self.addCleanup(self.login, "scontrol", "update", "PartitionName=main", "MaxTime=INFINITE")
        self.assert_ok(self.login("scontrol", "release", id))
        follow = self.begin(*self.cluster.on("ctl", TOPRUN, "logs", "-f", id), cwd=folder)
        follow.says("it cannot start as it is: submit it again with other options")
        self.assert_ok(self.login(TOPRUN, "cancel", id))
        follow.wait(30)

    def test_of_a_job_that_has_ended_its_last_state(self):
        folder = self.folder()
        id = self.submitted("-N", "1", "--nproc-per-node", "2", "--no-python", "sh", "-c", "exit $((7 * RANK))", cwd=folder)
        self.wait_for_state(id, "FAILED")
        screen = self.top(folder, id)
        shown = screen.expect("code 0")
        self.assertIn("2 ranks: 1 failed, 1 stopped", shown)
        self.assertRegex(shown.replace("\n", " "), "the job has ended: failed.*rank 1 on n0 ended with exit code 7")

    def test_of_a_job_that_ends_before_a_first_look_its_last_state(self):
        folder = self.folder()
        id = self.submitted("--slurm-arg=--hold", "-N", "1", "--nproc-per-node", "1", "--no-python", "sh", "-c", "exit 7",
                            cwd=folder)
        screen = self.top(folder, id)
        screen.expect(f"({id}) waits")
        self.assert_ok(self.login("scontrol", "release", id))
        shown = screen.expect("code 0")
        self.assertRegex(shown.replace("\n", " "), "the job has ended: failed.*rank 0 on n0 ended with exit code 7")

    def test_an_array_that_has_ended(self):
        """It has a last state of each task that ran."""
        folder = self.folder()
        array = self.submitted("--array", "0-3%2", "-N", "1", "--nproc-per-node", "1", "--no-python", "sh", "-c",
                               "until test -e go; do sleep 0.1; done", cwd=folder)
        for task in "01":
            self.wait_for_state(f"{array}_{task}", "RUNNING")
        self.assert_ok(self.login(TOPRUN, "cancel", f"{array}_[2-3]", cwd=folder))
        (folder / "go").touch()
        for task in "01":
            self.wait_for_state(f"{array}_{task}", "COMPLETED")
        refused = self.login(TOPRUN, "top", array, cwd=folder)
        self.assertEqual(refused.code, 2, refused)
        self.assert_one_line(refused, rf"cannot look at job {array}: 2 of its tasks ran; name one task: {array}_0, {array}_1")
        self.assertIn("exit code 0; this is its last state", self.login(TOPRUN, "top", f"{array}_1", cwd=folder).out)
        for words, told in ((["stacks", array], f"job {array} are: the job is not running: none of its tasks runs; .*"),
                            (["cancel", array], f"job {array} has already ended: none of its tasks runs or waits")):
            self.assert_one_line(self.login(TOPRUN, *words, cwd=folder), rf".*{told}")

    def test_without_a_terminal_it_is_refused(self):
        id = self.held(self.folder())
        refused = self.login(TOPRUN, "top", id)
        self.assertEqual(refused.code, 1, refused)
        self.assert_one_line(refused, rf"cannot look at job {id}: the job is not running yet \(waiting, JobHeldUser: .*\); toprun status {id} shows more")


if __name__ == "__main__":
    unittest.main()
