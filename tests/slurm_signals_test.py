# ctest: TIMEOUT 500 LABELS cluster
"""What Slurm sends to a job, on the virtual cluster's real one: notices, the end of its time, and
preemptions, whose grace is 5 s there."""

import json
import os
import re
import signal
import unittest

import support
from cluster import wait_for
from submitting import SubmitCase

TOPRUN = support.TOPRUN

# Notes every notice, and goes on until it is told to end. Called with the ranks that handle notices, or
# "all". With a data loader of its own: one that was forked, and one that has no handler.
HANDLES = """\
import os, pathlib, signal, subprocess, sys, time
ranks, children = sys.argv[1:]
rank = os.environ["RANK"]

def note(number, frame):
    with open(f"told.{rank}", "a") as file:
        file.write(f"{signal.Signals(number).name}\\n")

if ranks == "all" or rank in ranks.split(","):
    signal.signal(signal.SIGUSR1, note)
    signal.signal(signal.SIGUSR2, note)
loaders = []
if children == "children":
    loaders.append(subprocess.Popen(["sleep", "1000"]))
    if (forked := os.fork()) == 0:
        while True:
            time.sleep(0.05)
pathlib.Path(f"up.{rank}").touch()
while not os.path.exists("end"):
    time.sleep(0.05)
for loader in loaders:
    assert loader.poll() is None, "the data loader is gone"
    loader.kill()
    os.kill(forked, signal.SIGKILL)
"""

# Takes a part of the grace to save, as a training does.
SAVES = """\
import os, pathlib, signal, sys, time
rank, restart = os.environ["RANK"], os.environ.get("SLURM_RESTART_COUNT", "0")

def save(number, frame):
    time.sleep(1)
    pathlib.Path(f"saved.{restart}.{rank}").touch()
    sys.exit(int(sys.argv[1]))

signal.signal(signal.SIGTERM, save)
with open(f"begun.{restart}.{rank}", "a") as file:
    file.write("x")
while restart == "0":
    time.sleep(0.05)
"""

# Does not end by SIGTERM, and so outlives Slurm's KillWait (5 s here).
STAYS = """\
import os, pathlib, signal, time
rank = os.environ["RANK"]
signal.signal(signal.SIGTERM, lambda number, frame: pathlib.Path(f"told.{rank}").touch())
pathlib.Path(f"up.{rank}").touch()
while True:
    time.sleep(0.05)
"""


# An scontrol that takes its time, and knows no reason.
SLOW_ANSWER = """\
#!/bin/sh
touch "$(dirname "$0")/asked"
sleep 2
echo "JobId=7 JobState=RUNNING Restarts=0"
"""


class OnOneHost(support.TestCase):
    def test_the_engine_s_signal_may_come_long_after_its_ranks_died_of_it(self):
        """A busy machine holds up what signals a step's processes one by one."""
        tools, report = self.folder(), self.folder() / "report.json"
        (tools / "scontrol").write_text(SLOW_ANSWER)
        (tools / "scontrol").chmod(0o755)
        environment = {"SLURM_JOB_ID": "7", "PATH": f"{tools}:{os.environ['PATH']}"}
        for sent, code, kind in (signal.SIGTERM, 143, "interrupted"), (None, 143, "signal"):
            with self.subTest(sent):
                run = self.begin(support.TOPRUN, "--standalone", "--nproc-per-node", 2, "--report", report, "--no-python",
                                 "sh", "-c", "kill -TERM $$", env=environment)
                support.wait_until(lambda: (tools / "asked").exists(), 20, "Slurm is asked")
                if sent:
                    os.kill(run.process.pid, sent)
                finished = run.wait(30)
                written = json.loads(report.read_text())
                self.assertEqual((finished.code, written["attempts"][-1]["cause"]["kind"]), (code, kind), finished)
                (tools / "asked").unlink()


class SignalCase(SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")

    def program(self, text):
        folder = self.folder()
        (folder / "train.py").write_text(text)
        return folder

    def files(self, folder, pattern):
        return sorted(path.name for path in folder.glob(pattern))

    def wait_for_ranks(self, folder, count):
        wait_for(lambda: len(self.files(folder, "up.*")) == count, f"{count} ranks run", 60)

    def end(self, folder, id, state="COMPLETED"):
        (folder / "end").touch()
        self.wait_for_state(id, state, limit=60)

    def told(self, folder):
        return {path.name: path.read_text().split() for path in folder.glob("told.*")}

    def sbatch_file(self, folder, header, line):
        script = folder / "job.sh"
        script.write_text(f"#!/bin/bash\n#SBATCH {header}\n{line}\n")
        finished = self.login("sbatch", "--parsable", "-o", folder / "out", script, cwd=folder)
        self.assert_ok(finished)
        return finished.out.strip()

    def report(self, folder, id):
        return json.loads((folder / f"logs/{id}/report.json").read_text())


class Notices(SignalCase):
    def test_cancel_with_a_signal_reaches_each_handler_once(self):
        folder = self.program(HANDLES)
        id = self.submitted("--nodes", "2", "--nproc-per-node", "2", "train.py", "0,1,3", "children",
                            cwd=folder)
        self.wait_for_ranks(folder, 4)
        dry = self.login(TOPRUN, "cancel", "--dry-run", "--signal", "USR1", id)
        self.assertEqual(dry.out, f"scancel --batch --signal USR1 {id}\n")
        self.assert_ok(self.login(TOPRUN, "cancel", "--signal", "USR1", id))
        wait_for(lambda: len(self.told(folder)) == 3, "the ranks are told")
        self.end(folder, id)
        self.assertEqual(self.told(folder), {f"told.{rank}": ["SIGUSR1"] for rank in (0, 1, 3)})

    def test_a_signal_to_the_job_reaches_each_handler_once(self):
        """Slurm sends it to every process of a step, toprun's among them."""
        agents = f"srun -N2 --ntasks-per-node=1 {TOPRUN} --nproc-per-node 2"
        for line in (f"{TOPRUN} --nproc-per-node 2", agents, f"srun -N2 --ntasks-per-node=2 {TOPRUN}"):
            with self.subTest(line):
                folder = self.program(HANDLES)
                id = self.sbatch_file(folder, "-N2 --ntasks-per-node=2", f"{line} train.py all alone")
                self.wait_for_ranks(folder, 4)
                self.assert_ok(self.login("scancel", "--signal", "USR2", id))
                wait_for(lambda: len(self.told(folder)) == 4, "the ranks are told")
                self.end(folder, id)
                self.assertEqual(self.told(folder), {f"told.{rank}": ["SIGUSR2"] for rank in range(4)})

    def test_a_header_without_b_reaches_each_handler_once(self):
        folder = self.program(HANDLES)
        # Slurm looks at its jobs' limits every 30 s, and may signal as much too early.
        id = self.sbatch_file(folder, "-N2 --ntasks-per-node=1 --time=2 --signal=USR1@110",
                              f"{TOPRUN} --nproc-per-node 2 train.py all alone")
        self.wait_for_ranks(folder, 4)
        wait_for(lambda: len(self.told(folder)) == 4, "the ranks are told", 60)
        self.end(folder, id)
        self.assertEqual(self.told(folder), {f"told.{rank}": ["SIGUSR1"] for rank in range(4)})

    def test_a_rank_that_slurm_killed_by_a_notice_is_explained(self):
        folder = self.program(HANDLES)
        id = self.sbatch_file(folder, "-N2 --ntasks-per-node=1", f"{TOPRUN} train.py 0 alone")
        self.wait_for_ranks(folder, 2)
        self.assert_ok(self.login("scancel", "--signal", "USR1", id))
        job = self.wait_for_state(id, "FAILED")
        self.assertEqual(job["ExitCode"], "138:0")
        text = (folder / "out").read_text()
        self.assertRegex(text, r"toprun: rank 1 on n\d was killed by SIGUSR1")
        self.assertIn("--signal=B:", text)

    def test_the_time_limit_is_named(self):
        folder = self.program(HANDLES)
        finished = self.submit("--follow", "--nodes", "2", "--time", "1", "train.py", "1", "alone",
                               cwd=folder, limit=180)
        id = re.search(r"toprun: job (\d+):", finished.err)[1]
        self.assertEqual(finished.code, 124, finished)
        self.assertEqual(self.told(folder), {"told.1": ["SIGUSR2"]})
        self.assertEqual(self.job(id)["JobState"], "TIMEOUT")
        written = self.report(folder, id)
        self.assertEqual((written["exit_code"], written["attempts"][-1]["cause"]["kind"]),
                         (124, "time_limit"))
        self.assertRegex(finished.err.splitlines()[-1],
                         rf"toprun: job {id}: ended by Slurm, exit code 124: the job reached its "
                         r"time limit of 1:00 \(--time\)")

    def test_a_run_that_slurm_kills_within_its_grace_has_told_of_the_signal(self):
        """Slurm's SIGKILL comes to toprun itself: the report was written before."""
        folder = self.program(STAYS)
        id = self.submitted("--nodes", "2", "train.py", cwd=folder)
        self.wait_for_ranks(folder, 2)
        self.assert_ok(self.login("scancel", id))
        self.wait_for_state(id, "CANCELLED")
        wait_for(lambda: id not in self.login("squeue", "--noheader", "--format", "%i").out.split(), "all are killed")
        written = self.report(folder, id)
        interrupted = written["attempts"][-1]["interrupted"]
        self.assertEqual((interrupted["signal"], interrupted["grace_ms"]), (15, 25_000))
        # A root agent that slurmstepd kills last, after the ranks, may still have written its end.
        how = (r"ended with exit code 143" if written["exit_code"] is not None else
               r"interrupted by SIGTERM at [-0-9]+ [:0-9]+, and its ranks were to have 25.0 s to end; toprun itself was "
               r"gone before it could write how they ended: the engine's own limit \(Slurm's KillWait\) may be shorter")
        self.assertRegex(self.login(TOPRUN, "status", id).out,
                         rf"\n  run        attempt 0: {how}; 2 ranks on 2 nodes\n")


class Preemption(SignalCase):
    def urgent(self):
        self.assert_ok(self.login("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null",
                                  "--wrap", "true"))

    def test_a_preempted_job_is_put_back_and_begins_again_once(self):
        for nodes, code in (4, 1), (4, 0), (1, 0):  # a job of one node has no step of its own
            with self.subTest(nodes=nodes, code=code):
                folder = self.program(SAVES)
                id = self.submitted("--nodes", nodes, "--exclusive", "train.py", code, cwd=folder)
                wait_for(lambda: len(self.files(folder, "begun.0.*")) == nodes, "the ranks run", 60)
                self.urgent()
                self.assertEqual(self.wait_for_state(id, "PENDING", "FAILED", "COMPLETED")["JobState"],
                                 "PENDING")
                self.assertEqual(len(self.files(folder, "saved.0.*")), nodes)
                self.start_again(id)
                self.assertEqual(self.wait_for_state(id, "COMPLETED", limit=60)["Restarts"], "1")
                self.assertEqual(self.files(folder, "begun.*"),
                                 [f"begun.{restart}.{rank}" for restart in (0, 1)
                                  for rank in range(nodes)])
                for path in folder.glob("begun.*"):
                    self.assertEqual(path.read_text(), "x")

    def test_a_job_that_may_not_run_again_ends(self):
        folder = self.program(SAVES)
        id = self.submitted("--nodes", "4", "--exclusive", "--slurm-arg=--no-requeue",
                            "train.py", "1", cwd=folder)
        wait_for(lambda: len(self.files(folder, "begun.0.*")) == 4, "the ranks run", 60)
        self.urgent()
        job = self.wait_for_state(id, "FAILED", "PREEMPTED")
        self.assertEqual(job["Restarts"], "0")
        self.assertEqual(self.report(folder, id)["exit_code"], 75)


if __name__ == "__main__":
    unittest.main()
