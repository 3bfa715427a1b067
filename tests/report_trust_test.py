# ctest: TIMEOUT 120
"""What a verb does where a report tells it to: only for a report of one's own, and a process that leads that job."""

import json
import os
import shutil
import signal
import sys
import unittest

import support

TOPRUN = support.TOPRUN
ADA = 61001   # whose job it is
MALLORY = 61002
ELSEWHERE = "another-host"
# A rank that stands until it is told to end; its file says that it stands.
STANDS = "import os, signal, sys; open(sys.argv[1], 'w').close(); signal.pause()"
# Runs here what ssh would run on the other host.
STAND_IN = """#!/bin/sh
for line; do :; done
echo "$line" >>{asked}
exec sh -c "$line"
"""


class OneReport(support.TestCase):
    def setUp(self):
        self.place = self.folder()
        self.place.chmod(0o755)
        self.asked = self.place / "asked"
        self.cwd = self.place
        ssh = self.place / "ssh"
        ssh.write_text(STAND_IN.format(asked=self.asked))
        ssh.chmod(0o755)
        self.env = {"TOPRUN_SSH": str(ssh), "XDG_RUNTIME_DIR": str(self.runtime(os.geteuid()))}

    def runtime(self, user):
        """A folder for the sockets of the user's jobs."""
        folder = self.place / f"run-{user}"
        if not folder.exists():
            folder.mkdir(mode=0o700)
            os.chown(folder, user, user)
        return folder

    def written(self, owner, *, pid, host=ELSEWHERE, started="2026-11-28T01:00:00.000Z", mode=0o644):
        """A report of a run that goes on."""
        path = self.place / "report.json"
        path.unlink(missing_ok=True)
        path.write_text(json.dumps({"schema": "toprun.report/1", "job": "theirs", "root": {"host": host, "pid": pid},
                                    "exit_code": None, "started": started, "attempts": [], "grow": "on-signal"}))
        os.chown(path, owner, owner)
        path.chmod(mode)
        return path

    def running(self, *options):
        """A job with a report of its own: (the job, its report)."""
        report, stands = self.place / "own.json", self.place / "stands"
        run = self.begin(TOPRUN, "--report", report, *options, "--no-python", sys.executable, "-c", STANDS, stands,
                         env=self.env)
        support.wait_until(stands.exists, 60, "its rank stands")
        support.wait_until(lambda: report.exists() and json.loads(report.read_text())["attempts"], 60, "its report")
        return run, report

    def elsewhere(self, report, **changes):
        """The same report, of a job on another host."""
        document = {**json.loads(report.read_text()), **changes}
        document["root"]["host"] = ELSEWHERE
        path = report.with_name("elsewhere.json")
        path.write_text(json.dumps(document))
        return path

    def ask(self, verb, report):
        return self.run_to_end(TOPRUN, verb, report, env=self.env, cwd=self.cwd)


class OfAnotherUser(OneReport):
    """Root asks by a report of another user, which names a program of that user."""

    def setUp(self):
        support.needs_root()
        support.needs_program("setpriv")
        super().setUp()
        self.touched = self.place / "touched"
        self.touched.mkdir()
        self.touched.chmod(0o777)
        self.cwd = self.touched
        self.program = self.place / "program"
        shutil.copy(sys.executable, self.program)
        ready = self.touched / "ready"
        # Started as `PROGRAM stacks PID` it is Python, which runs a file of that name.
        for verb in ("stacks", "top"):
            (self.touched / verb).write_text(f"open({str(self.touched / 'owned')!r}, 'w')")
        self.victim = self.begin("setpriv", f"--reuid={MALLORY}", f"--regid={MALLORY}", "--clear-groups", self.program,
                                 "-c", STANDS, ready)
        support.wait_until(ready.exists, 30, "it stands")
        self.pid = self.victim.process.pid

    def assert_asks_nobody(self, verb, report, why):
        self.assert_one_line(self.ask(verb, report), f"cannot (ask the job of|grow) .*: {why}")
        self.assertFalse(self.asked.exists(), "another host was asked")
        self.assertEqual(sorted(os.listdir(self.touched)), ["ready", "stacks", "top"])

    def test_it_is_refused_wherever_the_job_is(self):
        for verb in ("stacks", "top", "grow"):
            for host in (ELSEWHERE, os.uname().nodename):
                with self.subTest(verb=verb, host=host):
                    self.assert_asks_nobody(verb, self.written(MALLORY, pid=self.pid, host=host),
                                            f"the report names the address of the job's agent, and it belongs to user {MALLORY}, neither to you "
                                            "nor to root; run this command as the user who owns the job")

    def test_a_report_that_everybody_may_write(self):
        self.assert_asks_nobody("stacks", self.written(0, pid=self.pid, mode=0o666),
                                "the report names the address of the job's agent, and every user may write to it; .*")

    def test_a_link_to_ones_own(self):
        own = self.written(0, pid=self.pid).rename(self.place / "own.json")
        link = self.place / "report.json"
        link.symlink_to(own)
        os.lchown(link, MALLORY, MALLORY)
        finished = self.ask("stacks", link)
        self.assertEqual(finished.code, 1)
        self.assert_one_line(finished, f"cannot read {link}: Too many levels of symbolic links")
        self.assertFalse(self.asked.exists())

    def test_root_s_report_that_names_a_process_of_another_user(self):
        """The pid was given again."""
        for verb in ("stacks", "top"):
            with self.subTest(verb):
                finished = self.ask(verb, self.written(0, pid=self.pid))
                self.assertEqual(finished.code, 1)
                self.assertIn(f"the job has ended: process {self.pid} is of another user", finished.err)
                self.assertEqual(sorted(os.listdir(self.touched)), ["ready", "stacks", "top"])


class OfAJobThatIsOver(OneReport):
    def test_its_process_id_is_another_program_s(self):
        """Of the same user; a report whose job was killed names it for ever."""
        stands = self.place / "stands"
        other = self.begin(sys.executable, "-c", STANDS, stands)
        support.wait_until(stands.exists, 30, "it stands")
        for verb in ("stacks", "top"):
            for host in (ELSEWHERE, os.uname().nodename):
                with self.subTest(verb=verb, host=host):
                    finished = self.ask(verb, self.written(os.geteuid(), pid=other.process.pid, host=host))
                    self.assertEqual(finished.code, 1)
                    self.assertIn(f"the job has ended: process {other.process.pid} ", finished.err)

    def test_its_process_id_is_another_job_s(self):
        run, report = self.running()
        for verb in ("stacks", "top"):
            for path in (self.elsewhere(report, started="2026-11-28T01:00:00.000Z"),
                         self.written(os.geteuid(), pid=json.loads(report.read_text())["root"]["pid"],
                                      host=os.uname().nodename)):
                with self.subTest(verb=verb, path=path.name):
                    finished = self.ask(verb, path)
                    self.assertEqual(finished.code, 1)
                    self.assertRegex(finished.err, r"the job has ended: process \d+ of \S+ is not the root agent of this job")
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(60).code, 130)

    def test_nothing_of_that_process_id_is_signalled(self):
        """`toprun grow` sends SIGURG, which this program counts."""
        counted = self.place / "counted"
        ready = self.place / "ready"
        other = self.begin(sys.executable, "-c", "import signal, sys, time\n"
                           "signal.signal(signal.SIGURG, lambda *_: open(sys.argv[1], 'w').close())\n"
                           "open(sys.argv[2], 'w').close()\nwhile True: signal.pause()", counted, ready)
        support.wait_until(ready.exists, 30, "it stands")
        report = self.written(os.geteuid(), pid=other.process.pid, host=os.uname().nodename)
        self.assert_one_line(self.ask("grow", report), f"cannot grow {report}: the job has ended: process .*")
        self.assertFalse(counted.exists())


class OfOnesOwn(OneReport):
    def test_on_this_host_and_by_ssh(self):
        run, report = self.running()
        here = self.run_to_end(TOPRUN, "stacks", report, env=self.env)
        self.assert_ok(here)
        away = self.ask("stacks", self.elsewhere(report))
        self.assert_ok(away)
        self.assertIn("rank 0", here.out)
        self.assertEqual(here.out, away.out)
        self.assertTrue(self.asked.exists())
        self.assertIn("1 rank", self.ask("top", self.elsewhere(report)).out)
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(60).code, 130)
        self.assert_one_line(self.ask("stacks", report), "cannot ask the job of .*: the job has ended; toprun status .* shows how")


if __name__ == "__main__":
    unittest.main()
