"""Runs what runai_stand_in.py has been told to submit, in pods on virtual hosts (pods.py)."""

import json
import pathlib
import signal
import sys
import threading

import support
from kubelet import expanded
from pods import PodCase, runai

STAND_IN = pathlib.Path(__file__).with_name("runai_stand_in.py")
UUID = "0b5e7a90-5c1f-4a55-9d0e-8f1c2a3b4c5d"
KEEP = 'echo $$ >"$0.pid" && exec "$@" >>"$0.log" 2>&1'
# Images whose pods never begin, and what the cluster says of them.
HOPELESS = {"registry/absent:1": "ImagePullBackOff: Back-off pulling image", "registry/large:1":
            "Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu"}


class Job:
    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        self.request = json.loads((folder / "request.json").read_text())
        self.runs = []
        self.why = next((why for image, why in HOPELESS.items() if image in self.request["image"]), "")
        if not self.why:
            self.start()
        self.tell("Pending" if self.why else "Running")

    def start(self):
        count = self.request["pods"]
        self.pods = [runai(count, i) for i in range(count)]
        for i, pod in enumerate(self.pods):
            pod.name = pod.name.replace("job-", self.folder.name + "-")
            pod.env.update({"MASTER_ADDR": self.folder.name + "-master-0", "JOB_NAME": self.folder.name, "JOB_UUID": UUID})
            pod.env.update(variable.split("=", 1) for variable in self.request["variables"])
            self.case.publish(pod, i)
        for i, pod in enumerate(self.pods):
            words = [expanded(word, pod.env) for word in self.request["command"]]
            if words[0] == "toprun":
                words[0] = support.TOPRUN
            self.runs.append(self.case.start_pod(pod, i, "-c", KEEP, self.folder / pod.name, *words, program="/bin/sh"))

    def tell(self, phase):
        pods = [{"name": pod.name, "node": f"n{i}", "log": f"{self.folder / pod.name}.log", "pid": self.pid(pod)}
                for i, pod in enumerate(self.pods)] if self.runs else []
        state = self.folder / "state.new"
        state.write_text(json.dumps({"phase": phase, "why": self.why, "pods": pods}))
        state.rename(self.folder / "state.json")

    def pid(self, pod):
        path = pathlib.Path(f"{self.folder / pod.name}.pid")
        support.wait_until(lambda: path.exists() and path.read_text().strip(), 60, "a pod")
        return int(path.read_text())

    def look(self):
        """Whether it is there still."""
        codes = [run.process.poll() for run in self.runs]
        if (self.folder / "delete").exists():
            for run, code in zip(self.runs, codes):
                if code is None:
                    run.signal(signal.SIGTERM)
            for run in self.runs:
                run.process.wait(60)
            (self.folder / "request.json").unlink()
            return False
        if self.runs and None not in codes:
            self.tell("Failed" if any(codes) else "Completed")
        return True


class RunaiCase(PodCase):
    """Cases with a runai of `self.version` in PATH and a cluster behind it."""

    version = "v2"

    def setUp(self):
        super().setUp()
        self.jobs_folder = self.place / "jobs"
        self.jobs_folder.mkdir()
        self.jobs = {}
        self.use("v2")
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        self.addCleanup(self.thread.join)
        self.addCleanup(self.over.set)

    def use(self, version):
        self.version = version
        self.programs = self.place / version
        self.programs.mkdir(exist_ok=True)
        script = self.programs / "runai"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -B {STAND_IN} {version} {self.jobs_folder} "$@"\n')
        script.chmod(0o755)

    def serve(self):
        while not self.over.wait(0.05):
            for request in self.jobs_folder.glob("*/request.json"):
                if request.parent.name not in self.jobs:
                    self.jobs[request.parent.name] = Job(self, request.parent)
            for name in list(self.jobs):
                if not self.jobs[name].look():
                    del self.jobs[name]

    def runai(self, *words, limit=60, cwd=None, **variables):
        """toprun where this runai is, and neither Slurm nor kubectl."""
        env = {"PATH": f"{self.programs}:/usr/bin:/bin", "TOPRUN_ON": "runai", "USER": "ada", **variables}
        return self.toprun(*words, env=env, limit=limit, cwd=cwd)

    def submit(self, *words, **options):
        return self.runai("submit", "--container", "docker://registry/image:1", *words, **options)

    def kept(self, folder):
        """What each host's file of the job's folder on the claim holds."""
        return {path.name: path.read_text(errors="replace") for path in pathlib.Path(folder).glob(f"toprun/*.{UUID}/*.out")}
