# ctest: TIMEOUT 300 LABELS cluster torch
"""`toprun SCRIPT` without a flag in pods of every kind (pods.py), on four virtual hosts."""

import signal
import time
import unittest

import support
from cluster import SlurmCase, column, shown, shows, wait_for
from mpi_test import MpiCase
from pods import KINDS, SERVICE, PodCase, indexed_job, pytorchjob_1_6, pytorchjob_1_7, stateful_set, trainjob

SHOWN = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
         "TOPRUN_NODE_NAME", "MASTER_ADDR", "PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR"]
CONNECTS = "exec 3<>/dev/tcp/$MASTER_ADDR/$MASTER_PORT"
ROOT_PORT = 23456
SOON_S = 60  # of what takes a second where nothing else runs

SUMS = """\
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1) * dist.get_rank()
dist.all_reduce(total)
print(f"sum={int(total)}", flush=True)
dist.destroy_process_group()
"""


def connected(run):
    """Whether its agent has reached the root's port."""
    return any(support.connections(pid, ROOT_PORT, "remote") for pid in run.processes())


def kill(run):
    """As when the pod's machine kills it: nothing of it is left, and it says nothing."""
    while run.processes():
        run.kill_all()


class Worlds(PodCase):
    def assert_world(self, finished, kind, count):
        for end in finished:
            self.assert_ok(end)
        rows = shown("".join(end.out for end in finished))
        each = kind(count, 0).per_pod
        ranks = range(count * each)
        self.assertEqual(column(rows, "RANK"), [str(rank) for rank in ranks])
        self.assertEqual(column(rows, "LOCAL_RANK"), [str(rank % each) for rank in ranks])
        self.assertEqual(column(rows, "GROUP_RANK"), [str(rank // each) for rank in ranks])
        self.assertEqual([name.split(".")[0] for name in column(rows, "TOPRUN_NODE_NAME")],
                         [kind(count, rank // each).name for rank in ranks])
        for row in rows:
            self.assertEqual((row["WORLD_SIZE"], row["LOCAL_WORLD_SIZE"], row["GROUP_WORLD_SIZE"]),
                             (str(count * each), str(each), str(count)))
            self.assertEqual({row[name] for name in SHOWN if name.startswith("PET_")}, {"unset"})

    def test_every_kind_of_pod(self):
        for kind in KINDS:
            for count in (2, 4):
                with self.subTest(kind.__doc__, pods=count):
                    self.forget_pods()
                    runs = self.start_job(kind, count, *shows(*SHOWN, then=CONNECTS))
                    self.assert_world(self.ends(runs), kind, count)

    def test_pytorch_in_two_pods(self):
        script = self.place / "sums.py"
        script.write_text(SUMS)
        pods = [pytorchjob_1_7(2, i) for i in range(2)]
        for pod in pods:
            pod.env |= {"PYTHON_EXEC": support.python(), **support.WARM}
        finished = self.ends([self.start_pod(pod, i, script) for i, pod in enumerate(pods)], 60)
        for end in finished:
            self.assert_ok(end)
            self.assertEqual(end.out.count("sum=6"), 2, end)

    def test_flags_that_contradict_the_pod(self):
        """The recipe for operators up to 1.6, --nnodes $WORLD_SIZE, counts processes from 1.7 on."""
        run = self.start_pod(pytorchjob_1_7(2, 1), 1, "--nnodes", "4", "--rdzv-conf", "join_timeout=1", *shows("RANK"))
        finished = run.wait(SOON_S)
        self.assertEqual(finished.code, 1, finished)
        self.assertIn("toprun: --nnodes 4 overrides the pod's PET_NNODES=2\n", finished.err)


class Alone(PodCase):
    def test_what_would_be_n_worlds_of_one(self):
        for what, pod in [("an Indexed Job", indexed_job(2, 1)), ("a StatefulSet", stateful_set(2, 0))]:
            with self.subTest(what):
                del pod.env["PET_NNODES"]
                finished = self.start_pod(pod, 0, *shows("RANK")).wait(SOON_S)
                self.assertEqual((finished.code, finished.out), (2, ""), finished)
                self.assert_one_line(finished, f"this is a pod of {what}.* give --nnodes PODS; .*--standalone")
                finished = self.start_pod(pod, 0, "--standalone", *shows("RANK", "WORLD_SIZE")).wait(SOON_S)
                self.assert_ok(finished)
                self.assertEqual(column(shown(finished.out), "WORLD_SIZE"), ["1"])

    def test_a_job_of_one_pod(self):
        for kind in (pytorchjob_1_6, pytorchjob_1_7, trainjob):
            with self.subTest(kind.__doc__):
                finished = self.start_pod(kind(1, 0), 0, *shows("RANK", "WORLD_SIZE")).wait(SOON_S)
                self.assert_ok(finished)
                self.assertEqual(len(shown(finished.out)), kind(1, 0).per_pod)


class SharedMachines(PodCase):
    """As pods land where fewer GPUs than a machine has were asked for."""
    SHARED = "pods job-master-0 and job-worker-0 are on one machine: NCCL treats them as 2 hosts .*--gpus-per-node 8 "
    HALF = r"pods have 4 of their machine's 8 GPUs: job-master-0,job-worker-0; .*--gpus-per-node 8 "

    def warnings(self, hosts, machines, gpus, machine_gpus):
        """What the root's pod warns of; the other says nothing of it."""
        self.forget_pods()
        runs = []
        for i, (host, machine) in enumerate(zip(hosts, machines)):
            pod = pytorchjob_1_6(len(hosts), i)
            pod.machine, pod.gpus, pod.machine_gpus = machine, gpus, machine_gpus
            self.publish(pod, host)
            runs.append((pod, host))
        ends = self.ends([self.start_pod(pod, host, "--nproc-per-node", "1", *shows("RANK")) for pod, host in runs])
        for end in ends:
            self.assert_ok(end)
        self.assertNotIn("warning: pods", ends[1].err)
        return [line for line in ends[0].err.splitlines() if "warning: pods" in line]

    def test_what_the_root_says(self):
        for what, hosts, machines, gpus, machine_gpus, expected in [
                ("two pods of one machine, each with a network of its own", (0, 1), ("a", "a"), 4, 8, [self.SHARED]),
                ("… in one network", (0, 0), ("a", "a"), 4, 8, [self.SHARED]),
                ("half of two machines", (0, 1), ("a", "b"), 4, 8, [self.HALF]),
                ("whole machines", (0, 1), ("a", "b"), 8, 8, []),
                ("no GPUs", (0, 1), ("a", "a"), 0, 8, [])]:
            with self.subTest(what):
                lines = self.warnings(hosts, machines, gpus, machine_gpus)
                self.assertEqual(len(lines), len(expected), lines)
                for line, pattern in zip(lines, expected):
                    self.assertRegex(line, pattern)


class Progress(PodCase):
    """Variables of trainer's pkg/runtime/framework/plugins/trainjobstatus, by which a training tells how far it is."""
    NAMES = ["KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_CA_CERT", "KUBEFLOW_TRAINER_SERVER_TOKEN"]

    def test_ranks_get_the_trainers_variables(self):
        pod = trainjob(1, 0)
        pod.env.update((name, f"/{name.lower()}") for name in self.NAMES)
        finished = self.start_pod(pod, 0, *shows("RANK", *self.NAMES)).wait(SOON_S)
        self.assert_ok(finished)
        rows = [[row[name] for name in self.NAMES] for row in shown(finished.out)]
        self.assertEqual(rows, [[f"/{name.lower()}" for name in self.NAMES]] * pod.per_pod)


class LatePods(PodCase):
    def test_the_name_of_pod_0_appears_late(self):
        for kind in (pytorchjob_1_6, trainjob):
            with self.subTest(kind.__doc__):
                self.forget_pods()
                member = self.start_pod(kind(2, 1), 1, *shows("RANK", "WORLD_SIZE"))
                member.says("cannot resolve host name")
                root = self.start_pod(kind(2, 0), 0, *shows("RANK", "WORLD_SIZE"))
                ends = self.ends([root, member])
                for end in ends:
                    self.assert_ok(end)
                self.assertIn("cannot resolve host name", ends[1].err)
                self.assertRegex(ends[1].err, r"see whether pod 0 runs .* waits for 10 min .*join_timeout")
                self.assertEqual(len(shown(ends[0].out + ends[1].out)), 2 * kind(2, 0).per_pod)

    def test_the_name_of_pod_0_has_the_address_of_an_earlier_pod_at_first(self):
        self.publish(pytorchjob_1_6(2, 0), 3)  # where nothing listens
        member = self.start_pod(pytorchjob_1_6(2, 1), 1, *shows("RANK"))
        member.says("waiting for .*job-master-0")
        root = self.start_pod(pytorchjob_1_6(2, 0), 0, *shows("RANK"))
        for end in self.ends([root, member]):
            self.assert_ok(end)

    def test_a_name_that_never_appears(self):
        run = self.start_pod(pytorchjob_1_6(2, 1), 1, "--rdzv-conf", "join_timeout=2", *shows("RANK"))
        finished = run.wait(SOON_S)
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, r"cannot join the root agent at job-master-0:23456 within 2\.0+ s: "
                                       r"cannot resolve host name")


class ReplacedPods(PodCase):
    """A controller starts a pod again under the same name, on another node and with another address."""

    def test_before_all_have_come(self):
        for kind in (pytorchjob_1_6, trainjob):
            with self.subTest(kind.__doc__):
                self.forget_pods()
                show = shows("RANK", "TOPRUN_NODE_NAME")
                root = self.start_pod(kind(3, 0), 0, "-v", *show)
                first = self.start_pod(kind(3, 1), 1, *show)
                wait_for(first.processes, "the pod runs")
                time.sleep(1)  # it has joined by then, or not: both are to do
                kill(first)
                first.wait(SOON_S)
                runs = [root, self.start_pod(kind(3, 1), 3, *show), self.start_pod(kind(3, 2), 2, *show)]
                ends = self.ends(runs)
                for end in ends:
                    self.assert_ok(end)
                rows = shown("".join(end.out for end in ends))
                each = kind(3, 0).per_pod
                self.assertEqual([name.split(".")[0] for name in column(rows, "TOPRUN_NODE_NAME")],
                                 [kind(3, rank // each).name for rank in range(3 * each)])

    def test_before_anybody_knows_that_its_node_is_gone(self):
        show = shows("RANK", "TOPRUN_NODE_NAME", "WORLD_SIZE")
        root = self.start_pod(pytorchjob_1_6(3, 0), 0, "-v", *show)
        first = self.start_pod(pytorchjob_1_6(3, 1), 1, "-v", *show)
        wait_for(lambda: connected(first), "it has found the root")
        time.sleep(2)  # to be known there
        self.cluster.cut("n1")
        self.addCleanup(self.cluster.join, "n1")
        kill(first)
        runs = [root, self.start_pod(pytorchjob_1_6(3, 1), 3, *show)]
        time.sleep(1)
        ends = self.ends([*runs, self.start_pod(pytorchjob_1_6(3, 2), 2, *show)])
        for end in ends:
            self.assert_ok(end)
        self.assertIn("toprun: job-worker-0 was started again and replaces its first agent", ends[0].err)
        rows = shown("".join(end.out for end in ends))
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["job-master-0", "job-worker-0", "job-worker-1"])

    def test_while_the_ranks_run(self):
        for what, end, code in [("killed", kill, None), ("evicted", lambda run: run.signal(signal.SIGTERM), 143)]:
            with self.subTest(what):
                self.forget_pods()
                self.replaced_while_the_ranks_run(end, code)

    def replaced_while_the_ranks_run(self, end, code):
        ready = self.folder()
        script = ["--max-restarts", "1", *shows("RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", "TOPRUN_ATTEMPT", then=(
            f'touch "{ready}/$TOPRUN_ATTEMPT.$RANK"; [ $TOPRUN_ATTEMPT = 1 ] || exec sleep 60'))]
        runs = self.start_job(pytorchjob_1_6, 3, *script)
        support.wait_for_files(ready, 3)
        end(runs[1])
        finished = runs[1].wait(SOON_S)
        if code:
            self.assertEqual(finished.code, code, finished)
        runs[1] = self.start_pod(pytorchjob_1_6(3, 1), 3, *script)
        ends = self.ends(runs)
        for end in ends:
            self.assert_ok(end)
        rows = [row for row in shown("".join(end.out for end in ends)) if row["TOPRUN_ATTEMPT"] == "1"]
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["job-master-0", "job-worker-0", "job-worker-1"])
        self.assertEqual(column(rows, "RANK"), ["0", "1", "2"])
        self.assertEqual(column(rows, "WORLD_SIZE"), ["3"] * 3)


class MpiJob(MpiCase):
    """mpi-operator v0.6: the launcher alone has the host file, the workers run sshd."""

    # /etc is a copy: the machine has no /etc/mpi to mount something on.
    ENTER = ('cp -a /etc "$1" && mkdir "$1/etc/mpi" && cp "$2" "$1/etc/mpi/hostfile" && '
             'mount --bind "$1/etc" /etc && shift 2 && exec "$@"')

    def launcher(self, *words):
        hosts = self.folder() / "hosts"
        hosts.write_text("n0 slots=1\nn1 slots=1\n")
        return self.on("ctl", "unshare", "--mount", "sh", "-c", self.ENTER, "pod", self.folder(), hosts, *words,
                       env=self.environment(**SERVICE, OMPI_MCA_orte_keep_fqdn_hostnames="true",
                                            OMPI_MCA_orte_default_hostfile="/etc/mpi/hostfile",
                                            PRTE_MCA_prte_default_hostfile="/etc/mpi/hostfile"))

    def test_the_launcher_starts_an_agent_on_each_worker(self):
        program = shows("RANK", "LOCAL_RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME")
        for words in ([], self.words("--map-by", "ppr:1:node", "--bind-to", "none")):
            with self.subTest(words):
                finished = self.launcher(*words, support.TOPRUN, *program)
                self.assert_ok(finished)
                self.assertEqual(shown(finished.out), [
                    {"RANK": str(i), "LOCAL_RANK": "0", "WORLD_SIZE": "2", "TOPRUN_NODE_NAME": f"n{i}"}
                    for i in range(2)])
        finished = self.launcher(support.TOPRUN, "--standalone", *program)
        self.assertEqual(column(shown(finished.out), "WORLD_SIZE"), ["1"], finished)


class ContainersInSlurm(SlurmCase):
    UP = ("--hosts", "2", "--racks", "1", "--slurm")

    def test_what_pyxis_and_enroots_hook_set(self):
        """pyxis with PYTORCH_VERSION in the image, and enroot's 50-slurm-pytorch.sh: these count nodes."""
        hook = ("PYTORCH_VERSION=2.4 RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "
                "MASTER_ADDR=n0 MASTER_PORT=61017 KUBERNETES_SERVICE_HOST=10.96.0.1")
        finished = self.srun("-N2", "bash", "-c", f'{hook} exec "$0" "$@"', support.TOPRUN, "--nproc-per-node", "2",
                             *shows("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        self.assert_ok(finished)
        self.assertEqual(shown(finished.out), [
            {"RANK": str(i), "LOCAL_RANK": str(i % 2), "WORLD_SIZE": "4"} for i in range(4)])


if __name__ == "__main__":
    unittest.main()
