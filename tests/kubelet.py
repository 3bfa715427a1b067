"""Runs the pods of an API server's objects on virtual hosts, as scheduler and kubelets would.

A pod is a process in namespaces of its own (pods.py). Its output is kept per container, as `kubectl logs` has
it, and its end is written into the pod's status.
"""

import base64
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pods
import support
from api_objects import Refusal

GRACE_S = 3         # a pod's terminationGracePeriodSeconds is 30 where nobody says otherwise
PULL_BACKOFF_S = 0.5  # until ErrImagePull becomes ImagePullBackOff; 10 s
RESTART_S = 1       # before a container is started again, as CrashLoopBackOff: 10 s, 20 s …
NO_EXECUTABLE = 128  # containerd's exit code of a container that could not begin


def expanded(word, variables):
    """As kubelet expands a command: $(NAME) where NAME is defined, $$ as $."""
    out, at = "", 0
    while at < len(word):
        two = word[at:at + 2]
        end = word.find(")", at)
        if two == "$$":
            out, at = out + "$", at + 2
        elif two == "$(" and end > 0 and word[at + 2:end] in variables:
            out, at = out + variables[word[at + 2:end]], end + 1
        else:
            out, at = out + word[at], at + 1
    return out


def field_of(pod, path):
    """What a pod tells of itself: spec.nodeName, metadata.labels['KEY']."""
    where, _, key = path.partition("['")
    value = pod
    for name in where.split("."):
        value = value[name]
    return value[key.removesuffix("']")] if key else value


def code_of(pod):
    """That of its container; None: it has none, as where a node is gone."""
    for one in pod["status"].get("containerStatuses", []):
        if "terminated" in one["state"]:
            return one["state"]["terminated"]["exitCode"]
    return None


class Container:
    """One run of a pod's container: waiting → running → terminated."""

    def __init__(self, argv, env, output):
        self.output = output
        self.began = None
        self.mark = env[support.MARK]
        with open(output, "wb") as file:
            self.process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=file,
                                            stderr=subprocess.STDOUT, start_new_session=True, env=env, cwd="/")

    def kill(self):
        """Its first process and all others, as the end of a process namespace does."""
        wanted = f"{support.MARK}={self.mark}".encode()
        self.process.kill()
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        os.kill(int(entry.name), signal.SIGKILL)
                except OSError:
                    pass


class Kubelet:
    """Looked at by the one thread of operators.py, under the lock of the objects."""

    def __init__(self, case, objects, image_path, hosts):
        self.case, self.objects, self.hosts = case, objects, hosts
        self.image_path = image_path        # PATH within every image
        self.images = None                  # those that can be pulled; None: any
        self.pull_s = lambda name: 0        # how long a pod waits for its image
        self.running = {}                   # uid → Container
        self.logs = {}                      # uid → output of the last container
        self.ends = {}                      # uid → when SIGKILL comes
        self.since = {}                     # uid → when the pod was first seen, or its container ended

    def node_of(self, pod):
        return int(pod["spec"]["nodeName"].removeprefix("n"))

    def set(self, pod, **status):
        self.objects.update("pods", pod, **status)

    def set_container(self, pod, state, restarts=None, ready=False):
        before = (pod["status"].get("containerStatuses") or [{"restartCount": 0}])[0]
        self.set(pod, containerStatuses=[{
            "name": pod["spec"]["containers"][0]["name"], "image": pod["spec"]["containers"][0]["image"],
            "restartCount": before["restartCount"] if restarts is None else restarts, "ready": ready,
            "lastState": before["state"] if "terminated" in before.get("state", {}) else before.get("lastState", {}),
            "state": state}])

    def wait_for(self, pod, reason, message=""):
        self.set_container(pod, {"waiting": {"reason": reason, "message": message}})

    def step(self, pod):
        uid = pod["metadata"]["uid"]
        self.since.setdefault(uid, time.monotonic())
        if uid in self.running:
            self.watch(pod, self.running[uid])
        elif pod["status"]["phase"] in ("Succeeded", "Failed"):
            pass
        elif "deletionTimestamp" in pod["metadata"]:
            self.finish(pod, "Failed")
        elif "nodeName" not in pod["spec"]:
            self.schedule(pod)
        else:
            self.pull_and_start(pod)
        if "deletionTimestamp" in pod["metadata"] and uid not in self.running:
            self.objects.remove("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])

    def schedule(self, pod):
        limits = pod["spec"]["containers"][0].get("resources", {}).get("limits", {})
        lacking = [name for name in limits if "/" in name]
        if lacking:
            self.objects.set_condition("pods", pod, "PodScheduled", "Unschedulable",
                                       f"0/{self.hosts} nodes are available: {self.hosts} Insufficient {lacking[0]}.",
                                       status="False")
            return
        used = [self.node_of(one) for one in self.objects.list("pods")
                if "nodeName" in one["spec"] and one["status"]["phase"] in ("Pending", "Running")]
        pod["spec"]["nodeName"] = f"n{min(range(self.hosts), key=used.count)}"
        self.objects.set_condition("pods", pod, "PodScheduled", "", "")
        self.wait_for(pod, "ContainerCreating")

    def pull_and_start(self, pod):
        waited = time.monotonic() - self.since[pod["metadata"]["uid"]]
        image = pod["spec"]["containers"][0]["image"]
        if self.images is not None and image not in self.images:
            if waited > PULL_BACKOFF_S:
                self.wait_for(pod, "ImagePullBackOff", f'Back-off pulling image "{image}"')
            else:
                self.wait_for(pod, "ErrImagePull", f"rpc error: code = NotFound desc = failed to pull image {image}")
        elif missing := self.missing_secret(pod):
            self.wait_for(pod, "CreateContainerConfigError", f'secret "{missing}" not found')
        elif waited >= self.pull_s(pod["metadata"]["name"]) and not self.is_between_restarts(pod, waited):
            self.start(pod)

    def missing_secret(self, pod):
        """The name of a Secret that a variable refers to and that is not there."""
        for one in pod["spec"]["containers"][0].get("env", []):
            key = one.get("valueFrom", {}).get("secretKeyRef")
            if key and not self.objects.find("secrets", pod["metadata"]["namespace"], key["name"]):
                return key["name"]
        return None

    def value_of(self, pod, variable):
        if "valueFrom" not in variable:
            return variable["value"]
        key = variable["valueFrom"].get("secretKeyRef")
        if key:
            data = self.objects.find("secrets", pod["metadata"]["namespace"], key["name"])["data"]
            return base64.b64decode(data[key["key"]]).decode().replace("$", "$$")  # it is not expanded
        return field_of(pod, variable["valueFrom"]["fieldRef"]["fieldPath"])

    def is_between_restarts(self, pod, waited):
        state = pod["status"]["containerStatuses"][0]["state"]
        return state.get("waiting", {}).get("reason") == "CrashLoopBackOff" and waited < RESTART_S

    def start(self, pod):
        container = pod["spec"]["containers"][0]
        host = pods.Pod(pod["spec"].get("hostname", pod["metadata"]["name"]), {}, pod["spec"].get("subdomain", ""))
        uid = pod["metadata"]["uid"]
        status = pod["status"]["containerStatuses"][0]
        restarts = status["restartCount"] + ("waiting" in status["state"]
                                             and status["state"]["waiting"]["reason"] == "CrashLoopBackOff")
        variables = {**pods.SERVICE, "HOSTNAME": host.name}
        for one in container.get("env", []):
            variables[one["name"]] = expanded(self.value_of(pod, one), variables)
        command = [expanded(word, variables) for word in container["command"] + container.get("args", [])]
        now = {"PATH": self.image_path, "HOME": "/root", "OMP_NUM_THREADS": "1", **variables,
               support.MARK: f"{uid}.{restarts}"}
        if not shutil.which(command[0], path=now["PATH"]):
            self.since[uid] = time.monotonic()
            self.set_container(pod, {"terminated": {
                "exitCode": NO_EXECUTABLE, "reason": "StartError", "startedAt": self.objects.now(),
                "finishedAt": self.objects.now(), "message": f"failed to create containerd task: exec: "
                f'"{command[0]}": executable file not found in $PATH: unknown'}}, restarts)
            self.set(pod, phase="Failed")
            return
        output = self.case.place / f"{uid}.{restarts}.log"
        node = self.node_of(pod)
        argv = self.case.cluster.on(f"n{node}", *self.case.pod_words(host, node), "env", "-i",
                                    "-C", container.get("workingDir", "/"),
                                    *(f"{name}={value}" for name, value in now.items()), *command)
        self.running[uid] = Container(argv, {**os.environ, support.MARK: now[support.MARK]}, output)
        self.logs[uid] = output
        self.set_container(pod, {"running": {"startedAt": self.objects.now()}}, restarts, ready=True)
        self.set(pod, phase="Running", startTime=pod["status"].get("startTime", self.objects.now()),
                 podIP=f"10.77.0.{node + 1}")

    def watch(self, pod, container):
        uid = pod["metadata"]["uid"]
        if time.monotonic() > self.ends.get(uid, float("inf")):
            container.kill()
        code = container.process.poll()
        if code is None:
            return
        container.kill()  # what it has left
        del self.running[uid]
        code = 128 - code if code < 0 else code
        began = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        end = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": began,
               "finishedAt": self.objects.now()}
        policy = pod["spec"].get("restartPolicy", "Always")
        comes_again = (policy == "Always" or (policy == "OnFailure" and code)) and (
            "deletionTimestamp" not in pod["metadata"] and uid not in self.ends)
        self.set_container(pod, {"terminated": end})
        if comes_again:
            self.since[uid] = time.monotonic()
            self.wait_for(pod, "CrashLoopBackOff", "back-off 10s restarting failed container")
        elif pod["status"].get("reason") != "Evicted":
            self.finish(pod, "Failed" if code else "Succeeded")

    def finish(self, pod, phase):
        self.set(pod, phase=phase)

    def end(self, pod):
        """SIGTERM, and SIGKILL after the grace period."""
        uid = pod["metadata"]["uid"]
        if uid in self.running and uid not in self.ends:
            self.running[uid].process.terminate()
            self.ends[uid] = time.monotonic() + GRACE_S

    def delete(self, pod):
        if "deletionTimestamp" not in pod["metadata"]:
            pod["metadata"]["deletionTimestamp"] = self.objects.now()
            self.objects.touch("pods", pod)
        self.end(pod)

    def evict(self, pod):
        self.set(pod, phase="Failed", reason="Evicted", message="The node was low on resource: memory.")
        self.objects.set_condition("pods", pod, "DisruptionTarget", "TerminationByKubelet",
                                   "The node was low on resource: memory.")
        self.end(pod)

    def kill(self, pod):
        """As the kernel where memory is short."""
        self.running[pod["metadata"]["uid"]].kill()

    def log_of(self, pod):
        uid = pod["metadata"]["uid"]
        if uid in self.logs:
            return self.logs[uid], uid in self.running
        if "nodeName" not in pod["spec"] or code_of(pod) is not None:
            return os.devnull, False
        waiting = pod["status"].get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
        why = "trying and failing to pull image" if "Pull" in waiting.get("reason", "") else "ContainerCreating"
        raise Refusal(400, "BadRequest", f'container "{pod["spec"]["containers"][0]["name"]}" in pod '
                                         f'"{pod["metadata"]["name"]}" is waiting to start: {why}')

    def close(self):
        for container in list(self.running.values()):
            container.kill()
            container.process.wait()
