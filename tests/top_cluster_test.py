# ctest: TIMEOUT 200 LABELS cluster
"""`toprun top ID` of a Slurm job that has not begun, on a terminal of the login host."""

import json
import re
import shlex
import time
import unittest

import submitting
import top_test

TOPRUN = submitting.TOPRUN


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
        shown = screen.expect(f"job {id} waits")
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
            screen.expect(f"job {id} waits")
            screen.press(key)
            screen.expect(f"code {code}")
        screen = self.top(folder, id)
        screen.expect(f"job {id} waits")
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
        self.assertIn("2 ranks", shown)
        self.assertNotIn("slurmstepd", shown)
        self.assert_ok(self.login(TOPRUN, "cancel", id))

    def test_without_a_terminal_it_is_refused(self):
        id = self.held(self.folder())
        refused = self.login(TOPRUN, "top", id)
        self.assertEqual(refused.code, 1, refused)
        self.assert_one_line(refused, rf"cannot look at job {id}: the job is not running: waiting; toprun status {id} shows more")


if __name__ == "__main__":
    unittest.main()
