"""`toprun cluster`, `config init`, `status` and `eta` on Kubernetes, by a kubectl that prints what a cluster would."""

import copy
import json
import os
import re
import unittest

import support
from api_objects import RESOURCES, Refusal
from api_server import ApiServer

# Prints the file named by the words before the first option, or refuses in kubectl's words.
KUBECTL = r"""#!/bin/sh
echo "$*" >>"$0.calls"
[ "$1" = -n ] && shift 2
words=
for word; do case $word in -*) break ;; esac; words="$words${words:+_}$word"; done
file=$(dirname "$0")/$words
[ -e "$file.refused" ] && { cat "$file.refused" >&2; exit 1; }
[ -e "$file" ] && exec cat "$file"
echo "error: the server doesn't have a resource type \"$2\"" >&2
exit 1
"""
KLOG = 'E1124 22:53:22.909201   25386 memcache.go:265] "Unhandled Error" err="the server is late"\n'
FORBIDDEN = ('Error from server (Forbidden): {0} is forbidden: User "ada" cannot list resource "{0}" in API group "" '
             'at the cluster scope\n')


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
RUNNING = {"metadata": {"name": "train-node-0-0"}, "spec": {"nodeName": "g0"}, "status": {"phase": "Running"}}
NOT_FOUND = 'Error from server (NotFound): pytorchjobs.kubeflow.org "train" not found\n'


class Stand(support.TestCase):
    def setUp(self):
        self.place = self.folder()
        self.kubectl = self.place / "bin/kubectl"
        self.kubectl.parent.mkdir()
        self.kubectl.write_text(KUBECTL)
        self.kubectl.chmod(0o755)

    def prints(self, words, *items):
        (self.kubectl.parent / words).write_text(json.dumps({"kind": "List", "items": items}))

    def refuses(self, words, text):
        (self.kubectl.parent / f"{words}.refused").write_text(text)

    def call(self, *words, **options):
        path = f"{self.kubectl.parent}:{os.environ['PATH']}"
        return self.toprun(*words, env={"PATH": path, "TOPRUN_ON": "kubernetes", "HOME": str(self.place)}, **options)

    def whole_cluster(self):
        self.prints("get_nodes", *NODES)
        self.prints("get_pods", pod("g0", 3), pod("c0", 0))
        self.prints("get_localqueues.kueue.x-k8s.io", QUEUE)
        self.prints("get_persistentvolumeclaims", CLAIM)
        (self.kubectl.parent / "config_view").write_text("ml")
        (self.kubectl.parent / "api-resources").write_text("pods\ntrainjobs.trainer.kubeflow.org\n")


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
        self.refuses("get_pods", FORBIDDEN.format("pods"))
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assertIn("kubectl get pods: (Forbidden): pods is forbidden", finished.err)
        self.assertRegex(finished.out, r"(?m)^a3 +none +3 +\? +\?/24 H100")
        told = json.loads(self.call("cluster", "--json").out)["partitions"][1]
        self.assertEqual((told["idle_nodes"], told["gpus"][0]["free"]), (None, None))
        self.refuses("get_nodes", FORBIDDEN.format("nodes"))
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assertIn("nodes is forbidden", finished.err)
        self.assertNotIn("POOL", finished.out)
        self.assertRegex(finished.out, r"(?m)^ml +gpus +3 +2$")

    def test_a_cluster_that_does_not_answer(self):
        self.refuses("get_nodes", "The connection to the server 10.0.0.1:6443 was refused - did you specify the right "
                                  "host or port?\n")
        finished = self.call("cluster")
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, r"kubectl get nodes: The connection .* was refused .*; check the cluster's addr")


class ConfigInit(Stand):
    def test_the_file_submits_to_kubernetes(self):
        self.whole_cluster()
        self.assert_ok(self.call("config", "init", cwd=self.place))
        text = (self.place / "toprun.toml").read_text()
        for line in ('on = "kubernetes"', '# namespace = "ml"', "gpus-per-node = 8",
                     'operator = "trainjob"  # installed: trainjob',
                     '# queue = "ml"  # Kueue\'s here: ml',
                     '# pvc = ["scratch:/scratch"]  # claims here: scratch of 1Ti',
                     "#   a3: 3 nodes with 8 nvidia.com/gpu (H100) and 64 CPUs; 1 node not ready"):
            self.assertIn(f"\n{line}\n", text)
        opened = re.sub(r'(?m)^# (namespace|pvc) =', r"\1 =", text).replace(
            '# container = "docker://IMAGE"', 'container = "docker://python:3.12"')
        (self.place / "toprun.toml").write_text(opened)
        path = f"{self.kubectl.parent}:{os.environ['PATH']}"
        dry = self.toprun("submit", "--dry-run=json", "-N", "2", "train.py", cwd=self.place,
                          env={"PATH": path, "HOME": str(self.place), "TOPRUN_ON": ""})
        self.assert_ok(dry)
        job = json.loads(dry.out)
        self.assertEqual((job["kind"], job["metadata"]["namespace"]), ("TrainJob", "ml"))
        self.assertEqual(job["spec"]["trainer"]["resourcesPerNode"]["limits"]["nvidia.com/gpu"], "8")
        self.assertIn('"claimName": "scratch"', json.dumps(job))

    def test_what_is_refused_is_left_out_and_said(self):
        self.refuses("get_nodes", FORBIDDEN.format("nodes"))
        self.refuses("get_persistentvolumeclaims", FORBIDDEN.format("persistentvolumeclaims"))
        finished = self.call("config", "init", "--output", "-")
        self.assert_ok(finished)
        self.assertIn("nodes is forbidden", finished.err)
        self.assertIn("persistentvolumeclaims is forbidden", finished.err)
        self.assertIn("Its nodes could not be listed", finished.out)
        self.assertIn('\non = "kubernetes"\n', finished.out)


class Progress(Stand):
    def setUp(self):
        super().setUp()
        self.refuses("get_pytorchjobs.kubeflow.org_train", NOT_FOUND)
        (self.kubectl.parent / "get_trainjobs.trainer.kubeflow.org_train").write_text(json.dumps(TRAINJOB))
        self.prints("get_trainjobs.trainer.kubeflow.org", TRAINJOB)
        self.prints("get_pods", RUNNING)

    def test_status_and_eta_tell_what_the_training_has_told(self):
        for verb in ("status", "eta"):
            finished = self.call(verb, "train")
            self.assert_ok(finished)
            self.assertRegex(finished.out, r"42 % done, 1:03:00 left, loss 0\.31; told at 2026-11-24 ")
        told = json.loads(self.call("status", "--json", "train").out)["jobs"][0]["progress"]
        self.assertEqual(told, {"percent": 42, "remaining_s": 3780, "metrics": {"loss": "0.31"},
                                "told": "2026-11-24T17:30:00.000Z"})


class Logs(Stand):
    def test_what_kubectl_says_is_cleaned(self):
        self.refuses("get_pytorchjobs.kubeflow.org_train", NOT_FOUND)
        (self.kubectl.parent / "get_trainjobs.trainer.kubeflow.org_train").write_text(json.dumps(TRAINJOB))
        self.prints("get_pods", RUNNING)
        finished = self.call("logs", "train")
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        self.assert_one_line(finished, "job train has printed nothing yet: it waits: 0 of 2 pods run; train-node-0-0: .*")
        begun = copy.deepcopy(RUNNING)
        begun["status"]["containerStatuses"] = [{"state": {"running": {"startedAt": "2026-11-24T17:00:00Z"}}}]
        self.prints("get_pods", begun)
        for said in (f"{KLOG}{KLOG}Error from server (NotFound): pods \"train-node-0-0\" not found\n", KLOG):
            with self.subTest(lines=said.count("\n")):
                self.refuses("logs_train-node-0-0", said)
                finished = self.call("logs", "train")
                self.assertEqual(finished.code, 1, finished)
                self.assert_one_line(finished, "the output of job train: (\\(NotFound\\): pods .* not found|the server is late)")


class RealKubectl(support.TestCase):
    """The same by a real kubectl, whose words are not ours, and the tests' API server."""

    def setUp(self):
        support.needs_program("kubectl")
        self.api = ApiServer(self.folder())
        self.addCleanup(self.api.close)
        for item in NODES:
            self.add("nodes", None, item)
        self.add("pods", "default", pod("g0", 3))
        ended = pod("g1", 8)
        ended["metadata"]["name"] = "ended"
        ended["status"]["phase"] = "Succeeded"
        self.add("pods", "ml", ended)
        self.add("localqueues", "default", QUEUE)
        self.add("persistentvolumeclaims", "default", CLAIM)

    def add(self, plural, space, item):
        kind, version = next((row[3], f"{row[1]}/{row[2]}".strip("/")) for row in RESOURCES if row[0] == plural)
        self.api.objects.create(plural, space, copy.deepcopy({"kind": kind, "apiVersion": version, **item}))

    def call(self, *words):
        return self.toprun(*words, env={"KUBECONFIG": str(self.api.kubeconfig), "HOME": str(self.folder()),
                                        "TOPRUN_ON": "kubernetes"})

    def test_cluster(self):
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assertEqual(finished.err, "")
        self.assertRegex(finished.out, r"(?m)^a3 +none +3 +1 +13/24 H100 +1 node not ready$")
        self.assertRegex(finished.out, r"(?m)^ml +gpus +3 +2$")

    def test_kinds_that_are_not_there_and_that_are_refused(self):
        self.api.absent.add("localqueues")
        self.api.refuse = lambda verb, plural, item: Refusal(
            403, "Forbidden", 'pods is forbidden: User "ada" cannot list resource "pods"') if plural == "pods" else None
        finished = self.call("cluster")
        self.assert_ok(finished)
        self.assert_one_line(finished, r"kubectl get pods: .*pods is forbidden: User \"ada\" cannot list .*rights")
        self.assertRegex(finished.out, r"(?m)^a3 +none +3 +\? +\?/24 H100")
        self.assertNotIn("QUEUE", finished.out)

    def test_config_init(self):
        finished = self.call("config", "init", "--output", "-")
        self.assert_ok(finished)
        self.assertEqual(finished.err, "")
        for line in ('# namespace = "default"',
                     '# operator = "pytorchjob"  # installed: pytorchjob, trainjob, jobset',
                     '# queue = "ml"  # Kueue\'s here: ml',
                     '# pvc = ["scratch:/scratch"]  # claims here: scratch of 1Ti'):
            self.assertIn(f"\n{line}\n", finished.out)


if __name__ == "__main__":
    unittest.main()
