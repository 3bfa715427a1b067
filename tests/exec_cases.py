"""Jobs whose pods sleep, on virtual hosts, and a kubectl that executes commands in them (kubectl_stand_in.py)."""

import json
import os
import pathlib

import cluster
import support
from pods import PodCase, pytorchjob_1_7

STAND_IN = pathlib.Path(__file__).with_name("kubectl_stand_in.py")
# What `toprun submit --interactive` has pods run.
SLEEPS = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"]
JOB = "job"  # pods.py names the pods job-master-0, job-worker-0 …


class SleepingJob(PodCase):
    def setUp(self):
        super().setUp()
        self.programs = self.folder()
        (self.programs / "kubectl").symlink_to(STAND_IN)
        self.state = self.programs / "cluster.json"
        self.env = {"CLUSTER": self.state, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        self.cluster_state = {"objects": {"pytorchjobs.kubeflow.org": {}}, "pods": [], "processes": {}, "refusals": {}}
        self.write()

    def write(self):
        new = self.state.with_suffix(".new")
        new.write_text(json.dumps(self.cluster_state))
        new.rename(self.state)

    def sleeping(self, count, of_last=None):
        """A PyTorchJob whose pods sleep, each with a home and temporary files of its own."""
        self.runs = []
        for i in range(count):
            pod = pytorchjob_1_7(count, i)
            own = self.folder()
            pod.env.update({"HOME": own, "TMPDIR": own, "ON_POD": pod.name})
            del pod.env["PET_NPROC_PER_NODE"]
            if i == count - 1:
                pod.env.update(of_last or {})
            run = self.start_pod(pod, i, *SLEEPS[1:], program=SLEEPS[0])
            self.runs.append(run)
            self.add(pod, i, cluster.wait_for(lambda run=run: self.sleeper(run), f"{pod.name} sleeps"), own)
        self.cluster_state["objects"]["pytorchjobs.kubeflow.org"][JOB] = {
            "metadata": {"name": JOB, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": count - 1}}},
            "status": {"conditions": [{"type": "Running", "status": "True"}]}}
        self.write()

    def sleeper(self, run):
        return next((pid for pid, line in run.processes().items() if line.startswith("sh -c trap")), None)

    def add(self, pod, number, pid, home):
        role = "master" if number == 0 else "worker"
        self.cluster_state["pods"].insert(0, {  # the API's order is no promise
            "metadata": {"name": pod.name, "labels": {
                "training.kubeflow.org/job-name": JOB, "training.kubeflow.org/replica-type": role,
                "training.kubeflow.org/replica-index": str(max(0, number - 1))}},
            "spec": {"nodeName": f"n{number}", "containers": [
                {"name": "sidecar"}, {"name": "pytorch", "command": SLEEPS}]},
            "status": {"phase": "Running", "podIP": f"10.77.0.{number + 1}", "containerStatuses": [
                {"name": "pytorch", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}})
        self.cluster_state["processes"][pod.name] = pid
        self.homes = getattr(self, "homes", {})
        self.homes[pod.name] = home

    def pod(self, name):
        return next(pod for pod in self.cluster_state["pods"] if pod["metadata"]["name"] == name)

    def launch(self, *words, limit=60, **options):
        """toprun on the host where somebody types; nothing of it may be left in any pod."""
        return self.on("ctl", support.TOPRUN, *words, env=self.env, limit=limit, **options)

    def launching(self, *words):
        return self.start("ctl", support.TOPRUN, *words, env=self.env)

    def assert_failed(self, finished, code, *texts):
        self.assertEqual(finished.code, code, finished)
        for text in texts:
            self.assertIn(text, finished.err)
