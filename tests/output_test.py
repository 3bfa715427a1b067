"""What reaches the console and the log files, by torchrun's options for that and by our own."""

import contextlib
import dataclasses
import json
import os
import re
import threading
import unittest

import support

SH = ["--no-python", "sh", "-c"]
LINES = 20_000
ODD_BYTES = r"\377\376 is no UTF-8"


class OneNode(support.TestCase):
    def lines(self, *options, program, nproc=4):
        finished = self.toprun("--nproc-per-node", nproc, *options, *SH, program,
                               env={"OMP_NUM_THREADS": "1"})
        self.assert_ok(finished)
        return sorted(finished.out.splitlines())

    def test_prefix_template(self):
        for options in (["--prefix"], ["--tee", "1", "--log-dir", self.folder()]):
            with self.subTest(options):
                lines = self.lines(*options, "--role", "train", "--log-line-prefix-template",
                                   "<${role_name} ${rank}.${local_rank}> ", program="echo x", nproc=2)
                self.assertEqual(lines, ["<train 0.0> x", "<train 1.1> x"])

    def test_a_new_attempt_begins_on_a_new_line(self):
        """Where an attempt was stopped within a line, and stdout is no terminal."""
        logs = self.folder()
        words = ("--max-restarts", 1, "--node-log", logs, "--no-python", "sh", "-c", "echo begun; printf step; exit 3")
        finished = self.toprun(*words)
        self.assertEqual(finished.out, "begun\nstep\nbegun\nstep", "the last line stays as it is")
        self.toprun(*words)  # appended
        [log] = logs.iterdir()
        lines = log.read_text().splitlines()
        self.assertEqual((lines.count("begun"), lines.count("step")), (4, 4), lines)

    def test_only_some_ranks_are_shown(self):
        logs = self.folder()
        lines = self.lines("--local-ranks-filter", "1,3", "--tee", "1", "--log-dir", logs,
                           program="echo $RANK")
        self.assertEqual(lines, ["[default1]:1", "[default3]:3"])
        self.assertEqual(sorted(path.read_text() for path in logs.rglob("stdout.log")),
                         [f"{rank}\n" for rank in range(4)])

    def test_filtered_lines_of_all_ranks_in_one_file(self):
        logs = self.folder()
        self.lines("--tee", "3", "--log-dir", logs, "--duplicate-stdout-filters", "loss,done",
                   program="echo noise; echo loss $RANK; echo more noise", nproc=2)
        filtered, = logs.rglob("filtered_stdout.log")
        self.assertEqual(sorted(filtered.read_text().splitlines()),
                         ["[default0]:loss 0", "[default1]:loss 1"])

    def test_equal_lines_are_folded(self):
        lines = self.lines("--fold", program="echo same; [ $RANK != 2 ] || echo other; echo end")
        self.assertEqual(lines[-1], "[ranks 0-3] same")
        self.assertIn("[rank 2] other", lines)
        # A rank that puts a line between may be shown apart, but nobody twice and nobody never.
        labels = [line.split("]")[0] for line in lines if line.endswith("] end")]
        ranks = [rank for label in labels for part in re.findall(r"\d(?:-\d)?", label)
                 for rank in range(int(part[0]), int(part[-1]) + 1)]
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])

    def test_log_files_are_rotated(self):
        logs = self.folder()
        self.lines("--redirects", "1", "--log-dir", logs, "--log-max-size", "5K", nproc=1,
                   program="for i in $(seq 1000); do echo line $i; done")
        files = sorted(logs.rglob("stdout.log*"))
        self.assertEqual([path.name for path in files], ["stdout.log", "stdout.log.1"])
        self.assertTrue(all(path.stat().st_size <= 5 * 1024 for path in files))
        self.assertEqual(files[1].read_text() + files[0].read_text(),
                         "".join(f"line {i}\n" for i in range(1, 1001)))


class StuckTerminal(support.TestCase):
    """A pager that is not scrolled, or Ctrl-S: nobody reads what toprun and its ranks print."""

    LIMIT_S = 40
    LINE = 64
    # What one pipe, the writer's queue and the ranks' own pipes do not hold.
    FLOOD = f"head -c 4000000 /dev/zero | tr '\\0' 'x' | fold -w {LINE - 1}"

    def run_unread(self, *options, program, nproc=2, read_after=None):
        """How it ended, with all that was read in `out`: from `read_after` seconds after its start,
        or once it has ended."""
        fifo = self.folder() / "terminal"
        os.mkfifo(fifo)
        reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reading)
        os.set_blocking(reading, True)
        run = self.begin("sh", "-c", f'exec "$@" >{fifo} 2>&1', "sh", support.binary(),
                         "--nproc-per-node", nproc, *options, *SH, program,
                         env={"OMP_NUM_THREADS": "1"}, cwd=self.folder())
        seen = bytearray()

        def read():
            while chunk := os.read(reading, 1 << 16):
                seen.extend(chunk)

        reader = None
        if read_after is not None:
            reader = threading.Timer(read_after, read)
            reader.start()
        try:
            finished = run.wait(self.LIMIT_S)
        finally:
            run.kill_all()
            reader.join() if reader else read()
        return dataclasses.replace(finished, out=seen.decode())

    def test_the_exit_code_is_the_run_s(self):
        report = self.folder() / "report.json"
        finished = self.run_unread(
            "--report", report, program=f"[ $RANK = 0 ] && {{ sleep 2; exit 7; }}; {self.FLOOD}; sleep 60")
        self.assertEqual(finished.code, 7, finished.seconds)
        self.assertLess(finished.seconds, 20)
        attempt, = json.loads(report.read_text())["attempts"]
        self.assertEqual((attempt["cause"]["kind"], attempt["cause"]["exit_code"]), ("exit", 7))

    def test_a_restart_follows_all_the_same(self):
        marks = self.folder()
        finished = self.run_unread(
            "--max-restarts", 1, program=f"touch {marks}/$TORCHELASTIC_RESTART_COUNT; "
            f"[ $RANK = 0 ] && {{ sleep 2; exit 7; }}; {self.FLOOD}; sleep 60")
        self.assertEqual(sorted(path.name for path in marks.iterdir()), ["0", "1"])
        self.assertEqual(finished.code, 7, finished.seconds)
        self.assertLess(finished.seconds, 30)

    def test_what_is_read_late_is_whole_and_in_order(self):
        finished = self.run_unread(nproc=1, program=f"{self.FLOOD}; exit 7", read_after=12)
        self.assertEqual(finished.code, 7, finished.seconds)
        before, _, after = finished.out.partition("toprun: ")
        self.assertEqual(before.count("x"), 4_000_000)
        self.assertIn("exit code 7", after.splitlines()[-1])

    def test_what_fits_is_shown_at_the_end(self):
        finished = self.run_unread(nproc=1, program="echo here; exit 7")
        self.assertEqual(finished.code, 7, finished.seconds)
        self.assertTrue(finished.out.startswith("here\n"), finished)
        self.assertIn("exit code 7", finished.out.splitlines()[-1])

    def test_a_node_log_that_takes_nothing_holds_nobody_up(self):
        logs = self.folder()
        log = logs / f"{os.uname().nodename}.out"
        os.mkfifo(log)
        reader = os.open(log, os.O_RDWR)  # so that it can be opened; nothing is ever read
        self.addCleanup(os.close, reader)
        os.set_blocking(reader, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(reader, b"x" * 4096)
        finished = self.run_unread("--node-log", logs, nproc=1, program="exit 7", read_after=0.5)
        self.assertEqual(finished.code, 7, finished.seconds)
        self.assertIn("exit code 7", finished.out)
        self.assertLess(finished.seconds, 20)


class GatherOutput(support.TestCase):
    def run_two(self, program, *options):
        port = support.free_port()
        runs = [self.begin(support.binary(), *support.two_nodes(port, rank, nproc=1), *options, *SH,
                           program) for rank in (0, 1)]
        return [run.wait(60) for run in runs]

    def test_all_lines_come_to_the_root(self):
        root, other = self.run_two(f"seq -f rank$RANK-%g {LINES}; echo err$RANK >&2",
                                   "--gather-output")
        for finished in (root, other):
            self.assert_ok(finished)
        self.assertEqual(other.out, "")
        for rank in (0, 1):
            of_rank = [line for line in root.out.splitlines() if line.startswith(f"rank{rank}-")]
            self.assertEqual(of_rank, [f"rank{rank}-{i}" for i in range(1, LINES + 1)])
            self.assertIn(f"err{rank}\n", root.err)

    def test_prefixes_tell_the_ranks_of_several_nodes_apart(self):
        root, _ = self.run_two("echo here", "--gather-output", "--prefix")
        self.assert_ok(root)
        self.assertEqual(sorted(root.out.splitlines()), ["[default0]:here", "[default1]:here"])

    def test_bytes_stay_as_they_are(self):
        folder = self.folder()
        port = support.free_port()
        program = f"[ $RANK = 0 ] || printf '{ODD_BYTES}\\n'"
        def words(rank):
            return [support.binary(), *support.two_nodes(port, rank, nproc=1), "--gather-output",
                    *SH, program]
        runs = [self.begin("sh", "-c", f'exec "$@" >{folder}/out', "sh", *words(0)),
                self.begin(*words(1))]
        for run in runs:
            self.assert_ok(run.wait(60))
        self.assertEqual((folder / "out").read_bytes(), b"\xff\xfe is no UTF-8\n")

    def test_a_failure_elsewhere_shows_what_it_printed(self):
        root, _ = self.run_two("[ $RANK = 0 ] && sleep 30; echo before the end; exit 3",
                               "--gather-output")
        self.assertEqual(root.code, 3, root)
        self.assertEqual(root.out, "before the end\n")

    def test_without_it_every_node_has_its_own(self):
        for rank, finished in enumerate(self.run_two("echo $RANK")):
            self.assertEqual(finished.out, f"{rank}\n")


if __name__ == "__main__":
    unittest.main()
