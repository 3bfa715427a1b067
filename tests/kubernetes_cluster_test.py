# ctest: TIMEOUT 900 LABELS cluster torch
"""`toprun submit --on kubernetes` with a real kubectl: an API server, operators and kubelets of our own
(api_server.py, operators.py, kubelet.py) run the pods on virtual hosts."""

import json
import pathlib
import random
import re
import shutil
import signal
import unittest

import pod_security
import support
from api_objects import Refusal, qualified
from api_server import crd_of
from cluster import column, shown, shows, wait_for
from operators import ControlPlane
from pods import PodCase

IMAGE = "registry.example/train:1"
IN_IMAGE = ["bash", "cat", "env", "head", "hostname", "sh", "sleep", "touch", "yes"]
OPERATORS = ("pytorchjob", "trainjob", "jobset")
HOSTS = 4
SOON_S = 60  # of what takes a few seconds where nothing else runs
LATE_S = 20
TRAIN = support.EXAMPLES / "train_ddp.py"
# Rank 1 ends badly while the others work.
FAILS = "[ $RANK = 1 ] && exit 3; sleep 60"
KILLED = "[ $RANK = 1 ] && kill -9 $$; sleep 60"
MOST_KB = 50_000


def printed(done):
    """What workers of shows() have printed, without the pods in front."""
    return shown(re.sub(r"(?m)^\[pod/\S+\] ", "", done.out))


def job_of(done):
    """The name of a job that was followed: stdout has its output alone."""
    return re.search(r"toprun: job (\S+): toprun status", done.err)[1]


class KubernetesCase(PodCase):
    UP = ("--hosts", str(HOSTS), "--racks", "1")

    def setUp(self):
        support.needs_program("kubectl")
        super().setUp()
        image = self.place / "image"
        image.mkdir()
        (image / "toprun").symlink_to(support.TOPRUN)
        for name in IN_IMAGE:
            (image / name).symlink_to(shutil.which(name))
        self.plane = ControlPlane(self, f"{image}:{pathlib.Path(support.python()).parent}", HOSTS)
        self.addCleanup(self.plane.close)
        self.objects, self.kubelet = self.plane.objects, self.plane.kubelet
        self.env = {"KUBECONFIG": str(self.plane.api.kubeconfig), "HOME": str(self.place), "USER": "ada"}

    def words(self, *words):
        operator = [] if "--operator" in words else ["--operator", "pytorchjob"]
        return ["submit", "--on", "kubernetes", "--gpus-per-node", "0", "--container", f"docker://{IMAGE}", *operator, *words]

    def call(self, *words, limit=60, env=None):
        return self.toprun(*words, limit=limit, env={**self.env, **(env or {})})

    def submit(self, *words, limit=60, env=None):
        return self.call(*self.words(*words), limit=limit, env=env)

    def submitted(self, *words):
        """The name of a job that was taken."""
        done = self.submit(*words)
        self.assert_ok(done)
        self.assertRegex(done.out, r"\A\S+\n\Z")
        return done.out.strip()

    def begin_submit(self, *words):
        return self.begin(support.binary(), *self.words(*words), env=self.env)

    def kubectl(self, *words):
        return self.run_to_end("kubectl", *words, env=self.env)

    def all_pods(self):
        return self.objects.list("pods")

    def wait_for_pods(self, count, phase="Running"):
        wait_for(lambda: sum(pod["status"]["phase"] == phase for pod in self.all_pods()) == count, f"{count} pods")
        return self.all_pods()

    def clean(self, name):
        kinds = ("pytorchjobs", "trainjobs", "jobsets")  # a TrainJob has a JobSet of its name
        plural = next(one for one in kinds if self.objects.find(one, "default", name))
        self.assert_ok(self.kubectl("delete", "--wait=false", f"{qualified(plural)}/{name}"))
        wait_for(lambda: not self.all_pods(), "the pods are gone")

    def codes(self):
        return sorted(one["state"]["terminated"]["exitCode"] for pod in self.all_pods()
                      for one in pod["status"]["containerStatuses"] if "terminated" in one["state"])


class Server(KubernetesCase):
    """What the other cases trust in."""

    def test_objects_are_checked_by_their_crds(self):
        for operator in OPERATORS:
            with self.subTest(operator):
                self.assertIsNotNone(crd_of(operator + "s"))
                written = json.loads(self.submit("--operator", operator, "--dry-run=json", *shows("RANK")).out)
                written["spec"]["nodes"] = 1
                wrong = self.place / "wrong.json"
                wrong.write_text(json.dumps(written))
                self.assertRegex(self.kubectl("create", "-f", wrong).err, 'unknown field "spec.nodes"')

    def test_a_watch(self):
        watches = self.begin("kubectl", "get", "pods", "-w", "-o", "name", env=self.env)
        name = self.submitted("--nproc-per-node", "1", *shows("RANK"))
        self.assertEqual(watches.process.stdout.readline().decode(), f"pod/{name}-master-0\n")
        watches.signal(signal.SIGTERM)


class Secrets(KubernetesCase):
    def test_a_secret_reaches_every_rank_and_nothing_else(self):
        for operator in OPERATORS:
            with self.subTest(operator):
                done = self.submit("--operator", operator, "--nodes", "2", "--secret-env", "HF_TOKEN", "--follow",
                                   *shows("RANK", "HF_TOKEN"), env={"HF_TOKEN": "hush$(RANK)17"}, limit=120)
                self.assert_ok(done)
                self.assertEqual(column(printed(done), "HF_TOKEN"), ["hush$(RANK)17"] * 2)
                for plural in ("pytorchjobs", "trainjobs", "jobsets", "pods"):
                    self.assertNotIn("hush", json.dumps(self.objects.list(plural)))
                self.clean(job_of(done))


class Trainers(KubernetesCase):
    def test_each_release_runs_it(self):
        for release in ("2.0", "2.1", None):
            with self.subTest(release):
                self.plane.api.releases = {"trainjobs": release} if release else {}
                done = self.submit("--operator", "trainjob", "--nodes", "2", "--nproc-per-node", "1", "--follow",
                                   "--pvc", "scratch:/scratch", *shows("RANK"), limit=120)
                self.assert_ok(done)
                self.assertEqual(column(printed(done), "RANK"), ["0", "1"])
                self.clean(job_of(done))


class PodSecurity(KubernetesCase):
    def setUp(self):
        super().setUp()
        self.objects.find("namespaces", None, "default")["metadata"]["labels"] = {pod_security.LABEL: "restricted"}

    def runs(self, operator, *words):
        done = self.submit("--operator", operator, "--nodes", "2", "--nproc-per-node", "1", "--follow", *words, *shows("RANK"),
                           limit=120)
        self.assert_ok(done)
        self.assertEqual(column(printed(done), "RANK"), ["0", "1"])
        self.clean(job_of(done))
        return done

    def test_a_namespace_that_says_so_gets_restricted_pods(self):
        for operator in ("auto", "trainjob", "jobset"):
            with self.subTest(operator):
                done = self.runs(operator)
                self.assertEqual("a PyTorchJob is not possible with restricted pods" in done.err, operator == "auto")

    def test_workers_of_a_pytorchjob_have_a_container_that_is_not_ours(self):
        name = self.submitted("--nodes", "2", *shows("RANK"))
        wait_for(lambda: 'container "init-pytorch"' in self.kubectl("get", "events", "-o", "json").out.replace('\\"', '"'),
                 "the refusal's words", SOON_S)
        self.clean(name)
        done = self.submit("--nodes", "1", "--follow", *shows("RANK"))
        self.assert_ok(done)
        self.assertNotIn("init container", done.err)

    def test_where_the_namespace_may_not_be_read(self):
        self.plane.api.refuse = lambda verb, plural, item: Refusal(
            403, "Forbidden", 'namespaces "default" is forbidden') if plural == "namespaces" else None
        name = self.submitted("--operator", "jobset", *shows("RANK"))
        wait_for(lambda: "violates PodSecurity" in self.call("status", name).out, "the refusal's words", SOON_S)
        self.clean(name)
        self.runs("jobset", "--restricted")


class Training(KubernetesCase):
    def trains(self, operator, nodes):
        out = self.place / "out"
        done = self.submit("--operator", operator, "--nodes", str(nodes), "--nproc-per-node", "1", "--follow", "--",
                           TRAIN, "--epochs", "1", "--output-dir", out, limit=120)
        self.assert_ok(done)
        self.assertRegex(done.out, r"held-out accuracy \d\.\d{4}")
        self.assertRegex(done.out, f"{nodes} ranks on {nodes} nodes, all ended with 0")
        self.assertTrue(list(out.iterdir()))
        self.assertEqual(self.codes(), [0] * nodes)

    def test_pytorchjob_of_four_pods(self):
        self.trains("pytorchjob", 4)

    def test_trainjob_of_two_pods(self):
        self.trains("trainjob", 2)

    def test_jobset_of_two_pods(self):
        self.trains("jobset", 2)


class Words(KubernetesCase):
    def test_hostile_words_arrive_byte_for_byte(self):
        chance = random.Random(7)
        letters = ["$", "(", ")", "PATH", "$(HOSTNAME)", "\"", "'", "\\", "\n", "\t", " ", "é", "😀", "{", "`", "-", "="]
        words = ["".join(chance.choices(letters, k=chance.randrange(8))) for _ in range(1000)]
        script = self.place / "words.py"
        script.write_text("import json, pathlib, sys\n"
                          "pathlib.Path(__file__).with_suffix('.json').write_text(json.dumps(sys.argv[1:]))\n")
        for operator in OPERATORS:
            with self.subTest(operator):
                done = self.submit("--operator", operator, "--nproc-per-node", "1", "-e", "A=$(HOSTNAME) $$",
                                   "--follow", "--", script, *words)
                self.assert_ok(done)
                self.assertEqual(json.loads(script.with_suffix(".json").read_text()), words)
                script.with_suffix(".json").unlink()


class Failures(KubernetesCase):
    def test_the_code_of_a_rank_is_the_jobs(self):
        for operator in ("pytorchjob", "jobset"):
            with self.subTest(operator):
                done = self.submit("--operator", operator, "--nodes", "2", "--nproc-per-node", "1", "--follow",
                                   "--no-python", "bash", "-c", FAILS, limit=SOON_S)
                self.assertEqual(done.code, 3, done)
                self.assertRegex(done.out, "rank 1 .*exit code 3")
                name = job_of(done)
                self.assertRegex(done.err, f"job {name}: failed, exit code 3")
                status = self.call("status", name)
                self.assertIn("exit code 3", status.out)
                self.assertIn("rank 1", self.call("logs", name).out)

    def test_one_failure_is_counted_once(self):
        """With restarts too: those are of ranks, and a pod that ends by the run's verdict is not made again."""
        for operator in ("pytorchjob", "jobset"):
            for restarts, fails, code in [("0", FAILS, 3), ("1", FAILS, 3), ("1", KILLED, 1)]:
                with self.subTest(operator, restarts=restarts, code=code):
                    done = self.submit("--operator", operator, "--nodes", "4", "--nproc-per-node", "1", "--follow",
                                       "--max-restarts", restarts, "--no-python", "bash", "-c", fails, limit=SOON_S)
                    codes = self.codes()  # without those of pods that still ran when the Job took them away
                    self.clean(job_of(done))
                    self.assertEqual(done.code, code, done)
                    self.assertEqual([one for one in codes if one], [code])

    def test_a_trainjobs_runtime_starts_all_pods_again(self):
        """A TrainJob cannot change that: up to six restarts of containers, then its Job takes the pods away."""
        done = self.submit("--operator", "trainjob", "--nodes", "2", "--nproc-per-node", "1", "--follow",
                           "--no-python", "bash", "-c", FAILS, limit=2 * SOON_S)
        self.assertEqual(done.code, 1, done)
        self.assertGreaterEqual(done.out.count("rank 1"), 1, done)


class Verbs(KubernetesCase):
    def test_a_job_that_runs(self):
        name = self.submitted("--job-name", "train", "--nodes", "2", "--nproc-per-node", "1",
                              *shows("RANK", then="exec sleep 60"))
        self.assertEqual(name, "train")
        self.wait_for_pods(2)
        listed = self.call("jobs", env={"TOPRUN_ON": "kubernetes"})
        self.assertRegex(listed.out, r"(?m)train +train +ada +Running +\d:\d\d +2 +n(\[\d-\d\]|\[\d,\d\])$", listed)
        status = self.call("status", name)
        self.assertIn("Running", status.out)
        wait_for(lambda: self.call("logs", name).out.count("RANK=") == 2, "both have printed")
        follows = self.begin(support.binary(), "logs", "-f", name, env=self.env)
        follows.prints("RANK=0")
        cancelled = self.call("cancel", name)
        self.assert_ok(cancelled)
        wait_for(lambda: not self.all_pods(), "the pods are gone")
        self.assertEqual(list(self.kubelet.running), [])
        followed = follows.wait(SOON_S)
        self.assertNotEqual(followed.code, 0, followed)
        gone = self.call("status", name)
        self.assert_one_line(gone, f"job {name} is unknown: Kubernetes has no .*")


    def test_what_has_ended_is_cancelled_too(self):
        """Its name is taken until its object is gone."""
        for operator in OPERATORS:
            with self.subTest(operator):
                words = ["--operator", operator, "--job-name", "train", "--nproc-per-node", "1"]
                self.assert_ok(self.submit(*words, "--follow", *shows("RANK")))
                self.assert_one_line(self.submit(*words, *shows("RANK")), r".*\(AlreadyExists\).*")
                late = self.call("cancel", "--signal", "USR1", "train")
                self.assert_one_line(late, "job train has already ended: ended well; it ended at .*")
                gone = self.call("cancel", "train")
                self.assert_ok(gone)
                self.assert_one_line(gone, "deleted the pods and the output of jobs that had already ended: train")
                wait_for(lambda: not self.all_pods(), "the pods are gone")


class Lost(KubernetesCase):
    def test_a_pod_that_is_killed_comes_again(self):
        for operator in OPERATORS:
            for how in (self.kubelet.kill, self.kubelet.delete):
                with self.subTest(operator, how=how.__name__):
                    self.comes_again(operator, how)

    def comes_again(self, operator, how):
        ready = self.folder()
        run = self.begin_submit("--operator", operator, "--nodes", "2", "--nproc-per-node", "1", "--max-restarts", "1",
                                "--follow", *shows("RANK", "TOPRUN_ATTEMPT", then=(
                                    f'touch "{ready}/$TOPRUN_ATTEMPT.$RANK"; '
                                    "[ $TOPRUN_ATTEMPT = 1 ] || exec sleep 60")))
        support.wait_for_files(ready, 2)
        run.prints("RANK=1 TOPRUN_ATTEMPT=0")  # so what comes again is not yet followed
        with self.objects.changed:
            member = next(pod for pod in self.all_pods() if pod["metadata"]["name"].find("worker-0") > 0
                          or pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index") == "1")
            how(member)
        done = run.wait(SOON_S)
        self.assert_ok(done)
        rows = [row for row in printed(done) if row["TOPRUN_ATTEMPT"] == "1"]
        self.assertEqual(column(rows, "RANK"), ["0", "1"], done)
        self.clean(job_of(done))

    def test_a_pod_that_comes_late(self):
        self.kubelet.pull_s = lambda name: LATE_S if "worker" in name else 0
        done = self.submit("--nodes", "2", "--nproc-per-node", "1", "--follow", *shows("RANK"), limit=LATE_S + SOON_S)
        self.assert_ok(done)
        self.assertEqual(column(printed(done), "RANK"), ["0", "1"], done)


class Elastic(KubernetesCase):
    """DistributedDataParallel on two to three pods, of which each attempt says how many it has."""

    TRAINS = """\
import os, pathlib, sys, time, torch, torch.distributed as dist
place, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
over = torch.zeros(1)
while not over:
    model.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    with torch.no_grad():  # the step of an optimizer, which would import a compiler: 2 s of each rank
        for parameter in model.parameters(): parameter -= 0.01 * parameter.grad
    (place / f"{os.environ['TOPRUN_ATTEMPT']}.{rank}-of-{dist.get_world_size()}").touch()
    over = torch.tensor([float((place / "end").exists())])
    dist.all_reduce(over)
    time.sleep(0.1)
print(f"rank {rank} of {dist.get_world_size()} has ended", flush=True)
os._exit(0)
"""

    def train(self, *options):
        (self.place / "trains.py").write_text(self.TRAINS)
        self.told = self.folder()
        return self.begin_submit("--nodes", "2-3", "--nproc-per-node", "1", "--follow", *options,
                                 self.place / "trains.py", self.told)

    def attempt(self, number, count):
        wanted = [f"{number}.{rank}-of-{count}" for rank in range(count)]
        wait_for(lambda: all((self.told / name).exists() for name in wanted), wanted, SOON_S)

    def ends_well(self, run, count):
        (self.told / "end").touch()
        done = run.wait(SOON_S)
        self.assert_ok(done)
        self.assertEqual(len(re.findall(rf"rank \d of {count} has ended", done.out)), count, done)

    def pod(self, end):
        return next(pod for pod in self.all_pods() if pod["metadata"]["name"].endswith(end))

    def test_a_pod_that_is_lost(self):
        """The others go on; it is made again, but its new node is a long time getting the image."""
        run = self.train("--rdzv-conf", "last_call_timeout=10")
        self.attempt(0, 3)
        self.kubelet.pull_s = lambda name: 3600 if name.endswith("worker-2") else 0
        with self.objects.changed:
            self.kubelet.kill(self.pod("worker-2"))
        self.attempt(1, 2)
        self.assertEqual(self.pod("worker-2")["status"]["phase"], "Pending")
        self.ends_well(run, 2)

    def test_a_pod_that_comes_late_is_one_more(self):
        waits_s = {"worker-2": 3600}
        self.kubelet.pull_s = lambda name: waits_s.get(name[-8:], 0)
        run = self.train("--rdzv-conf", "last_call_timeout=1", "--grow", "now")
        self.attempt(0, 2)
        waits_s.clear()
        self.attempt(1, 3)
        self.ends_well(run, 3)

    def test_a_run_that_fails_is_no_success(self):
        """The operator takes one pod that has ended with 0 for the success of all."""
        for fails, code in [(FAILS, 3), (KILLED, 1)]:
            with self.subTest(code):
                done = self.submit("--nodes", "2-3", "--nproc-per-node", "1", "--follow", "--no-python", "bash", "-c",
                                   fails, limit=SOON_S)
                self.assertEqual(done.code, code, done)
                wait_for(lambda: len(self.codes()) == 3, "all pods end")
                self.assertEqual(self.codes(), [code] * 3)
                self.clean(job_of(done))


class BadInput(KubernetesCase):
    def fake_kubectl(self, script):
        folder = self.folder()
        (folder / "kubectl").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "kubectl").chmod(0o755)
        return {"PATH": f"{folder}:/usr/bin:/bin", "TOPRUN_ENGINE_TIMEOUT": "3"}

    def refused(self, words, said, env=None, code=1):
        done = self.submit(*words, *shows("RANK"), env=env, limit=SOON_S)
        self.assertEqual((done.code, done.out), (code, ""), done)
        self.assert_one_line(done, said)

    def test_kubectl_itself(self):
        for script, said in [
                ("exec sleep 100", r"`kubectl create .*` failed: no answer within 3\.0+ s"),
                ("echo '<html>'", "kubectl create: .*<html>.*"),
                ("kill -9 $$", "kubectl create: .*"),
                ("exit 1", "kubectl create: it gave no reason")]:
            with self.subTest(script):
                self.refused(("--operator", "pytorchjob"), said, env=self.fake_kubectl(script))

    def test_what_kubectl_prints_is_no_json(self):
        done = self.call("status", "train", env=self.fake_kubectl("[ $1 = get ] && echo '<html>'"))
        self.assert_one_line(done, "cannot find out whether job train exists: cannot ask Kubernetes: kubectl did not print JSON: <html>; .*")
        done = self.call("status", "train", env=self.fake_kubectl("echo '<html>'"))
        self.assert_one_line(done, "cannot find out whether job train exists: namespace <html>: this namespace does not exist; .*")

    def test_refusals_in_the_clusters_words(self):
        def answer(verb, refusal):
            return lambda asked, plural, item: refusal if verb in (asked, "all") else None
        forbidden = 'pytorchjobs.kubeflow.org is forbidden: User "ada" cannot create resource "pytorchjobs"'
        quota = 'pytorchjobs.kubeflow.org "x" is forbidden: exceeded quota: few, requested: 1, used: 5, limited: 5'
        for refuse, said in [
                (answer("all", Refusal(401, "Unauthorized", "Unauthorized")),
                 ".*(Unauthorized|provide credentials).*; log in to the cluster again"),
                (answer("create", Refusal(403, "Forbidden", forbidden)), r".*\(Forbidden\).*cannot create resource.*"),
                (answer("create", Refusal(403, "Forbidden", quota)), ".*exceeded quota: few.*")]:
            with self.subTest(said):
                self.plane.api.refuse = refuse
                self.refused(("--operator", "pytorchjob"), "kubectl create: " + said)

    def test_operators_that_are_not_there(self):
        self.plane.api.absent = {"trainjobs"}
        self.refused(("--operator", "trainjob"), '.*no matches for kind "TrainJob".*; this operator is not installed.*')
        listed = self.call("jobs", env={"TOPRUN_ON": "kubernetes"})
        self.assert_ok(listed)

    def test_the_job_is_of_the_first_operator_that_is_there(self):
        for absent, kind in [(set(), "PyTorchJob"), ({"pytorchjobs"}, "TrainJob"),
                             ({"pytorchjobs", "trainjobs"}, "JobSet")]:
            with self.subTest(kind):
                self.plane.api.absent = absent
                done = self.submit("--operator", "auto", "--dry-run=server", *shows("RANK"))
                self.assert_ok(done)
                self.assertIn(f"kind: {kind}\n", done.out)
        self.plane.api.absent = {"pytorchjobs", "trainjobs", "jobsets"}
        self.refused(("--operator", "auto"), "--operator auto: the cluster has none of .*; ask the administrator to install the training operator, .*")

    def test_names(self):
        self.refused(("--namespace", "nowhere"), r'.*namespaces "nowhere" not found.*kubectl get namespaces.*')
        self.submitted("--job-name", "train", *shows("RANK"))
        self.refused(("--job-name", "train"),
                     r'.*\(AlreadyExists\).*"train" already exists; choose another --job-name.*')

    def test_a_trial_by_the_cluster(self):
        done = self.submit("--operator", "auto", "--dry-run=server", *shows("RANK"))
        self.assert_ok(done)
        self.assertEqual(done.err, "toprun: Kubernetes would accept this job\n")
        self.assertEqual(self.objects.list("pytorchjobs"), [])


class Waiting(KubernetesCase):
    def waits(self, words, said):
        run = self.begin_submit(*words, "--follow", *shows("RANK"))
        name = wait_for(lambda: [job["metadata"]["name"] for job in self.objects.list("pytorchjobs")], "the job")[0]
        wait_for(lambda: self.all_pods(), "its pods")
        status = wait_for(lambda: re.search(said, (self.call("status", name)).out), said, SOON_S)
        self.assertTrue(status)
        run.says(f"toprun: job {name} waits: .*{said}")
        run.signal(signal.SIGINT)
        run.wait(SOON_S)
        self.clean(name)

    def test_why_pods_wait(self):
        self.waits(("--gpus-per-node", "8"), "Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu")
        self.kubelet.images = {"another"}
        self.waits((), f'ImagePullBackOff: Back-off pulling image "{IMAGE}"')

    def test_a_quota_of_pods(self):
        said = 'pods "train-master-0" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4'
        self.objects.no_pods = Refusal(403, "Forbidden", said)
        self.addCleanup(setattr, self.objects, "no_pods", None)
        name = self.submitted(*shows("RANK"))
        wait_for(lambda: said in self.call("status", name).out, "the quota's words", SOON_S)
        logs = self.call("logs", name)
        self.assertEqual(logs.code, 1, logs)
        self.assert_one_line(logs, f"job {name} has printed nothing yet: the job waits: FailedCreatePod: .*exceeded quota: team.*")
        self.clean(name)

    def test_an_image_without_toprun(self):
        (self.place / "image/toprun").unlink()
        done = self.submit("--follow", *shows("RANK"), limit=SOON_S)
        self.assertEqual(done.code, 128, done)
        self.assertIn('exec: "toprun": executable file not found in $PATH', done.err)

    def test_an_evicted_pod(self):
        ready = self.folder()
        run = self.begin_submit("--nodes", "2", "--nproc-per-node", "1", "--follow",
                                *shows("RANK", then=f'touch "{ready}/$RANK"; exec sleep 60'))
        support.wait_for_files(ready, 2)
        with self.objects.changed:
            self.kubelet.evict(next(pod for pod in self.all_pods() if "worker" in pod["metadata"]["name"]))
        done = run.wait(SOON_S)
        self.assertNotEqual(done.code, 0)
        self.assertRegex(done.err, "Evicted The node was low on resource: memory")

    def test_a_time_limit(self):
        for operator in OPERATORS:
            with self.subTest(operator):
                done = self.submit("--operator", operator, "--time", "0:00:02", "--follow", "--nproc-per-node", "1",
                                   "--no-python", "sleep", "60", limit=SOON_S)
                self.assertEqual(done.code, 124, done)

    def test_another_clock(self):
        for late in (3600, -3600):
            with self.subTest(late):
                self.objects.clock_is_late_by_s = late
                done = self.submit("--time", "10", "--nodes", "2", "--follow", "--nproc-per-node", "1", "--no-python",
                                   "bash", "-c", FAILS, limit=SOON_S)
                self.assertEqual(done.code, 3, done)


def resident_kb(pid):
    found = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0  # none: it has ended


class Output(KubernetesCase):
    def test_a_gigabyte_takes_no_memory(self):
        run = self.begin_submit("--nproc-per-node", "1", "--follow", "--no-python", "sh", "-c",
                                "yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678 | "
                                "head -c 1000000000")
        total = peak_kb = 0
        while data := run.process.stdout.read1(1 << 20):
            total += len(data)
            peak_kb = max(peak_kb, resident_kb(run.process.pid))
        self.assertGreater(total, 1_000_000_000)
        self.assert_ok(run.wait(120))
        self.assertLess(peak_kb, MOST_KB)


if __name__ == "__main__":
    unittest.main()
