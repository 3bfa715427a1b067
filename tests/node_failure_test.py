# ctest: TIMEOUT 600 LABELS cluster torch
"""What becomes of a submitted job when one of its nodes fails, on the virtual cluster's real Slurm."""

import json
import pathlib
import re
import time
import unittest

import support
from cluster import shows, wait_for
from submitting import SubmitCase


class NodeFailure(SubmitCase):
    """A node without power: Slurm's SlurmdTimeout is 10 s here, and so is toprun's patience."""

    UP = ("--hosts", "3", "--racks", "1", "--slurm")
    LIMIT_S = 150  # 55 s until a job whose first node is lost is back in the queue, most of them Slurm's

    def setUp(self):
        """With a node still completing the test before, an elastic job would start on two of three. And
        the first connection to a node that is back may fail, which ends the job's step."""
        super().setUp()
        for host in ("n0", "n1", "n2"):
            wait_for(lambda: self.all_run(host), f"a step on all nodes from {host}", self.LIMIT_S)
        wait_for(self.all_idle, "all nodes are idle", self.LIMIT_S)

    def all_run(self, host):
        step = self.begin(*self.cluster.on(host, "srun", "-N3", "-p", "main", "hostname"))
        return sorted(step.wait(self.LIMIT_S).out.split()) == ["n0", "n1", "n2"]

    def all_idle(self):
        return self.login("sinfo", "-h", "-N", "-p", "main", "-o", "%T").out.split() == ["idle"] * 3

    def power_off(self, host):
        self.cluster.power_off(host)
        self.addCleanup(self.cluster.power_on, host)

    def set_slurmd_timeout(self, seconds):
        conf = pathlib.Path(self.login("sh", "-c", "echo $SLURM_CONF").out.strip())
        conf.write_text(re.sub(r"(?m)^SlurmdTimeout=.*$", f"SlurmdTimeout={seconds}", conf.read_text()))
        self.assert_ok(self.login("scontrol", "reconfigure"))

    def wait_for_ranks(self, id, folder, pattern, count):
        self.wait_for_job(id, lambda: len(list(folder.glob(pattern))) == count, f"{count} of {pattern}",
                          self.LIMIT_S)

    def test_a_job_is_requeued_and_finds_its_checkpoint(self):
        folder = self.folder()
        id = self.submitted("--nodes", "2", "--nodelist", "n0", support.EXAMPLES / "train_resume.py",
                            "--epochs", "300", cwd=folder, env={"PYTHON_EXEC": support.python(),
                                                                "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
        checkpoint = folder / "last.pt"
        wait_for(checkpoint.exists, "a checkpoint", self.LIMIT_S)
        self.power_off("n0")  # the batch script's host, and the root's
        self.wait_for_state(id, "PENDING", limit=self.LIMIT_S)
        done = checkpoint.stat().st_mtime_ns
        self.login("scontrol", "update", f"JobId={id}", "ReqNodeList=")
        self.start_again(id)
        wait_for(lambda: checkpoint.stat().st_mtime_ns != done, "it goes on", self.LIMIT_S)
        text = "".join(path.read_text() for path in (folder / f"logs/{id}").glob("n*.out"))
        epochs = [int(number) for number in re.findall(r"(?m)^epoch (\d+)/", text)]
        self.assertEqual(epochs.count(1), 1, text)
        self.assertEqual(self.job(id)["Restarts"], "1")
        self.login("scancel", id)

    def test_an_elastic_job_goes_on_without_the_node(self):
        folder = self.folder()
        id = self.submitted("--nnodes", "2:3", *shows("RANK", "WORLD_SIZE", "TOPRUN_ATTEMPT", then=(
            "touch up.$TOPRUN_ATTEMPT.$RANK; until test $TOPRUN_ATTEMPT = 1 -a -e end; do "
            "sleep 0.1; done")), cwd=folder)
        self.wait_for_ranks(id, folder, "up.0.*", 3)
        lost = next(host for host in ("n1", "n2") if self.job(id)["BatchHost"] != host)
        self.power_off(lost)
        self.wait_for_ranks(id, folder, "up.1.*", 2)
        wait_for(lambda: "down" in self.login("sinfo", "-h", "-n", lost, "-o", "%T").out,
                 "Slurm knows that the node is lost", self.LIMIT_S)
        self.assertEqual(self.job(id)["JobState"], "RUNNING")
        (folder / "end").touch()
        job = self.wait_for_state(id, "COMPLETED", "FAILED", "NODE_FAIL", "PENDING", limit=self.LIMIT_S)
        text = (folder / f"logs/bash.{id}.out").read_text()
        self.assertEqual((job["JobState"], job["ExitCode"]), ("COMPLETED", "0:0"), text)
        report = json.loads((folder / f"logs/{id}/report.json").read_text())
        self.assertEqual(report["exit_code"], 0)
        self.assertEqual([len(attempt["nodes"]) for attempt in report["attempts"]], [3, 2])

    def test_a_node_that_was_cut_off_for_a_while_does_not_keep_the_job(self):
        """Its keeper watches over the job while the network is gone, and lets go once it is back."""
        folder = self.folder()
        id = self.submitted("--nnodes", "2:3", *shows("RANK", then=(
            "touch up.$TOPRUN_ATTEMPT.$RANK; until test $TOPRUN_ATTEMPT = 1 -a -e end; do "
            "sleep 0.1; done")), cwd=folder)
        self.wait_for_ranks(id, folder, "up.0.*", 3)
        lost = next(host for host in ("n1", "n2") if self.job(id)["BatchHost"] != host)
        self.cluster.cut(lost)
        self.addCleanup(self.cluster.join, lost)
        self.wait_for_ranks(id, folder, "up.1.*", 2)
        self.cluster.join(lost)
        (folder / "end").touch()
        self.wait_for_state(id, "COMPLETED", limit=60)  # six minutes if the keeper does not notice

    def test_a_job_of_fixed_size_ends_where_srun_missed_the_end_of_a_node(self):
        """The cut lasts longer than toprun's patience, and than slurmstepd tries to tell srun of its task's
        end, but shorter than Slurm's patience: the step is gone, and srun would wait for ever."""
        self.set_slurmd_timeout(300)
        self.addCleanup(self.set_slurmd_timeout, 10)
        folder = self.folder()
        id = self.submitted("--nodes", "2", *shows("RANK", then="touch up.$RANK; sleep 120"), cwd=folder)
        self.wait_for_ranks(id, folder, "up.*", 2)
        first = self.job(id)["BatchHost"]
        lost, = set(self.login("scontrol", "show", "hostnames", self.job(id)["NodeList"]).out.split()) - {first}
        self.cluster.cut(lost)
        cut = time.monotonic()
        self.addCleanup(self.cluster.join, lost)
        report = folder / f"logs/{id}/report.json"
        self.wait_for_job(id, lambda: report.exists() and json.loads(report.read_text())["exit_code"] is not None,
                          "the run has ended", 60)
        time.sleep(max(0, cut + 35 - time.monotonic()))
        self.cluster.join(lost)
        job = self.wait_for_state(id, "FAILED", "PENDING", limit=60)
        text = (folder / f"logs/bash.{id}.out").read_text()
        self.assertEqual((job["JobState"], job["ExitCode"]), ("FAILED", "1:0"), text)
        self.assertIn("toprun: the run has ended with exit code 1, but its step has not ended", text)

    def test_a_spare_takes_the_place_of_a_lost_node(self):
        folder = self.folder()
        id = self.submitted("--nodes", "3", "--nnodes", "2", "--max-restarts", "1", *shows("RANK", then=(
            "touch up.$TOPRUN_ATTEMPT.$RANK.$TOPRUN_NODE_NAME; until test $TOPRUN_ATTEMPT = 1 -a -e end; do "
            "sleep 0.1; done")), cwd=folder)
        self.wait_for_ranks(id, folder, "up.0.*", 2)
        taken = {path.suffix[1:] for path in folder.glob("up.0.*")}
        first = self.job(id)["BatchHost"]
        self.assertIn(first, taken)
        lost, = taken - {first}
        spare, = {"n0", "n1", "n2"} - taken
        self.power_off(lost)
        self.wait_for_ranks(id, folder, "up.1.*", 2)
        self.assertEqual({path.suffix[1:] for path in folder.glob("up.1.*")}, {first, spare})
        wait_for(lambda: "down" in self.login("sinfo", "-h", "-n", lost, "-o", "%T").out,
                 "Slurm knows that the node is lost", self.LIMIT_S)
        (folder / "end").touch()
        self.wait_for_state(id, "COMPLETED", "FAILED", "NODE_FAIL", "PENDING", limit=self.LIMIT_S)
        report = json.loads((folder / f"logs/{id}/report.json").read_text())
        self.assertEqual(report["exit_code"], 0)
        self.assertEqual([len(attempt["nodes"]) for attempt in report["attempts"]], [2, 2])

    def test_an_elastic_job_without_its_first_node_begins_again(self):
        """Slurm runs no batch script any more and would keep the job: a node that is left tells it."""
        folder = self.folder()
        id = self.submitted("--nnodes", "2:3", *shows("RANK", then=(
            "touch up.${SLURM_RESTART_COUNT-0}.$RANK; "
            "until test ${SLURM_RESTART_COUNT-0} = 1; do sleep 0.1; done")), cwd=folder)
        self.wait_for_ranks(id, folder, "up.0.*", 3)
        lost = self.job(id)["BatchHost"]
        self.power_off(lost)
        self.wait_for_state(id, "PENDING", limit=self.LIMIT_S)
        self.start_again(id)
        self.wait_for_state(id, "COMPLETED", limit=self.LIMIT_S)
        self.assertEqual(len(list(folder.glob("up.1.*"))), 2)
        text = "".join(path.read_text() for path in (folder / f"logs/{id}").glob("n*.out"))
        self.assertIn(f"toprun: Slurm has lost the node that runs the batch script of job {id}: the job goes back "
                      "into the queue\n", text)


if __name__ == "__main__":
    unittest.main()
