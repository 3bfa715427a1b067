"""toprun in Slurms that newer distributions have (`make test-newer`): the racks as switches of a
topology.conf, as switches of a topology.yaml (25.05), and as blocks (24.05). r0 has n0 and n2, r1 has
n1 and n3."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cluster
import support
from cluster import column, shown, shows, wait_for

TOPRUN = support.TOPRUN
BY_TOPOLOGY = ["n0", "n2", "n1", "n3"]
CONNECTS = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT && echo connected"
UP = ("--hosts", "4", "--racks", "2", "--slurm", "--slurm-topology")


def slurm_version():
    """(26, 5); (0, 0) where there is none. Of slurmctld: 26.05's sinfo tells nothing without a
    configuration."""
    program = shutil.which("slurmctld", path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        return (0, 0)
    said = subprocess.run([program, "-V"], capture_output=True, text=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said)[:2])


def logged(output):
    """As shown(), of what `toprun logs` shows, each line behind its node's name."""
    return shown(re.sub(r"(?m)^n\d: ", "", output))


class Cases:
    """What holds with each of the three."""

    NEEDS = (0, 0)  # of Slurm
    LEVELS = []     # as `topo show` names them, outermost first
    LOCATIONS = []  # of BY_TOPOLOGY's nodes
    KEEPS_TOGETHER = ""  # what submit adds for two nodes in one rack

    @classmethod
    def setUpClass(cls):
        if slurm_version() < cls.NEEDS:
            raise unittest.SkipTest("needs Slurm {}.{:02}: make test-newer".format(*cls.NEEDS))
        super().setUpClass()

    def toprun(self, *words, **options):
        return self.login(TOPRUN, *words, **options)

    def submit(self, *words, limit=60, cwd=None):
        return self.begin(*self.cluster.on("ctl", TOPRUN, "submit", *words), cwd=cwd or self.folder(),
                          env={"PYTHON_EXEC": shutil.which("python3")}).wait(limit)

    def submitted(self, *words, **options):
        finished = self.submit(*words, **options)
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\A\d+\n\Z")
        return finished.out.strip()

    def state(self, job):
        said = self.login("scontrol", "show", "job", "-o", job).out
        return re.search(r"\bJobState=(\S+)", said)[1]

    def ordered(self):
        """As `topo order` has it, which asks Slurm's files and scontrol."""
        finished = self.toprun("topo", "order", "--topology", "slurm", "--hosts", "n[0-3]",
                               "--format", "hosts")
        self.assert_ok(finished)
        return finished.out.split()

    def assert_in_order(self, rows):
        self.assertEqual(self.ordered(), BY_TOPOLOGY)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), BY_TOPOLOGY)
        self.assertEqual(column(rows, "TOPRUN_LOCATION"), self.LOCATIONS)

    def test_one_agent_per_node(self):
        finished = self.srun("-N4", TOPRUN, "-v", *shows(
            "RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", "TOPRUN_LOCATION", then=CONNECTS))
        self.assert_ok(finished)
        self.assert_in_order(shown(finished.out))
        self.assertEqual(finished.out.count("connected"), 4)
        self.assertIn("order: topology (evidence from slurm)", finished.err)

    def test_a_batch_script_that_says_only_toprun(self):
        code, out = self.sbatch(
            "--nodes=4 --ntasks-per-node=1 --cpus-per-task=2",
            shlex.join([TOPRUN, *shows("RANK", "SLURM_STEP_ID", "TOPRUN_NODE_NAME",
                                       "TOPRUN_LOCATION", then=CONNECTS)]))
        self.assertEqual(code, 0, out)
        rows = shown(out)
        self.assert_in_order(rows)
        self.assertEqual(column(rows, "SLURM_STEP_ID"), ["0"] * 4)

    def test_one_task_per_rank(self):
        finished = self.srun("-N4", "--ntasks-per-node=2", TOPRUN, *shows(
            "RANK", "LOCAL_RANK", "TOPRUN_NODE_NAME", then=CONNECTS))
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"),
                         [node for node in BY_TOPOLOGY for _ in range(2)])
        self.assertEqual(column(rows, "LOCAL_RANK"), ["0", "1"] * 4)

    def test_topo_show_reads_scontrol_and_the_files(self):
        saved = self.folder()
        for word in ("topology", "topoconf"):
            said = self.login("scontrol", "show", word)
            (saved / word).write_text(said.out)
        sources = ["slurm", saved / "topology"]
        if self.NEEDS >= (25, 5):
            sources.append(saved / "topoconf")
        for source in sources:
            with self.subTest(source):
                finished = self.toprun("topo", "show", "--topology", source, "--json")
                self.assert_ok(finished)
                self.assertEqual(json.loads(finished.out)["levels"], self.LEVELS)
                finished = self.toprun("topo", "show", "--topology", source)
                self.assertRegex(finished.out, r"(?m)r0 +2 nodes +n\[0,2\]$")
                self.assertRegex(finished.out, r"(?m)r1 +2 nodes +n\[1,3\]$")

    def test_scontrol_is_asked_where_there_is_no_file(self):
        if self.UP[-1] == "yaml":
            raise unittest.SkipTest("without the file scontrol itself knows no topology")
        bare = self.folder()
        conf = self.cluster.on("ctl", "sh", "-c", "echo $SLURM_CONF")
        path = subprocess.run([str(word) for word in conf], capture_output=True, text=True,
                              check=True).stdout.strip()
        shutil.copy(path, bare)
        finished = self.login("env", f"SLURM_CONF={bare}/slurm.conf", TOPRUN, "topo", "order",
                              "--topology", "slurm", "--hosts", "n[0-3]", "--json")
        self.assert_ok(finished)
        order = json.loads(finished.out)
        self.assertEqual(order["order"], BY_TOPOLOGY)
        self.assertIn("scontrol show topology", order["nodes"][0]["evidence"])

    def test_submit_and_follow(self):
        finished = self.submit("--nodes", "2", "--follow", *shows("RANK", "TOPRUN_NODE_NAME"))
        self.assert_ok(finished)
        self.assertIn(sorted(column(logged(finished.out), "TOPRUN_NODE_NAME")),
                      [["n0", "n2"], ["n1", "n3"]])
        dry = self.submit("--nodes", "2", "--dry-run", "--no-python", "true")
        self.assert_ok(dry)
        self.assertIn(f"#SBATCH {self.KEEPS_TOGETHER}\n", dry.out)

    def test_cancel_and_requeue(self):
        folder = self.folder()
        job = self.submitted("--nodes", "2", *shows("RANK", "SLURM_RESTART_COUNT", then=(
            "touch begun.$SLURM_RESTART_COUNT.$RANK; " + support.OBEDIENT)), cwd=folder)
        wait_for(lambda: len(list(folder.glob("begun..*"))) == 2, "both ranks run")
        self.assert_ok(self.login("scontrol", "requeue", job))

        # Slurm keeps a requeued job back for two minutes, which is no part of the case.
        def begins_again():
            self.login("scontrol", "update", f"JobId={job}", "StartTime=now")
            return len(list(folder.glob("begun.1.*"))) == 2

        wait_for(begins_again, "the requeued job's ranks run", 60)
        self.assert_ok(self.toprun("cancel", job))
        wait_for(lambda: self.state(job) == "CANCELLED", "the job is cancelled")
        self.assertIn("CANCELLED", self.toprun("status", job).out)

    def test_the_queue(self):
        folder = self.folder()
        running = self.submitted("--nodes", "4", "--exclusive", "--time", "10", "--job-name", "first",
                                 *shows("RANK", then=f"touch up.$RANK; {support.OBEDIENT}"),
                                 cwd=folder)
        wait_for(lambda: len(list(folder.glob("up.*"))) == 4, "the ranks run")
        waiting = self.submitted("--nodes", "4", "--exclusive", "--time", "5", "--no-python", "true")
        wait_for(lambda: "(Resources)" in self.toprun("jobs").out, "the reason")
        rows = {line.split()[0]: line.split()
                for line in self.toprun("jobs").out.split("\n\n")[0].splitlines()}
        self.assertEqual(rows[running][1:5], ["main", "first", "root", "R"])
        self.assertEqual(rows[running][6:], ["4", "n[0-3]"])
        self.assertEqual(rows[waiting][-1], "(Resources)")
        jobs = {job["id"]: job for job in json.loads(self.toprun("jobs", "--json").out)["jobs"]}
        self.assertEqual((jobs[running]["state"], jobs[running]["limit_s"]), ("running", 600))
        self.assertIn("RUNNING: running", self.toprun("status", running).out)
        self.assertIn(f"is {running} on n[0-3], in ", self.toprun("eta", waiting).out)
        self.assertEqual(sorted(column(logged(self.toprun("logs", running).out), "RANK")),
                         ["0", "1", "2", "3"])
        told = self.toprun("cluster")
        self.assertRegex(told.out, r"(?m)^main\b.*\b4\b")
        self.assertEqual(told.err, "")
        both = self.toprun("cancel", waiting, running)
        self.assert_ok(both)
        wait_for(lambda: not self.login("squeue", "--noheader").out, "the queue is empty",
                 cluster.JOBS_VANISH_S)


class Tree(Cases, cluster.SlurmCase):
    UP = (*UP, "tree")
    LEVELS = ["spine", "leaf"]
    LOCATIONS = ["/core/r0/n0", "/core/r0/n2", "/core/r1/n1", "/core/r1/n3"]
    KEEPS_TOGETHER = "--switches=1@5:00"


class Yaml(Cases, cluster.SlurmCase):
    UP = (*UP, "yaml")
    NEEDS = (25, 5)
    LEVELS = Tree.LEVELS
    LOCATIONS = Tree.LOCATIONS
    KEEPS_TOGETHER = Tree.KEEPS_TOGETHER


class Block(Cases, cluster.SlurmCase):
    UP = (*UP, "block")
    NEEDS = (24, 5)
    LEVELS = ["block"]
    LOCATIONS = ["/r0/n0", "/r0/n2", "/r1/n1", "/r1/n3"]
    KEEPS_TOGETHER = "--segment=2"

    def test_segments(self):
        finished = self.submit("--nodes", "4", "--segment", "2", "--follow",
                               *shows("RANK", "TOPRUN_NODE_NAME", "TOPRUN_LOCATION"))
        self.assert_ok(finished)
        self.assert_in_order(logged(finished.out))
        # With n0 taken only r1 holds a segment of two.
        taken = self.submitted("--nodes", "1", "--exclusive", "--nodelist", "n0", "--no-python",
                               "sleep", "50")
        wait_for(lambda: self.state(taken) == "RUNNING", "n0 is taken")
        finished = self.submit("--nodes", "2", "--segment", "2", "--follow",
                               *shows("RANK", "TOPRUN_NODE_NAME"))
        self.assert_ok(finished)
        self.assertEqual(column(logged(finished.out), "TOPRUN_NODE_NAME"), ["n1", "n3"])


if __name__ == "__main__":
    unittest.main()
