# ctest: TIMEOUT 600 LABELS cluster
"""`toprun jobs`, `eta`, `status`, `logs`, `cancel` and `cluster` of what a Kubernetes has: rights of one kind alone,
jobs in Kueue, thousands of pods. A real kubectl asks the API server of the tests (api_server.py)."""

import json
import os
import shutil
import unittest

import support
from api_lists import Rights, resource_in
from api_objects import RESOURCES
from api_server import ApiServer
from cluster import shows, wait_for
from kubernetes_cluster_test import KubernetesCase
from kueue import Kueue

READ = ("get", "list", "watch")
EDIT = (*READ, "create", "delete")
KINDS = {"pytorchjobs": "PyTorchJob", "trainjobs": "TrainJob", "jobsets": "JobSet"}
MANY = 5_000
PAGE = 500
SOON_S = 60


def version_of(plural):
    return next(f"{row[1]}/{row[2]}".strip("/") for row in RESOURCES if row[0] == plural)


def job(plural, name, nodes=2, user="ada", **rest):
    """A job as its operator has it while it runs."""
    spec = {"pytorchjobs": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": nodes - 1}}},
            "trainjobs": {"trainer": {"numNodes": nodes}},
            "jobsets": {"replicatedJobs": [{"name": "node", "template": {"spec": {"completions": nodes}}}]}}[plural]
    return {"apiVersion": version_of(plural), "kind": KINDS[plural], "spec": spec,
            "metadata": {"name": name, "labels": {"toprun.io/user": user, **rest}}}


def pod(of, plural, number, node=None, phase="Running", message="", **status):
    labels = {"pytorchjobs": {"training.kubeflow.org/job-name": of,
                              "training.kubeflow.org/replica-type": "master" if number == 0 else "worker",
                              "training.kubeflow.org/replica-index": str(max(0, number - 1))}}.get(plural, {
        "jobset.sigs.k8s.io/jobset-name": of, "jobset.sigs.k8s.io/replicatedjob-name": "node",
        "jobset.sigs.k8s.io/job-index": "0", "batch.kubernetes.io/job-completion-index": str(number)})
    role = f"master-{number}" if number == 0 else f"worker-{number - 1}"
    state = {"running": {"startedAt": "2026-11-24T17:00:00Z"}} if phase == "Running" else {}
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                   "message": message}] if message else []
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{of}-{role}" if plural == "pytorchjobs" else f"{of}-node-0-{number}", "labels": labels},
            "spec": {"containers": [{"name": "pytorch", "image": "x", "env": [
                {"name": f"VARIABLE_{i}", "value": "x" * 60} for i in range(20)]}], **({"nodeName": node} if node else {})},
            "status": {"phase": phase, "conditions": conditions,
                       "containerStatuses": [{"name": "pytorch", "restartCount": 0, "state": state}] if state else [],
                       **status}}


class ServerCase(support.TestCase):
    """Objects that nobody acts on."""

    def setUp(self):
        support.needs_program("kubectl")
        self.api = ApiServer(self.folder())
        self.addCleanup(self.api.close)
        self.env = {"KUBECONFIG": str(self.api.kubeconfig), "HOME": str(self.folder()), "USER": "ada",
                    "TOPRUN_ON": "kubernetes"}

    def add(self, plural, item, space="default", **status):
        if status:
            item["status"] = status
        return self.api.objects.create(plural, space, item)

    def runs(self, plural, name, nodes=2, **rest):
        """A job of so many pods on nodes of their own."""
        condition = {"type": "Running", "status": "True", "reason": "Running", "message": f"{name} is running."}
        self.add(plural, job(plural, name, nodes, **rest), startTime="2026-11-24T17:00:00Z", conditions=[condition])
        for i in range(nodes):
            self.add("pods", pod(name, plural, i, f"gpu-{i}"))

    def call(self, *words, env=None, limit=SOON_S):
        return self.toprun(*words, env={**self.env, **(env or {})}, limit=limit)

    def table(self, *words):
        done = self.call("jobs", *words)
        self.assert_ok(done)
        return done


class RightsOfOneKind(ServerCase):
    """Kubeflow's role kubeflow-trainer-edit, beside a view of pods and events."""

    ROLE = {"trainjobs": EDIT, "pods": READ, "pods/log": ("get",), "events": READ}
    OTHERS = ("PyTorchJobs", "JobSets")

    def setUp(self):
        super().setUp()
        self.runs("trainjobs", "kj")
        self.runs("pytorchjobs", "other")
        self.api.rights = Rights("system:serviceaccount:ml:ku", self.ROLE)

    def test_what_is_refused_is_passed_over_with_one_note(self):
        done = self.table()
        self.assertRegex(done.out, r"(?m)^ *kj +kj +ada +Running +\S+ +2 +gpu-\[0-1\]$")
        self.assertNotIn("other", done.out)
        self.assert_one_line(done, "PyTorchJobs and JobSets are missing here: the cluster does not let you list them; .*")
        everybodys = self.call("jobs", "--all")
        self.assert_ok(everybodys)
        self.assert_one_line(everybodys, "PyTorchJobs and JobSets are missing here: .*")
        for words in (["eta"], ["status", "kj"], ["eta", "kj"], ["jobs", "--json"]):
            with self.subTest(words):
                self.assert_ok(self.call(*words))

    def test_a_job_is_found_and_cancelled(self):
        status = self.call("status", "kj").out
        self.assertIn("Running", status)
        self.assertNotIn("if it runs toprun", status)  # a hint for Slurm's jobs
        self.assert_ok(self.call("cancel", "kj"))
        self.assertEqual(self.api.objects.list("trainjobs"), [])

    def test_what_is_not_found_may_be_of_a_kind_that_is_refused(self):
        done = self.call("status", "other")
        self.assertEqual(done.code, 1)
        self.assert_one_line(done, "cannot find out whether job other exists: the cluster has no TrainJob of this name, and does not let you list PyTorchJobs and JobSets; .*")

    def test_all_kinds_are_refused(self):
        self.api.rights = Rights("ku", {"pods": READ})
        for words in (["jobs"], ["eta"], ["status", "kj"], ["logs", "kj"], ["cancel", "kj"]):
            with self.subTest(words):
                done = self.call(*words)
                self.assertEqual(done.code, 1, done)
                self.assertRegex(done.err, r"is forbidden: User \"ku\" cannot (list|get) .*; ask the cluster's administrator; ")

    def test_a_kind_that_is_not_installed_is_not_a_right_that_is_missing(self):
        """An authorizer refuses it all the same."""
        self.api.absent = {"pytorchjobs", "jobsets"}
        self.assertEqual(self.table().err, "")
        done = self.call("status", "other")
        self.assertEqual(done.code, 1)
        self.assert_one_line(done, "job other is unknown: Kubernetes has no .*")

    def test_pods_that_may_not_be_read(self):
        self.api.rights = Rights("ku", {"trainjobs": EDIT})
        done = self.table()
        self.assertRegex(done.out, r"(?m)^ *kj .* Running ")
        self.assertRegex(done.err, r"(?m)^toprun: kubectl get pods: .*pods is forbidden")
        status = self.call("status", "kj")
        self.assert_ok(status)
        self.assertRegex(status.out, "(?m)^  not told +.*pods is forbidden")
        self.assertEqual(self.call("logs", "kj").code, 1)

    def test_a_role_of_each_kind_alone(self):
        for plural in KINDS:
            with self.subTest(plural):
                self.runs(plural, f"mine-{plural[0]}")
                self.api.rights = Rights("ku", {plural: EDIT, "pods": READ})
                self.assertRegex(self.table().out, rf"(?m)^ *mine-{plural[0]} ")
                self.assert_ok(self.call("cancel", f"mine-{plural[0]}"))


class SubmitWithRightsOfOneKind(KubernetesCase):
    def test_the_kind_that_was_submitted_is_asked_for_it(self):
        for plural, operator in [("trainjobs", "trainjob"), ("jobsets", "jobset")]:
            with self.subTest(operator):
                self.plane.api.rights = Rights("ku", {plural: EDIT, "pods": READ, "pods/log": ("get",)})
                self.plane.api.asked.clear()
                done = self.submit("--operator", operator, "--nproc-per-node", "1", "--follow", *shows("RANK"))
                self.assert_ok(done)
                self.assertIn("RANK=0", done.out)
                asked = {resource_in(path)[3] for _, path, _ in self.plane.api.asked}
                self.assertIn(plural, asked)
                self.assertLessEqual(asked, {plural, "pods", "events", "namespaces"})

    def test_the_output_of_a_failed_job_ends_with_what_broke(self):
        self.plane.api.rights = Rights("ku", {"pytorchjobs": EDIT, "pods": READ, "pods/log": ("get",)})
        name = self.submitted("--operator", "pytorchjob", "--nproc-per-node", "1", *shows("RANK", then="exit 3"))
        wait_for(lambda: "Failed" in self.call("status", name).out, "its end", 60)
        logs = self.call("logs", name)
        self.assert_ok(logs)
        self.assertIn("RANK=0", logs.out)
        self.assertRegex(logs.err, rf"(?m)^toprun: job {name}: failed, exit code 3.*\n\Z")

    def test_a_job_that_is_cancelled_while_it_is_followed(self):
        self.plane.api.rights = Rights("ku", {"trainjobs": EDIT, "pods": READ, "pods/log": ("get",)})
        name = self.submitted("--operator", "trainjob", "--nproc-per-node", "1", *shows("RANK", then="exec sleep 60"))
        self.wait_for_pods(1)
        waits = self.begin(support.binary(), "logs", "-f", name, env=self.env)
        waits.prints("RANK=0")
        self.assert_ok(self.call("cancel", name))
        self.assertNotEqual(waits.wait(SOON_S).code, 0)


class InKueue(KubernetesCase):
    def setUp(self):
        super().setUp()
        self.plane.kueue = self.kueue = Kueue(self.plane.api, ["team-a"], quota=0)
        self.env["TOPRUN_ON"] = "kubernetes"

    def workload(self):
        return self.objects.list("workloads")[0]

    def test_why_a_job_waits_is_kueues_word(self):
        said = "couldn't assign flavors to pod set (master|node): insufficient unused quota for nvidia.com/gpu in " \
               "flavor h100, 8 more needed"
        for operator in ("pytorchjob", "trainjob", "jobset"):
            with self.subTest(operator):
                name = self.submitted("--operator", operator, "--queue", "team-a", "--gpus-per-node", "8",
                                      *shows("RANK"))
                plural = operator + "s"
                wait_for(lambda: self.objects.find(plural, "default", name).get("status", {}).get("conditions"), "suspended")
                wait_for(lambda: self.workload().get("status", {}).get("conditions"), "a verdict")
                status = self.call("status", name)
                self.assertRegex(status.out, r"(?m)^  state +Pending$", status)
                self.assertRegex(status.out, rf"(?m)^  waits for  Kueue: .*{said}")
                self.assertNotIn("expected to start at", status.out)
                self.assertRegex(self.call("eta").out, said)
                self.assertRegex(self.call("jobs").out, rf"{name} +team-a +\S+ +ada +Pending +0:00 +1 +\(Kueue\)")
                logs = self.call("logs", name)
                self.assert_one_line(logs, f"job {name} has printed nothing yet: the job waits: Kueue: .*{said}.*")
                self.assert_ok(self.call("cancel", name))
                wait_for(lambda: not self.objects.list(plural), "it is gone")
                self.objects.kept = {key: item for key, item in self.objects.kept.items() if key[0] != "workloads"}

    def test_a_place_in_the_queue(self):
        names = [self.submitted("--queue", "team-a", "--gpus-per-node", "8", *shows("RANK")) for _ in range(3)]
        wait_for(lambda: len(self.objects.list("workloads")) == 3, "Kueue has seen them")
        order = [one["metadata"]["ownerReferences"][0]["name"]
                 for one in self.kueue.pending_workloads("default", "team-a", None)["items"]]
        self.assertEqual(sorted(order), sorted(names))
        self.assertIn("it is the first in its queue", self.call("status", order[0]).out)
        self.assertIn("2 waiting jobs of its queue come first", self.call("eta", order[2]).out)
        told = json.loads(self.call("status", "--json", order[1]).out)["jobs"][0]
        self.assertEqual((told["state"], told["reason"]), ("pending", "Kueue"))

    def test_a_job_that_is_let_in_runs(self):
        self.kueue.stopped = True
        run = self.begin_submit("--queue", "team-a", "--nproc-per-node", "1", "--follow", *shows("RANK"))
        run.says(r"toprun: job \S+ waits: Kueue: ClusterQueue gpus is inactive")
        self.kueue.stopped = False
        done = run.wait(SOON_S)
        self.assert_ok(done)
        self.assertIn("RANK=0", done.out)

    def test_an_eviction_and_a_queue_that_is_not_there(self):
        self.kueue.quota = 8
        name = self.submitted("--queue", "team-a", "--nproc-per-node", "1", *shows("RANK", then="exec sleep 60"))
        self.wait_for_pods(1)
        with self.objects.changed:
            self.kueue.evict(self.workload(), "Preempted", "Preempted to accommodate a workload (UID: 7, JobUID: 8) "
                                                           "due to prioritization in the ClusterQueue")
            self.kueue.step = lambda: None
        wait_for(lambda: not self.all_pods(), "its pods are gone")
        self.assertRegex(self.call("status", name).out, "waits for  Kueue: Preempted to accommodate a workload")
        self.kueue.step = lambda: Kueue.step(self.kueue)
        lost = self.submitted("--queue", "team-b", *shows("RANK"))
        wait_for(lambda: "LocalQueue team-b doesn't exist" in self.call("eta", lost).out, "Kueue's word")

    def test_a_job_that_was_suspended_by_hand(self):
        self.plane.kueue = None
        name = self.submitted(*shows("RANK"))
        self.objects.find("pytorchjobs", "default", name)["spec"].setdefault("runPolicy", {})["suspend"] = True
        wait_for(lambda: "Suspended: its pods are deleted until it is resumed" in self.call("status", name).out, "suspended")
        self.assertIn("none of your jobs waits", self.call("eta").err)


class KueueByItsObjects(ServerCase):
    """Workloads as they are, without the controller."""

    def setUp(self):
        super().setUp()
        suspended = {"type": "Suspended", "status": "True", "reason": "PyTorchJobSuspended",
                     "message": "PyTorchJob kq is suspended."}
        self.job = self.add("pytorchjobs", job("pytorchjobs", "kq", **{"kueue.x-k8s.io/queue-name": "team-a"}),
                            conditions=[suspended])

    def workload(self, *conditions, uid=None, **spec):
        owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "kq", "controller": True,
                 "uid": uid or self.job["metadata"]["uid"]}
        self.add("workloads", {"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta1", "metadata": {
            "name": f"pytorchjob-kq-{len(self.api.objects.events)}", "ownerReferences": [owner]},
            "spec": {"queueName": "team-a", **spec}}, conditions=[
                {"type": type, "status": status, "reason": reason, "message": message}
                for type, status, reason, message in conditions])

    def waits_for(self, said):
        done = self.call("status", "kq")
        self.assert_ok(done)
        self.assertRegex(done.out, rf"(?m)^  waits for  {said}")

    def test_by_the_owner_alone(self):
        """As where the label of the job's uid is not set, and beside an earlier job's of the same name."""
        self.workload(("QuotaReserved", "False", "Pending", "of an earlier job"), uid="another")
        self.workload(("QuotaReserved", "False", "Pending", "8 more needed"))
        self.waits_for("Kueue: 8 more needed")

    def test_checks_that_are_not_done(self):
        self.workload(("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue gpus"))
        self.waits_for("Kueue: its quota is reserved, and admission checks are not done yet")

    def test_one_that_is_switched_off(self):
        self.workload(("Evicted", "True", "InactiveWorkload", "The workload is deactivated"), active=False)
        self.waits_for("Kueue: its Workload is deactivated.*The workload is deactivated")

    def test_one_that_was_let_in_this_moment(self):
        self.workload(("QuotaReserved", "True", "QuotaReserved", "x"), ("Admitted", "True", "Admitted", "y"))
        self.waits_for("Kueue: it was admitted, and its pods are about to be made")

    def test_no_workload_yet(self):
        self.waits_for("Kueue: there is no Workload for this job yet")

    def test_workloads_that_may_not_be_read(self):
        self.api.rights = Rights("ku", {"pytorchjobs": EDIT, "pods": READ, "events": READ})
        self.waits_for("Kueue: queue team-a has not admitted the job; the cluster does not report why: .*workloads.kueue.x-k8s.io is forbidden")

    def test_the_next_version_of_its_api(self):
        self.api.versions["kueue.x-k8s.io"] = "v1beta2"
        self.workload(("QuotaReserved", "False", "Pending", "8 more needed"))
        self.waits_for("Kueue: 8 more needed")

    def test_without_kueue(self):
        self.api.absent = {"workloads", "localqueues"}
        done = self.call("status", "kq")
        self.assertIn("Suspended: its pods are deleted until it is resumed", done.out)


class ThousandsOfPods(ServerCase):
    def setUp(self):
        super().setUp()
        self.runs("pytorchjobs", "big", MANY)
        for i in range(3):
            self.runs("jobsets", f"small-{i}", 1)

    def assert_in_pages(self):
        """No question asks for everything at once."""
        lists = [(path, query) for verb, path, query in self.api.asked if verb == "list"]
        self.assertTrue(lists)
        for path, query in lists:
            self.assertIn(int(query.get("limit", 0)), range(1, PAGE + 1), path)
        self.api.asked.clear()

    def test_all_verbs_answer(self):
        done = self.table()
        self.assertRegex(done.out, rf"(?m)^ *big .* {MANY} +gpu-\[0-{MANY - 1}\]$")
        self.assert_in_pages()
        status = self.call("status", "big")
        self.assertRegex(status.out, rf"(?m)^  nodes +{MANY}: gpu-\[0-{MANY - 1}\]$")
        self.assert_in_pages()
        self.assert_ok(self.call("eta"))
        self.assert_in_pages()

    def test_the_engine_that_on_names_is_asked(self):
        for words in (["jobs"], ["status", "big"], ["eta"], ["eta", "big"], ["cancel", "--dry-run", "big"]):
            with self.subTest(words):
                self.api.asked.clear()
                self.assert_ok(self.toprun(*words, "--on", "kubernetes", env={**self.env, "TOPRUN_ON": "slurm"}))
                self.assertTrue(self.api.asked)
        for words in (["jobs"], ["status", "big"], ["logs", "big"], ["cluster"]):
            wrong = self.toprun(*words, "--on", "kuberntes", env=self.env)
            self.assertEqual(wrong.code, 2, wrong)
            self.assert_one_line(wrong, "--on kuberntes: toprun knows the engines slurm, runai and kubernetes; did you mean "
                                        "kubernetes\\?")
        empty = self.toprun("jobs", "--on=", env=self.env)
        self.assert_one_line(empty, "--on '': toprun knows the engines slurm, runai and kubernetes; give one of them")
        unknown = self.toprun("jobs", env={**self.env, "TOPRUN_ON": "foo"})
        self.assert_one_line(unknown, "TOPRUN_ON=foo: toprun knows the engines slurm, runai and kubernetes; give one of "
                                      "them, or unset the variable")
        typed = ["toprun", "status", "--on", "kubernetes", "b"]
        listed = self.toprun("completion", "--words", *typed[1:], env={**self.env, "TOPRUN_ON": "slurm"})
        self.assertRegex(listed.out, r"(?m)^big\t")

    def test_pods_of_several_jobs_are_asked_for_together(self):
        self.assertRegex(self.table().out, r"(?m)^ *small-2 .* gpu-0$")
        pods = [path for verb, path, query in self.api.asked if path.endswith("/pods") and "continue" not in query]
        self.assertLessEqual(len(pods), 2)

    def test_a_list_that_grew_too_old_begins_anew(self):
        check, self.api.too_old = self.api.too_old, 1
        forgets = iter([1])
        self.api.refuse = lambda verb, plural, item: setattr(self.api, "too_old", next(forgets, 0)) if (
            plural == "pods") else None
        self.assertEqual(check, 0)
        self.assertRegex(self.table().out, rf"gpu-\[0-{MANY - 1}\]")

    def test_the_engine_that_a_file_names_is_asked(self):
        """toprun config init writes this line."""
        folder = self.folder()
        env = {name: value for name, value in self.env.items() if name != "TOPRUN_ON"}
        squeue = folder / "squeue"  # where Slurm is installed too
        squeue.write_text("#!/bin/sh\nexit 1\n")
        squeue.chmod(0o755)
        shutil.copy(squeue, folder / "scontrol")
        env["PATH"] = f"{folder}:{os.environ['PATH']}"
        (folder / "toprun.toml").write_text('on = "kubernetes"\n')
        self.api.asked.clear()
        self.assert_ok(self.toprun("cluster", env=env, cwd=folder))
        self.assertTrue(self.api.asked)
        (folder / "toprun.toml").write_text('\non = "kuberntes"\n')
        wrong = self.toprun("cluster", env=env, cwd=folder)
        self.assertEqual(wrong.code, 2, wrong)
        self.assert_one_line(wrong, ".*toprun.toml:2: on = kuberntes: toprun knows the engines slurm, runai and "
                                    "kubernetes; did you mean kubernetes\\?")

    def test_nodes_of_a_large_cluster(self):
        for i in range(PAGE + 1):
            self.add("nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": f"gpu-{i}"}, "status": {
                "allocatable": {"cpu": "64", "nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]}},
                space=None)
        done = self.call("cluster")
        self.assert_ok(done)
        self.assertRegex(done.out, rf"(?m)^\(no pool\) +none +{PAGE + 1} ")
        self.assert_in_pages()


class LongLines(ServerCase):
    SAID = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: 4 No " \
           "preemption victims found for incoming pod."

    def test_equal_reasons_are_one(self):
        self.add("pytorchjobs", job("pytorchjobs", "t3", 4), conditions=[])
        for i in range(4):
            self.add("pods", pod("t3", "pytorchjobs", i, phase="Pending", message=self.SAID))
        out = self.table().out
        self.assertEqual(out.count(self.SAID), 1)
        self.assertRegex(out, r"(?m)^ *t3 .* Pending .* \(Unschedulable\)$")
        self.assertIn(f"\nUnschedulable: {self.SAID} (t3-master-0,t3-worker-[0-2])\n", out)
        told = json.loads(self.call("jobs", "--json").out)["jobs"][0]
        self.assertEqual(told["reason"], "Unschedulable")
        self.assertIn(self.SAID, told["reason_words"])

    def test_a_node_is_listed_once_and_a_replaced_pod_is_gone(self):
        self.runs("pytorchjobs", "kq", 3)
        self.api.objects.find("pods", "default", "kq-worker-1")["spec"]["nodeName"] = "gpu-0"
        for i in range(2):  # a JobSet's pods have five letters at the end
            lost = pod("kq", "pytorchjobs", 1, f"lost-{i}", phase="Failed")
            lost["metadata"]["name"] = f"kq-lost-{i}"
            self.add("pods", lost)
        self.assertRegex(self.table().out, r"(?m) 3 +gpu-\[0-1\]$")
        self.assertRegex(self.call("status", "kq").out, r"(?m)^  nodes +3: gpu-\[0-1\]$")

    def test_jobs_of_a_jobset_have_numbers_of_their_own(self):
        self.add("jobsets", job("jobsets", "w", 1), conditions=[])
        for i in range(2):
            one = pod("w", "jobsets", 0, f"gpu-{i}")
            one["metadata"]["name"] = f"w-node-{i}-0"
            one["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] = str(i)
            self.add("pods", one)
        self.assertRegex(self.table().out, r"(?m)gpu-\[0-1\]$")


class Words(ServerCase):
    def test_logs_without_pods_say_what_is_known(self):
        self.add("pytorchjobs", job("pytorchjobs", "only"))
        done = self.call("logs", "only")
        self.assertEqual(done.code, 1)
        self.assert_one_line(done, "job only has printed nothing yet: the job waits: NoPods: none of its 2 pods has been made yet")

    def test_a_job_with_the_name_of_a_folder_of_jobs(self):
        folder = self.folder()
        for name in "train", "other":
            (folder / name / "5").mkdir(parents=True)
            (folder / name / "5" / "n0.out").touch()
        self.runs("pytorchjobs", "train")
        for verb in "status", "eta", "logs", "cancel":
            with self.subTest(verb):
                known = self.toprun(verb, "train", env=self.env, cwd=folder)
                self.assertNotIn("folder", known.err)
                self.assertEqual(known.code, 1 if verb == "logs" else 0, known)  # this server has no output of pods
                unknown = self.toprun(verb, "other", env=self.env, cwd=folder)
                self.assertEqual(unknown.code, 2, unknown)
                self.assert_one_line(unknown, "other: it is a folder, and not the folder or the report of a job; "
                                              "give the id or the folder of one of the jobs in it: 5")

    def test_a_state_is_said_once(self):
        failed = {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "x",
                  "lastTransitionTime": "2026-11-24T17:00:00Z"}
        self.add("pytorchjobs", job("pytorchjobs", "bad", 1), conditions=[failed])
        dead = pod("bad", "pytorchjobs", 0, "gpu-0", phase="Failed", containerStatuses=[
            {"name": "pytorch", "state": {"terminated": {"exitCode": 7, "finishedAt": "2026-11-24T17:00:00Z"}}}])
        self.add("pods", dead)
        self.assertRegex(self.call("status", "bad").out, r"(?m)^  state +Failed, exit code 7$")

    def test_a_user_without_the_variable(self):
        """As in cron and in containers."""
        self.add("pytorchjobs", job("pytorchjobs", "roots", user="root"), conditions=[])
        self.add("pytorchjobs", job("pytorchjobs", "adas"), conditions=[])
        done = self.call("jobs", env={"USER": "", "LOGNAME": ""})
        self.assert_ok(done)
        self.assertIn("roots", done.out)
        self.assertNotIn("adas", done.out)
        dry = self.toprun("submit", "--on", "kubernetes", "--container", "docker://x:1", "--dry-run=json", "x.py",
                          env={"USER": "", "LOGNAME": ""})
        self.assertEqual(json.loads(dry.out)["metadata"]["labels"]["toprun.io/user"], "root")

    def test_a_cluster_of_which_nothing_may_be_read(self):
        self.add("nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}, space=None)
        self.api.rights = Rights("ku", {})
        done = self.call("cluster")
        self.assertEqual(done.code, 1, done)
        self.assertEqual(done.err.count("is forbidden"), 2)

    def test_a_context_with_a_namespace(self):
        for space in ("default", "ml"):
            self.add("pytorchjobs", job("pytorchjobs", f"of-{space}"), space=space, conditions=[])
        config = self.api.kubeconfig.read_text()
        self.assertIn("of-default", self.call("jobs").out)
        self.api.kubeconfig.write_text(config.replace("cluster: test, user", "cluster: test, namespace: ml, user"))
        self.assertIn("of-ml", self.call("jobs").out)
        self.assertIn("of-default", self.call("jobs", env={"TOPRUN_NAMESPACE": "default"}).out)


if __name__ == "__main__":
    unittest.main()
