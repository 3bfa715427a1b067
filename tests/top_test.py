"""`toprun top` on terminals of tmux: what it shows of a running job, its keys, and that the terminal comes back."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

import support

LIMIT_S = 30
# Ranks that say one line and stay until the folder has a file "end".
STAYS = """
import os, pathlib, time
print("rank", os.environ["RANK"], "is here", flush=True)
while not (pathlib.Path(__file__).parent / "end").exists():
    time.sleep(0.05)
"""
# Ranks that have stdout's file before stderr's, and nothing or OUT in it.
NOISY = """
import os, pathlib, sys, time
print("OUT", end="", flush=True)
time.sleep(0.1)
print("INFO of", os.environ["RANK"], file=sys.stderr, flush=True)
here = pathlib.Path(__file__).parent
(here / f"noisy{os.environ['RANK']}").touch()
time.sleep(100)
"""


class Tmux:
    """A terminal of a tmux server of its own."""

    def __init__(self, test, folder, columns, rows, command, env):
        support.needs_program("tmux")
        self.socket = folder / "tmux"
        self.env = {**os.environ, **env}
        self.env.pop("TMUX", None)
        self.run("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows,
                 f"echo before; {command}; echo code $?; exec sh -c 'while :; do sleep 0.1; done'")
        test.addCleanup(self.run, "kill-server")

    def run(self, *argv):
        return subprocess.run(["tmux", "-S", str(self.socket), *map(str, argv)], env=self.env, check=False,
                              capture_output=True, text=True, timeout=LIMIT_S).stdout

    def lines(self, *flags):
        return self.run("capture-pane", "-p", *flags).rstrip("\n").split("\n")

    def press(self, *keys):
        self.run("send-keys", *keys)

    def resize(self, columns, rows):
        self.run("resize-window", "-x", columns, "-y", rows)

    def expect(self, pattern):
        seen = ""

        def is_there():
            nonlocal seen
            seen = "\n".join(self.lines())
            return pattern in seen
        try:
            support.wait_until(is_there, LIMIT_S, pattern)
        except AssertionError:
            raise AssertionError(f"no {pattern!r} in\n{seen}") from None
        return seen


    def expect_form(self, pattern):
        """Until a frame matches; a frame of before has perhaps a part of it."""
        frames = []
        try:
            support.wait_until(lambda: frames.append("\n".join(self.lines())) or re.search(pattern, frames[-1]), LIMIT_S,
                               pattern)
        except AssertionError:
            raise AssertionError(f"no {pattern!r} in\n{frames[-1]}") from None


class Top(support.TestCase):
    def setUp(self):
        self.here = self.folder()
        self.env = {**support.without_torch()}
        (self.here / "stays.py").write_text(STAYS)

    def job(self, *flags, ranks=3):
        run = self.begin(support.binary(), "--report", self.here / "report.json", "--nproc-per-node", ranks, *flags,
                         self.here / "stays.py", env=self.env)
        for rank in range(ranks):
            run.prints(f"rank {rank} is here")
        return run

    def top(self, columns=80, rows=24, env=None):
        return Tmux(self, self.here, columns, rows, f"{support.binary()} top {self.here}/report.json",
                    {**self.env, **(env or {})})

    def test_ranks_keys_and_leaving(self):
        self.job()
        screen = self.top()
        shown = screen.expect("rank 2")
        self.assertIn("3 ranks: 3 run", shown)
        self.assertNotIn("before", shown)
        self.assertTrue(shown.rstrip().endswith("? help"), shown)
        screen.expect(" 0.0 ")  # its figures have come
        screen.press("s")
        screen.expect("sort: CPU")
        screen.press("?")
        screen.expect("any key goes back")
        screen.press("x")
        screen.press("/", "2", "Enter")
        self.assertIn("sort: CPU", screen.expect("Enter more"))
        screen.press("Enter")
        screen.expect("its local rank 2: runs")
        screen.expect("  process    pid ")
        screen.press("l")
        screen.expect("no log file of this rank")
        screen.press("q")
        shown = screen.expect("code 0")
        self.assertIn("before", shown, "the terminal is as it was")
        self.assertNotIn("rank 2", shown)

    def test_a_ranks_last_lines(self):
        (self.here / "stays.py").write_text(STAYS.replace("while", "print('\\n'.join(f'step {i}' for i in range(9)), flush=True)\nwhile"))
        self.job(ranks=1)
        screen = self.top()
        screen.expect("rank 0")
        screen.press("/", "0", "Enter")
        screen.expect("Enter more")
        screen.press("Enter")
        screen.expect_form(r"last lines\n +step 4\n +step 5\n +step 6\n +step 7\n +step 8\n")

    def test_between_a_failure_and_the_end_of_the_other_ranks(self):
        (self.here / "stays.py").write_text("import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + STAYS
                                            .replace("while not", """
if os.environ["RANK"] == "1":
    while not (pathlib.Path(__file__).parent / "fail").exists():
        time.sleep(0.05)
    print("loaded shard 7", flush=True)
    raise SystemExit(3)
while not""", 1))
        run = self.job()
        screen = self.top(120)
        screen.expect("rank 2")
        (self.here / "fail").touch()
        shown = screen.expect("failed, code 3")
        self.assertIn("| stopping its ranks |", shown)
        self.assertRegex(shown, r"(?m)^attempt 0: rank 1 on \S+ ended with exit code 3$")
        self.assertRegex(shown, r"rank 1 +failed, code 3 .* loaded shard 7")
        screen.press("/", "1", "Enter")
        screen.expect("Enter more")
        screen.press("Enter")
        self.assertRegex(screen.expect("last line"), r"failed, exit code 3\n(.*\n)* +attempt 0 .*exit code 3\n +rank 1 is here\n +loaded shard 7\n")
        (self.here / "end").touch()
        self.assertEqual(run.wait(LIMIT_S).code, 3)

    def test_folding(self):
        self.job()
        screen = self.top()
        screen.expect("rank 0")
        screen.press("Enter")
        screen.expect("3 run ")
        self.assertNotIn("    rank 0", screen.expect("+ "))

    def test_sizes_and_colours(self):
        self.job()
        screen = self.top(200, 50, env={"NO_COLOR": "1"})
        shown = screen.expect("OUT MB/s")
        self.assertIn(">", shown)
        self.assertFalse([line for line in screen.lines("-e") if "\x1b[3" in line])
        screen.resize(40, 10)
        support.wait_until(lambda: "OUT MB/s" not in "\n".join(screen.lines()), LIMIT_S, "a narrow frame")
        shown = screen.expect("rank 2")
        self.assertLessEqual(max(map(len, shown.split("\n"))), 40)
        screen.resize(30, 8)
        screen.expect("40 x 10")

    def test_the_jobs_end(self):
        run = self.job()
        screen = self.top()
        screen.expect("rank 2")
        (self.here / "end").touch()
        shown = screen.expect("code 0")
        self.assertIn("3 ranks: 3 done", shown)
        self.assertRegex(shown, r"toprun: .*3 ranks on 1 node, all ended\s+with 0")
        self.assertRegex(shown, "  RANKS +STATE[^?]*\n    rank 2 +done ", "its last state stays")
        self.assertEqual(run.wait(LIMIT_S).code, 0)

    def test_ranks_that_a_cancel_ended_have_not_failed(self):
        run = self.job()
        screen = self.top()
        screen.expect("rank 2")
        run.signal(signal.SIGTERM)
        shown = screen.expect("code 0")
        self.assertIn("ended with 143", shown)
        self.assertIn("3 ranks: 3 stopped", shown)
        self.assertRegex(shown, "\n    rank 2 +stopped ")
        self.assertEqual(run.wait(LIMIT_S).code, 143)

    def test_signals_give_the_terminal_back(self):
        self.job()
        screen = self.top()
        screen.expect("rank 2")
        screen.press("C-c")
        self.assertIn("before", screen.expect("code 130"))

    def assert_log_is_shown(self, *options):
        self.job(*options)
        screen = self.top(env={"PAGER": "cat"})
        screen.expect("rank 1")
        screen.press("/", "1", "Enter")
        screen.press("l")
        time.sleep(0.5)
        screen.press("q")
        screen.expect("code 0")
        self.assertIn("rank 1 is here", "\n".join(screen.lines("-S", "-100")))

    def test_a_log(self):
        self.assert_log_is_shown("--log-dir", self.here / "logs", "--tee", "3")

    def test_less_says_of_which_rank_the_log_is(self):
        support.needs_program("less")
        self.job("--log-dir", self.here / "logs", "--tee", "3")
        screen = self.top(env={"PAGER": "less", "LESS": "-S"})
        screen.expect("rank 1")
        screen.press("/", "1", "Enter", "s", "l")
        screen.expect_form(r"(?m)^rank 1 is here\n(~?\n)*rank 1 on \S+, stdout\.log \(END\)$")
        screen.press("q")
        screen.expect("sort: CPU")

    def test_the_log_of_a_rank_has_both_of_its_files(self):
        support.needs_program("less")
        for out, form in (("", r"INFO of 1\n(~?\n)*rank 1 on \S+, stderr\.log \(END\)"),
                          ("early ", r"INFO of 1\n(~?\n)*rank 1 on \S+, stderr\.log, stdout\.log: file 1 of 2")):
            (self.here / "stays.py").write_text(NOISY.replace("OUT", out))
            run = self.begin(support.binary(), "--report", self.here / "report.json", "--nproc-per-node", 2, "--log-dir",
                             self.here / f"logs{out}", "--redirects", "3", self.here / "stays.py", env=self.env)
            support.wait_until(lambda: (self.here / "noisy1").exists(), LIMIT_S, "both ranks have printed")
            screen = self.top(env={"PAGER": "less", "LESS": "-S"})
            screen.expect("rank 1")
            screen.press("/", "1", "Enter", "l")
            screen.expect_form(form)
            screen.press("q", "q")
            screen.expect("code 0")
            screen.run("kill-server")
            (self.here / "noisy1").unlink()
            run.kill_all()

    def test_the_log_of_a_submitted_job_is_its_nodes(self):
        self.assert_log_is_shown("--node-log", self.here / "logs")

    def test_the_last_lines(self):
        self.job()
        wide = self.top(120, 40)
        wide.expect("LAST LINE")
        wide.expect("  rank 2 is here")

    def test_a_usual_terminal_shows_the_last_lines(self):
        self.job()
        screen = self.top(80, 24)
        screen.expect("OUTPUT  LAST LINE")
        screen.expect("  rank 2 is here")

    def test_a_narrow_screen_shows_the_last_line_of_what_is_selected(self):
        self.job()
        screen = self.top(50, 24)
        screen.expect("    rank 2")
        screen.press("/", "2", "Enter")
        screen.expect("rank 2: rank 2 is here")

    def test_without_a_terminal(self):
        self.job()
        finished = self.run_to_end(support.binary(), "top", self.here / "report.json", env=self.env)
        self.assert_ok(finished)
        self.assertIn("3 ranks: 3 run", finished.out)
        self.assertIn("rank 2", finished.out)
        self.assertNotIn("\x1b", finished.out)
        self.assertRegex(finished.out, r"rank 2 +runs +\d+\.\d ", "what its CPU does needs two looks")

    def test_pictures_for_programs(self):
        run = self.job()
        top = self.begin(support.binary(), "top", "--json", self.here / "report.json", env=self.env)
        top.prints(r"\n[^\n]*\n")  # two of them
        (self.here / "end").touch()
        finished = top.wait(LIMIT_S)
        self.assert_ok(finished)
        pictures = [json.loads(line) for line in finished.out.strip().split("\n")]
        self.assertEqual({picture["schema"] for picture in pictures}, {"toprun.live/1"})
        self.assertEqual([picture["job"]["exit_code"] for picture in pictures[:-1]], [None] * (len(pictures) - 1))
        self.assertEqual((pictures[-1]["job"]["exit_code"], pictures[-1]["figures"]["ranks"]["state"]), (0, "ddd"))
        run.wait(LIMIT_S)

    def test_a_reader_that_was_stopped_sees_the_end_too(self):
        run = self.job()
        top = self.begin(support.binary(), "top", "--json", self.here / "report.json", env=self.env)
        top.prints(r"\n")
        top.signal(signal.SIGSTOP)
        (self.here / "end").touch()
        self.assertEqual(run.wait(LIMIT_S).code, 0)  # the job does not wait for it for long
        top.signal(signal.SIGCONT)
        finished = top.wait(LIMIT_S)
        self.assert_ok(finished)
        self.assertEqual(json.loads(finished.out.strip().split("\n")[-1])["job"]["exit_code"], 0)

    def test_status_by_the_report(self):
        run = self.job()
        report = self.here / "report.json"
        asked = self.run_to_end(support.binary(), "status", report)
        self.assert_ok(asked)
        self.assertRegex(asked.out, f"run of {report}, root agent on .*\n  program +\S+stays.py\n  times +began .*\n  run +attempt 0: .*; 3 ranks on 1 node\n")
        (self.here / "end").touch()
        self.assertEqual(run.wait(LIMIT_S).code, 0)
        self.assertIn("ended with exit code 0; 3 ranks", self.run_to_end(support.binary(), "status", report).out)
        asked = self.run_to_end(support.binary(), "status", "--json", report)
        self.assertEqual(json.loads(asked.out), json.loads(report.read_text()))
        report.write_text("{}")
        self.assert_one_line(self.run_to_end(support.binary(), "status", report), ".*report.json.*")

    def test_of_a_job_that_has_ended_its_last_state(self):
        """By its report, where no engine knows the job any more."""
        folder = self.folder()
        (folder / "job.py").write_text("import os, sys, time\n"
                                       "if os.environ['RANK'] == '1': print('boom', flush=True); sys.exit(7)\ntime.sleep(60)\n")
        (folder / "logs/999994").mkdir(parents=True)
        ended = self.toprun("--nproc-per-node", 3, "--report", folder / "logs/999994/report.json", folder / "job.py", env=support.without_torch())
        self.assertEqual(ended.code, 7, ended)
        shown = self.toprun("top", "999994", cwd=folder, env={"PATH": "/nowhere"})
        self.assert_ok(shown)
        self.assertIn("3 ranks: 1 failed, 2 stopped", shown.out)
        self.assertRegex(shown.out, r"rank 1 +failed, code 7 .*boom")
        self.assertRegex(shown.out.splitlines()[-1], r"^the job has ended: .*rank 1 on \S+ ended with exit code 7.*; this is its last state, "
                                                     r"by its report; toprun status 999994 shows more$")
        by_file = self.toprun("top", folder / "logs/999994/report.json")
        self.assert_ok(by_file)
        self.assertEqual(by_file.out.splitlines()[1:-1], shown.out.splitlines()[1:-1])
        self.assertRegex(by_file.out.splitlines()[-1], r"^the job has ended: failed.*exit code 7.*; toprun status \S+report.json shows more$")
        for_programs = self.toprun("top", "--json", "999994", cwd=folder, env={"PATH": "/nowhere"})
        self.assertEqual((for_programs.code, for_programs.out), (1, ""), for_programs)

    def test_a_job_that_ended_while_it_waited_for_nodes(self):
        report = self.folder() / "report.json"
        report.write_text(json.dumps(
            {"schema": "toprun.report/1", "job": "hand", "root": {"host": "n0", "pid": 1}, "exit_code": 130,
             "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "updated": None, "restarts": 0,
             "attempts": [{"attempt": 0, "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "phases_ms": {},
                           "nodes": [], "hang": None, "cause": {"kind": "interrupted", "what": "interrupted by SIGINT"}}]}))
        shown = self.toprun("top", report)
        self.assert_ok(shown)
        self.assertRegex(shown.out, r"\Ahand \| ended with 130.*\nattempt 0: interrupted by SIGINT\nthe job has ended: interrupted by SIGINT")
        self.assertNotIn("RANKS", shown.out)

    def test_a_terminal_that_cannot(self):
        self.job()
        finished = self.run_to_end("script", "-qec", 
                                   f"env TERM=dumb {support.binary()} top {self.here}/report.json", "/dev/null", env=self.env)
        self.assertIn("top needs a terminal", finished.out)


if __name__ == "__main__":
    unittest.main()
