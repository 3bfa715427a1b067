"""`toprun cluster`, `config init`, `status` and `eta` on Kubernetes: a real kubectl and the tests' API server."""

import copy
import json
import os
import re
import shutil
import unittest

import support
from api_lists import Rights
from api_objects import RESOURCES
from api_server import ApiServer

KLOG = 'E1124 22:53:22.909201   25386 memcache.go:265] "Unhandled Error" err="the server is late"\n'
# A real one but for `logs`, of which it says what is in a file.
KUBECTL = """#!/bin/sh
case " $* " in *" logs "*) cat "$0.said" >&2; exit 1 ;; esac
exec %s "$@"
"""


def node(name, gpus=0, ready="True", spec=None, **labels):
    allocatable = {"cpu": "64", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec or {},
            "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]}}


def pod(on, gpus):
    return {"metadata": {"name": "p", "namespace": "other"}, "status": {"phase": "Running"},
            "spec": {"nodeName": on, "containers": [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}


A3 = {"cloud.google.com/gke-nodepool": "a3", "nvidia.com/gpu.product": "H100"}
NODES = [node("g0", 8, **A3), node("g1", 8, **A3), node("g2", 8, ready="Unknown", **A3), node("c0")]
QUEUE = {"metadata": {"name": "ml"}, "spec": {"clusterQueue": "gpus"},
         "status": {"pendingWorkloads": 3, "admittedWorkloads": 2}}
CLAIM = {"metadata": {"name": "scratch"}, "spec": {"accessModes": ["ReadWriteMany"]},
         "status": {"capacity": {"storage": "1Ti"}}}
TRAINJOB = {"metadata": {"name": "train", "creationTimestamp": "2026-11-24T17:00:00Z"},
            "spec": {"trainer": {"numNodes": 2}},
            "status": {"trainerStatus": {"progressPercentage": 42, "estimatedRemainingSeconds": 3780,
                                         "metrics": [{"name": "loss", "value": "0.31"}],
                                         "lastUpdatedTime": "2026-11-24T17:30:00Z"}}}
RUNNING = {"metadata": {"name": "train-node-0-0", "labels": {"jobset.sigs.k8s.io/jobset-name": "train"}}, "spec": {"nodeName": "g0"}, "status": {"phase": "Running"}}
# Who may not see others' pods, as most.
ONE_NAMESPACE = {"*": ("get", "list")}


class Stand(support.TestCase):
    """A real kubectl and the tests' API server."""

    def setUp(self):
        support.needs_program("kubectl")
        self.place = self.folder()
        self.api = ApiServer(self.place)
        self.addCleanup(self.api.close)
        self.env = {"KUBECONFIG": str(self.api.kubeconfig), "HOME": str(self.place), "TOPRUN_ON": "kubernetes"}

    def add(self, plural, space, item):
        kind, version = next((row[3], f"{row[1]}/{row[2]}".strip("/")) for row in RESOURCES if row[0] == plural)
        self.api.objects.create(plural, space, copy.deepcopy({"kind": kind, "apiVersion": version, **item}))

    def may_not_list(self, *plurals):
        self.api.rights = Rights("ada", {**ONE_NAMESPACE, **{one: () for one in plurals}})

    def call(self, *words, env=None, **options):
        return self.toprun(*words, env={**self.env, **(env or {})}, **options)

    def whole_cluster(self):
        for item in NODES:
            self.add("nodes", None, item)
        self.add("pods", "default", pod("g0", 3))
        self.add("pods", "other", pod("c0", 0))
        ended = pod("g1", 8)
        ended["metadata"]["name"] = "ended"
        ended["status"]["phase"] = "Succeeded"
        self.add("pods", "ml", ended)
        self.add("localqueues", "default", QUEUE)
        self.add("persistentvolumeclaims", "default", CLAIM)


class Cluster(Stand):
    def test_pools_queues_and_what_is_free(self):
        self.whole_cluster()
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"(?m)^POOL +LIMIT +NODES +IDLE +FREE GPUS +NOTES$")
        self.assertRegex(finished.out, r"(?m)^\(no pool\) +none +1 +0 +-")
        self.assertRegex(finished.out, r"(?m)^a3 +none +3 +1 +13/24 H100 +1 node not ready$")
        self.assertRegex(finished.out, r"(?m)^QUEUE +OF +WAITING +RUNNING\nml +gpus +3 +2$")
        told = json.loads(self.call("cluster", "--json").out)
        self.assertEqual(told["engine"], "kubernetes")
        self.assertEqual([(row["name"], row["idle"], row["gpus"]) for row in told["partitions"]],
                         [("", "", []), ("a3", "g1", [{"kind": "H100", "total": 24, "free": 13}])])
        self.assertEqual(told["queues"], [{"name": "ml", "serves": "gpus", "waiting": 3, "running": 2, "gpus": None}])

    def test_what_a_user_may_not_read_is_said(self):
        self.whole_cluster()
        self.may_not_list("pods")
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assert_one_line(finished, r"kubectl get pods: \(Forbidden\): pods is forbidden: User \"ada\" cannot list "
                                       ".*rights")
        self.assertRegex(finished.out, r"(?m)^a3 +none +3 +\? +\?/24 H100")
        told = json.loads(self.call("cluster", "--json").out)["partitions"][1]
        self.assertEqual((told["idle_nodes"], told["gpus"][0]["free"]), (None, None))
        self.may_not_list("nodes")
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assertIn("nodes is forbidden", finished.err)
        self.assertNotIn("POOL", finished.out)
        self.assertRegex(finished.out, r"(?m)^ml +gpus +3 +2$")

    def test_a_cluster_that_does_not_answer(self):
        self.api.close()
        finished = self.call("cluster")
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, r"kubectl get nodes: The connection .* was refused .*; check the cluster's addr")

    def test_kinds_that_are_not_there(self):
        self.whole_cluster()
        self.api.absent.add("localqueues")
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assertEqual(finished.err, "")
        self.assertIn("13/24 H100", finished.out)
        self.assertNotIn("QUEUE", finished.out)


class ConfigInit(Stand):
    def test_the_file_submits_to_kubernetes(self):
        self.whole_cluster()
        self.api.absent |= {"pytorchjobs", "jobsets"}
        self.api.kubeconfig.write_text(
            self.api.kubeconfig.read_text().replace("user: test}}]", "user: test, namespace: default}}]"))
        self.assert_ok(self.call("config", "init", cwd=self.place))
        text = (self.place / "toprun.toml").read_text()
        for line in ('on = "kubernetes"', '# namespace = "default"', "gpus-per-node = 8",
                     'operator = "trainjob"  # installed: trainjob',
                     '# queue = "ml"  # Kueue\'s here: ml',
                     '# pvc = ["scratch:/scratch"]  # claims here: scratch of 1Ti',
                     "#   a3: 3 nodes with 8 nvidia.com/gpu (H100) and 64 CPUs; 1 node not ready"):
            self.assertIn(f"\n{line}\n", text)
        opened = re.sub(r'(?m)^# (namespace|pvc) =', r"\1 =", text).replace(
            '# container = "docker://IMAGE"', 'container = "docker://python:3.12"')
        (self.place / "toprun.toml").write_text(opened)
        dry = self.call("submit", "--dry-run=json", "-N", "2", "train.py", cwd=self.place, env={"TOPRUN_ON": ""})
        self.assert_ok(dry)
        job = json.loads(dry.out)
        self.assertEqual((job["kind"], job["metadata"]["namespace"]), ("TrainJob", "default"))
        self.assertEqual(job["spec"]["trainer"]["resourcesPerNode"]["limits"]["nvidia.com/gpu"], "8")
        self.assertIn('"claimName": "scratch"', json.dumps(job))

    def test_what_is_refused_is_left_out_and_said(self):
        self.may_not_list("nodes", "persistentvolumeclaims")
        finished = self.call("config", "init", "--output", "-")
        self.assert_ok(finished)
        self.assertIn("nodes is forbidden", finished.err)
        self.assertIn("persistentvolumeclaims is forbidden", finished.err)
        self.assertIn("Its nodes could not be listed", finished.out)
        self.assertIn('\non = "kubernetes"\n', finished.out)


class Progress(Stand):
    def setUp(self):
        super().setUp()
        self.add("trainjobs", "default", TRAINJOB)
        self.add("pods", "default", RUNNING)

    def test_status_and_eta_tell_what_the_training_has_told(self):
        for verb in ("status", "eta"):
            finished = self.call(verb, "train")
            self.assert_ok(finished)
            self.assertRegex(finished.out, r"42 % done, 1:03:00 left, loss 0\.31; reported at 2026-11-24 ")
        told = json.loads(self.call("status", "--json", "train").out)["jobs"][0]["progress"]
        self.assertEqual(told, {"percent": 42, "remaining_s": 3780, "metrics": {"loss": "0.31"},
                                "told": "2026-11-24T17:30:00.000Z"})


class Logs(Stand):
    def setUp(self):
        super().setUp()
        self.add("trainjobs", "default", TRAINJOB)
        self.add("pods", "default", RUNNING)
        self.kubectl = self.place / "bin/kubectl"
        self.kubectl.parent.mkdir()
        self.kubectl.write_text(KUBECTL % shutil.which("kubectl"))
        self.kubectl.chmod(0o755)
        self.env["PATH"] = f"{self.kubectl.parent}:{os.environ['PATH']}"

    def test_what_kubectl_says_is_cleaned(self):
        finished = self.call("logs", "train")
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        self.assert_one_line(finished, "job train has printed nothing yet: the job waits: Starting: 0 of 2 pods run; "
                                       "is being made: train-node-0-0")
        self.api.objects.find("pods", "default", "train-node-0-0")["status"]["containerStatuses"] = [
            {"state": {"running": {"startedAt": "2026-11-24T17:00:00Z"}}}]
        for said in (f"{KLOG}{KLOG}Error from server (NotFound): pods \"train-node-0-0\" not found\n", KLOG):
            with self.subTest(lines=said.count("\n")):
                self.kubectl.with_suffix(".said").write_text(said)
                finished = self.call("logs", "train")
                self.assertEqual(finished.code, 1, finished)
                self.assert_one_line(finished, "cannot show the output of job train: (\\(NotFound\\): pods .* not found|the server is late)")


if __name__ == "__main__":
    unittest.main()
