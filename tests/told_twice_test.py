# ctest: TIMEOUT 300
"""One wish to end a job, delivered more than once, as every day has it: `timeout` signals its child and then
the group, a closed terminal the shell's jobs and the session, pkill -f and systemd each process they find.
Every rank has its whole grace, in which it saves."""

import os
import pty
import signal
import time
import unittest

import support

LIMIT_S = 60
GRACE = {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "300"}
ROUNDS = 5      # of what depends on who runs first
A_USER_S = 1.1  # one who saw that the job goes on takes longer than deliveries of one signal
# Saves for a while, whatever told it to, and however often.
SAVES = """\
save() { trap "" TERM INT HUP; sleep 0.3; >"$ROOT/saved.$RANK"; exit 0; }
trap save TERM INT HUP
>"$ROOT/up.$RANK"
while :; do sleep 0.05; done
"""
STAYS = """\
trap '>"$ROOT/told.$RANK"' TERM INT
>"$ROOT/up.$RANK"
while :; do sleep 0.05; done
"""
# An entry point that passes on what it gets, to a child that the group's signal reaches as well.
ENTRY_POINT = """\
trap 'kill -TERM $child' TERM
"$@" & child=$!
wait $child
wait $child
"""


class ToldTwice(support.TestCase):
    def setUp(self):
        self.root = self.folder()
        (self.root / "rank.sh").write_text(SAVES)

    def toprun_words(self, *flags):
        return [support.binary(), "--nproc-per-node", 2, *flags, "--no-python", "sh", self.root / "rank.sh"]

    def start(self, *before, flags=(), ranks=2, **options):
        self.clear()
        run = self.begin(*before, *self.toprun_words(*flags), env={**GRACE, "ROOT": str(self.root)}, **options)
        self.await_files("up.*", ranks)
        return run

    def await_files(self, pattern, count):
        support.wait_until(lambda: len(list(self.root.glob(pattern))) == count, LIMIT_S, f"{count} files {pattern}")

    def assert_saved(self, *runs, code=0, ranks=2):
        for run in runs:
            finished = run.wait(LIMIT_S)
            self.assert_nothing_left(run)
            self.assertEqual(finished.code, code, finished)
        self.assertEqual(len(list(self.root.glob("saved.*"))), ranks)

    def clear(self):
        """What the ranks of the last run left."""
        for path in self.root.glob("*.[0-9]*"):
            path.unlink()


class OneNode(ToldTwice):
    def test_timeout(self):
        for _ in range(ROUNDS):
            run = self.start("timeout", LIMIT_S)
            run.signal(signal.SIGTERM)  # with which it does what it does at the end of its time
            self.assert_saved(run)

    def test_the_keeper_and_the_agent(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for agent_first in (False, True):
                with self.subTest(number, agent_first=agent_first):
                    run = self.start()
                    pids = [run.process.pid, run.agent()]
                    for pid in reversed(pids) if agent_first else pids:
                        os.kill(pid, number)
                    self.assert_saved(run)

    def test_the_process_group(self):
        run = self.start()
        os.killpg(run.process.pid, signal.SIGTERM)
        self.assert_saved(run)

    def test_an_entry_point_that_passes_it_on_and_its_group(self):
        run = self.start("sh", "-c", ENTRY_POINT, "sh")
        os.killpg(run.process.pid, signal.SIGTERM)
        self.assert_saved(run)

    def test_systemd_with_send_sighup(self):
        """SIGTERM to every process of the unit, SIGHUP to all behind it."""
        run = self.start()
        for number in (signal.SIGTERM, signal.SIGHUP):
            for pid in sorted(run.processes()):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass  # a rank's sleep
        self.assert_saved(run)

    def test_pkill_by_the_command_line(self):
        support.needs_program("pkill")
        run = self.start()
        self.run_to_end("pkill", "-TERM", "-f", str(self.root / "rank.sh"))
        self.assert_saved(run)

    def test_a_terminal_that_is_closed(self):
        support.needs_program("setsid")
        for shell in ("bash --norc -i", "dash -i"):
            with self.subTest(shell):
                support.needs_program(shell.split()[0])
                self.clear()
                run, terminal = self.shell_on_a_terminal(shell.split())
                os.write(terminal, (" ".join(map(str, self.toprun_words())) + "\n").encode())
                self.await_files("up.*", 2)
                os.close(terminal)
                self.await_files("saved.*", 2)
                support.wait_until(lambda: not run.processes(), LIMIT_S, "all is gone")
                run.wait(LIMIT_S)

    def shell_on_a_terminal(self, shell):
        ours, theirs = pty.openpty()
        run = self.begin("setsid", "--ctty", *shell, stdin=theirs, env={**GRACE, "ROOT": str(self.root)})
        os.close(theirs)
        return run, ours

    def test_a_user_who_asks_again_need_not_wait(self):
        (self.root / "rank.sh").write_text(STAYS)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                run = self.start()
                run.signal(number)
                self.await_files("told.*", 2)
                time.sleep(A_USER_S)
                run.signal(number)
                self.assert_saved(run, code=code, ranks=0)


class TwoNodes(ToldTwice):
    def nodes(self):
        self.clear()
        port = support.free_port()
        flags = [support.two_nodes(port, node_rank)[:2] + support.two_nodes(port, node_rank)[4:]
                 for node_rank in (0, 1)]
        runs = [self.begin(*self.toprun_words(*words), env={**GRACE, "ROOT": str(self.root)}) for words in flags]
        self.await_files("up.*", 4)
        return runs

    def test_one_of_them(self):
        for node in (0, 1):
            with self.subTest(node=node):
                runs = self.nodes()
                for pid in (runs[node].process.pid, runs[node].agent()):
                    os.kill(pid, signal.SIGTERM)
                self.assert_saved(*runs, ranks=4)

    def test_all_processes_of_both(self):
        runs = self.nodes()
        for pid in sorted(runs[0].processes() | runs[1].processes()):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass  # a rank's sleep
        self.assert_saved(*runs, ranks=4)


if __name__ == "__main__":
    unittest.main()
