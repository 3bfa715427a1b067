"""Run:AI's command line in the tests: runai_stand_in.py v1|v2|v3 FOLDER WORD...

Takes the words that the documents of that version have (run-ai/docs, docs/Researcher/cli-reference: v1
runai-submit-dist-pytorch.md, runai-logs.md, runai-exec.md …; v2 new-cli/runai_training_pytorch_*.md of 2.18 and
2.19; v3, which toprun calls v2 too, docs.nvidia.com/run-ai, reference/cli of 3.0) and
refuses all others, as the real programs do. FOLDER is the cluster: runai_cluster.py runs the pods of what
is submitted there and writes what became of them.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

STRING, SWITCH = True, False
GLOBAL = {"v1": {"--project": STRING, "--loglevel": STRING},
          "v2": {"--project": STRING, "--config-file": STRING, "--config-path": STRING, "--debug": SWITCH,
                 "--quiet": SWITCH, "--verbose": SWITCH}}
LETTERS = {"-p": "--project", "-e": "--environment", "-i": "--image", "-g": "--gpus", "-A": "--all", "-f": "--follow",
           "-o": "--output"}

SUBMIT = {
    "v1": {"--name": STRING, "--job-name-prefix": STRING, "--template": STRING, "--add-capability": STRING,
           "--annotation": STRING, "--attach": SWITCH, "--command": SWITCH, "--create-home-dir": SWITCH,
           "--environment": STRING, "--image": STRING, "--image-pull-policy": STRING, "--label": STRING,
           "--preferred-pod-topology-key": STRING, "--required-pod-topology-key": STRING, "--stdin": SWITCH,
           "--tty": SWITCH, "--working-dir": STRING, "--cpu": STRING, "--cpu-limit": STRING,
           "--extended-resource": STRING, "--gpu": STRING, "--gpus": STRING, "--gpu-memory": STRING, "--memory": STRING,
           "--memory-limit": STRING, "--mig-profile": STRING, "--backoff-limit": STRING, "--git-sync": STRING,
           "--large-shm": SWITCH, "--mount-propagation": SWITCH, "--nfs-server": STRING, "--pvc": STRING,
           "--pvc-exists": STRING, "--pvc-new": STRING, "--s3": STRING, "--volume": STRING, "--address": STRING,
           "--host-ipc": SWITCH, "--host-network": SWITCH, "--port": STRING, "--service-type": STRING,
           "--allow-privilege-escalation": SWITCH, "--run-as-user": SWITCH, "--node-pools": STRING,
           "--node-type": STRING, "--toleration": STRING, "--clean-pod-policy": STRING, "--max-replicas": STRING,
           "--min-replicas": STRING, "--workers": STRING},
    "v2": {"--allow-privilege-escalation": SWITCH, "--annotation": STRING, "--attach": SWITCH,
           "--auto-deletion-time-after-completion": STRING, "--backoff-limit": STRING, "--capability": STRING,
           "--command": SWITCH, "--configmap-map-volume": STRING, "--cpu-core-limit": STRING,
           "--cpu-core-request": STRING, "--cpu-memory-limit": STRING, "--cpu-memory-request": STRING,
           "--create-home-dir": SWITCH, "--environment": STRING, "--existing-pvc": STRING,
           "--extended-resource": STRING, "--external-url": STRING, "--git-sync": STRING,
           "--gpu-devices-request": STRING, "--gpus": STRING, "--gpu-memory-limit": STRING,
           "--gpu-memory-request": STRING, "--gpu-portion-limit": STRING, "--gpu-portion-request": STRING,
           "--gpu-request-type": STRING, "--host-ipc": SWITCH, "--host-network": SWITCH, "--host-path": STRING,
           "--image": STRING, "--image-pull-policy": STRING, "--label": STRING, "--large-shm": SWITCH,
           "--master-args": STRING, "--master-environment": STRING, "--master-extended-resource": STRING,
           "--master-gpu-devices-request": STRING, "--master-gpu-portion-limit": STRING,
           "--master-gpu-portion-request": STRING, "--master-no-pvcs": SWITCH, "--max-replicas": STRING,
           "--mig-profile": STRING, "--min-replicas": STRING, "--name-prefix": STRING, "--new-pvc": STRING,
           "--nfs": STRING, "--no-master": SWITCH, "--node-pools": STRING, "--node-type": STRING,
           "--pod-running-timeout": STRING, "--port": STRING, "--preferred-pod-topology-key": STRING,
           "--required-pod-topology-key": STRING, "--run-as-gid": STRING, "--run-as-uid": STRING,
           "--run-as-user": SWITCH, "--s3": STRING, "--seccomp-profile": STRING, "--stdin": SWITCH,
           "--supplemental-groups": STRING, "--toleration": STRING, "--tty": SWITCH, "--user-group-source": STRING,
           "--wait-for-submit": STRING, "--workers": STRING, "--working-dir": STRING}}
# 3.0 has these besides; --environment is an asset there, and -e the variable.
SUBMIT["v3"] = {**SUBMIT["v2"], **dict.fromkeys((
    "--clean-pod-policy", "--restart-policy", "--master-restart-policy", "--master-cpu-core-request",
    "--master-cpu-core-limit", "--master-cpu-memory-request", "--master-cpu-memory-limit", "--env-secret",
    "--env-pod-field-ref", "--environment-variable", "--master-environment-variable", "--priority", "--template",
    "--secret-volume", "--exclude-node"), STRING), "--run-as-non-root": SWITCH, "--privileged": SWITCH}
POSITIVE = ("--gpu-devices-request", "--master-gpu-devices-request", "--cpu-core-request", "--master-cpu-core-request")
LOGS = {"v1": {"--follow": SWITCH, "--pod": STRING, "--since": STRING, "--since-time": STRING, "--tail": STRING,
               "--timestamps": SWITCH},
        "v2": {"--container": STRING, "--follow": SWITCH, "--limit-bytes": STRING, "--name": STRING, "--pod": STRING,
               "--previous": SWITCH, "--since": STRING, "--since-time": STRING, "--tail": STRING,
               "--timestamps": SWITCH, "--wait-timeout": STRING}}
EXEC = {"v1": {"--pod": STRING, "--stdin": SWITCH, "--tty": SWITCH},
        "v2": {"--container": STRING, "--pod": STRING, "--pod-running-timeout": STRING, "--stdin": SWITCH,
               "--tty": SWITCH, "--wait-timeout": STRING}}
LIST = {"v1": {"--all": SWITCH, "--all-projects": SWITCH},
        "v2": {"--all": SWITCH, "--json": SWITCH, "--limit": STRING, "--no-headers": SWITCH, "--offset": STRING,
               "--status": STRING, "--table": SWITCH, "--yaml": SWITCH}}
DESCRIBE = {"v1": {"--output": STRING},
            "v2": {"--compute": SWITCH, "--containers": SWITCH, "--event-limit": STRING, "--events": SWITCH,
                   "--general": SWITCH, "--networks": SWITCH, "--output": STRING, "--pod-limit": STRING,
                   "--pods": SWITCH, "--sortEvents": STRING}}
DELETE = {"v1": {}, "v2": {"--uuid": STRING}}
NODES = {"v1": {}, "v2": {"--json": SWITCH, "--table": SWITCH, "--yaml": SWITCH}}
PROJECTS = {"v1": {"--include-deleted": SWITCH}, "v2": {"--json": SWITCH, "--table": SWITCH, "--yaml": SWITCH}}
# name, status, pool, GPUs, free
MACHINES = [("n0", "ready", "h100", 8, 3), ("n1", "ready", "h100", 8, 8), ("n2", "notReady", "h100", 8, 8),
            ("n3", "ready", "default", 0, 0)]


def fail(text):
    sys.exit("Error: " + text)


class Line:
    """Words behind a command: options, other words, and what follows `--`."""

    def __init__(self, version, known, words):
        known = {**known, **GLOBAL[version], "--help": SWITCH}
        self.known = known
        self.options, self.words, self.rest = {}, [], None
        while words:
            word = words.pop(0)
            if word == "--":
                self.rest = words
                return
            if not word.startswith("-"):
                self.words.append(word)
                continue
            name, equals, value = word.partition("=")
            name = LETTERS.get(name, name)
            if name not in known:
                fail(f"unknown flag: {word}")
            if known[name] is STRING and not equals:
                if not words:
                    fail(f"flag needs an argument: {word}")
                value = words.pop(0)
            self.options.setdefault(name, []).append(value)

    def one(self, name, default=None):
        return self.options.get(name, [default])[-1]


class Runai:
    def __init__(self, version, cluster, release):
        self.version = version
        self.release = release
        self.cluster = cluster

    def help(self, line):
        print("submit a pytorch training workload\n\nOptions:")
        for name, kind in sorted(line.known.items()):
            print(f"      {name} string" if kind is STRING else f"      {name}")

    def check(self, line):
        """What 3.0 refuses; a master with options of its own has nothing of its workers'."""
        for name in POSITIVE:
            if line.one(name, "1") in ("0", "") or line.one(name, "1").startswith("-"):
                fail(f'invalid argument "{line.one(name)}" for "{name}" flag: must be a positive number')
        of_master = [name for name in line.options if name.startswith("--master-") and name != "--master-restart-policy"]
        if of_master and line.one("--gpu-devices-request") and not line.one("--master-gpu-devices-request"):
            fail("the master of this job would get no GPUs")
        for name in ("--restart-policy", "--master-restart-policy"):
            if line.one(name, "Never") not in ("Always", "OnFailure", "Never"):
                fail(f"invalid {name}")

    def submit(self, line):
        if "--help" in line.options:
            self.help(line)
            return
        if self.release == "v3":
            self.check(line)
        if not line.one("--image"):
            fail("image is required")
        name = line.one("--name") if self.version == "v1" else (line.words or [None])[0]
        if not name:
            fail("a name is required")
        if line.one("--project", "mlo") == "forbidden":
            fail("project forbidden does not exist, or you have no permissions")
        command = line.rest or []
        if self.version == "v1":
            command = " ".join(command).split()  # it passes one text on, whose quotes a shell would read
        workers = int(line.one("--workers", 0))
        pods = workers + ("--no-master" not in line.options)
        job = self.cluster / name
        try:
            job.mkdir()
        except FileExistsError:
            fail(f"job {name} already exists, either delete it first or use a different name")
        request = {"pods": pods, "command": command, "variables": line.options.get("--environment", []),
                   "image": line.one("--image"), "created": time.strftime("%Y-%m-%dT%H:%M:%S.123Z", time.gmtime()),
                   "options": line.options}
        (job / "new").write_text(json.dumps(request))
        (job / "new").rename(job / "request.json")
        print(f"The job '{name}' has been submitted successfully")

    def job(self, line):
        if not line.words:
            fail("a name is required")
        job = self.cluster / line.words[0]
        if not (job / "request.json").exists():
            fail(f"The job: '{line.words[0]}' is not found")
        return job

    def state(self, job):
        """What runai_cluster.py has written: {"phase", "why", "pods": [{"name", "node", "pid", "log"}]}."""
        path = job / "state.json"
        return json.loads(path.read_text()) if path.exists() else {"phase": "Pending", "why": "", "pods": []}

    def pod(self, line):
        pods = self.state(self.job(line))["pods"]
        wanted = line.one("--pod")
        for pod in pods:
            if wanted in (None, pod["name"]):
                return pod
        fail(f"Failed to find pod: '{wanted}' of job: '{line.words[0]}'")

    def list(self, line):
        jobs = [(job, self.state(job)) for job in sorted(self.cluster.iterdir()) if (job / "request.json").exists()]
        if self.version == "v2":
            print(json.dumps({"next": 0, "workloads": [
                {"name": job.name, "phase": state["phase"], "projectName": "mlo", "type": "Distributed"}
                for job, state in jobs]}))
            return
        rows = [("NAME", "STATUS", "AGE", "NODE", "IMAGE", "TYPE", "PROJECT", "USER", "GPUs Allocated (Requested)")]
        rows += [(job.name, self.word(state), "1m", "", "image", "Pytorch", "mlo", "ada", "0 (0)") for job, state in jobs]
        widths = [max(map(len, cells)) + 2 for cells in zip(*rows)]
        print("Showing jobs for project mlo")
        for row in rows:
            print("".join(cell.ljust(width) for cell, width in zip(row, widths)))

    def word(self, state):
        """v1 has kubelet's words, and its own in capitals."""
        why = state["why"].split(":")[0]
        return why if "Image" in why else {"Completed": "SUCCEEDED"}.get(state["phase"], state["phase"].upper())

    def describe(self, line):
        job = self.job(line)
        state, request = self.state(job), json.loads((job / "request.json").read_text())
        if line.one("--output") is None and self.version == "v1":
            print(f"NAME: {job.name}\nSTATUS: {self.word(state)}\n\nEvents: \nSOURCE  TYPE  AGE  MESSAGE")
            if state["why"]:
                reason, _, message = state["why"].partition(": ")
                print(f"pod/{job.name}-master-0  Warning  5s  [{reason}] {message}")
            return
        if line.one("--output") != "json":
            fail("this stand-in describes in JSON alone")
        if self.version == "v1":
            print(json.dumps({"name": job.name, "namespace": "runai-mlo", "duration": "1m", "status": self.word(state),
                              "trainer": "Pytorch", "priority": "N/A", "instances": [
                                  {"name": pod["name"], "status": "RUNNING", "age": "1m", "node": pod["node"],
                                   "chief": i == 0} for i, pod in enumerate(state["pods"])]}))
            return
        print(json.dumps({
            "general": {"name": job.name, "phase": state["phase"], "phaseMessage": state["why"],
                        "createdAt": request["created"], "projectName": "mlo"},
            "podsInfo": {"pods": [{"name": pod["name"], "nodeName": pod["node"]} for pod in state["pods"]]}}))

    def nodes(self, line):
        if self.version == "v2":
            print(json.dumps({"nodes": [
                {"name": name, "status": status[0].upper() + status[1:], "nodePool": pool, "clusterUuid": "c1",
                 **({"gpuInfo": {"gpuType": "NVIDIA-H100", "gpuCount": gpus}} if gpus else {})}
                for name, status, pool, gpus, _ in MACHINES]}))
            return
        print(f'{"":39}│ {"CPU":24}│ {"MEMORY":26}│ GPU')
        form = "{:6}{:10}{:12}{:11}│ {:13}{:11}│ {:13}{:13}│ {:13}{}"
        titles = ["NAME", "STATUS", "IP Address", "ROLE", *["ALLOCATABLE", "ALLOCATED"] * 2, "ALLOCATABLE", "FREE"]
        print(form.format(*titles))
        print(form.format(*("─" * len(title) for title in titles)))
        for name, status, _, gpus, free in MACHINES:
            print(form.format(name, status, "10.0.0.1", "<none>", "64", "3.5", "251.50 GiB", "12.00 GiB",
                              str(gpus or "<none>"), free if gpus else "<none>"))

    def projects(self, line):
        if self.version == "v2":
            print(json.dumps({"projects": [{"name": "mlo", "resources": [
                {"nodePool": {"name": "h100"}, "gpu": {"deserved": 12, "limit": None}}]}, {"name": "vision"}]}))
            return
        print("PROJECT        DEPARTMENT  DESERVED GPUs  INT LIMIT  INT AFFINITY  TRAIN AFFINITY\n"
              "mlo (default)  ic          12             -                        \n"
              "vision         -           -              -                        ")

    def delete(self, line):
        (self.job(line) / "delete").touch()
        print(f"The job '{line.words[0]}' has been deleted successfully")

    def logs(self, line):
        job, log = self.job(line), pathlib.Path(self.pod(line)["log"])
        with open(log, "rb") as file:
            while True:
                ended = self.state(job)["phase"] in ("Completed", "Failed") or not job.exists()
                while part := file.read(65536):
                    sys.stdout.buffer.write(part)
                sys.stdout.buffer.flush()
                if ended or "--follow" not in line.options:
                    return
                time.sleep(0.1)

    def exec(self, line):
        words = line.rest if line.rest is not None else line.words[1:]
        pod = self.pod(line)
        environment = dict(entry.split(b"=", 1) for entry in
                           pathlib.Path(f"/proc/{pod['pid']}/environ").read_bytes().split(b"\0") if entry)
        stdin = None if "--stdin" in line.options else subprocess.DEVNULL
        code = subprocess.run(["nsenter", "--target", str(pod["pid"]), "--mount", "--uts", "--net", "--wd=/", "--",
                               *words], stdin=stdin, env=environment).returncode
        if code != 0:
            print(f"command terminated with exit code {code % 256}", file=sys.stderr)
            sys.exit(1 if self.version == "v1" else code % 256)


def main():
    release, cluster, *words = sys.argv[1:]
    version = "v2" if release == "v3" else release
    trouble = os.environ.get("RUNAI_TROUBLE")
    if trouble == "hangs":
        time.sleep(60)
    if trouble == "logged out" and words != ["version"]:
        fail("your session has expired, please run 'runai login'")
    if trouble == "no rights" and ("nodes" in words or "node" in words):
        fail("forbidden: you have no permissions to list nodes")
    if trouble == "nonsense" and words != ["version"]:
        print("<html>502 Bad Gateway</html>")
        return
    if words == ["version"]:
        print("Version: 2.13.6\nBuildDate: 2023-08-01T12:00:00Z\nGitCommit: 0a1b2c3" if version == "v1" else "2.20.31")
        return
    commands = {"v1": {("submit-dist", "pytorch"): ("submit", SUBMIT), ("list", "jobs"): ("list", LIST),
                       ("list", "nodes"): ("nodes", NODES), ("list", "projects"): ("projects", PROJECTS),
                       ("describe", "job"): ("describe", DESCRIBE), ("delete", "job"): ("delete", DELETE),
                       ("logs",): ("logs", LOGS), ("exec",): ("exec", EXEC)},
                "v2": {("node", "list"): ("nodes", NODES), ("project", "list"): ("projects", PROJECTS)} | {
                    ("training", "pytorch", verb): (verb, known) for verb, known in [
                    ("submit", SUBMIT), ("list", LIST), ("describe", DESCRIBE), ("delete", DELETE), ("logs", LOGS),
                    ("exec", EXEC)]}}[version]
    for prefix, (verb, known) in commands.items():
        if tuple(words[:len(prefix)]) == prefix:
            of_release = known.get(release, known[version])
            getattr(Runai(version, pathlib.Path(cluster), release), verb)(Line(version, of_release, words[len(prefix):]))
            return
    fail(f'unknown command "{shlex.join(words[:3])}" for "runai"')


if __name__ == "__main__":
    main()
