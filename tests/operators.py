"""What operators do with their objects: pods with their variables, names and labels, and the job's status.

    training-operator v1.9   pkg/controller.v1/common/{job,pod}.go, pytorch/pytorchjob_controller.go
    trainer v2.0             pkg/runtime/framework/plugins/{torch,jobset}, runtime torch-distributed
    JobSet v0.8              pkg/controllers/{jobset_controller,failure_policy}.go, and Kubernetes' own
                             Job controller (pkg/controller/job/{job_controller,pod_failure_policy}.go)
"""

import calendar
import copy
import threading
import time

import pod_security
import pods
from api_objects import holds, random_letters
from api_server import ApiServer
from kubelet import Kubelet, code_of

FINAL = ("Succeeded", "Complete", "Completed", "Failed")
TICK_S = 0.03
RUNTIMES_BACKOFF_LIMIT = 6  # a Job's default, which runtime torch-distributed leaves as it is
INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def owner(kind, item):
    return {"kind": kind, "name": item["metadata"]["name"], "uid": item["metadata"]["uid"], "controller": True}


def warn(objects, job, kind, message):
    """An event about the job, once (client-go, tools/record)."""
    name, space = f"{job['metadata']['name']}.{kind.lower()}", job["metadata"]["namespace"]
    if not objects.find("events", space, name):
        objects.create("events", space, {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "type": "Warning",
            "reason": "FailedCreatePod", "message": message, "lastTimestamp": objects.now(),
            "involvedObject": {"kind": kind, "name": job["metadata"]["name"], "namespace": space}})


def make_pod(objects, job, kind, template, name, labels, env, policy, **spec):
    """A pod of the template's; `env` goes behind the container's own variables."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": copy.deepcopy(template.get("metadata", {})),
           "spec": {**copy.deepcopy(template["spec"]), "restartPolicy": policy, **spec}, "status": {"phase": "Pending"}}
    pod["metadata"].update(name=name, ownerReferences=[owner(kind, job)])
    pod["metadata"].setdefault("labels", {}).update(labels)
    variables = pod["spec"]["containers"][0].setdefault("env", [])
    variables.extend({"name": key, "value": str(value)} for key, value in env.items())
    for one in variables:
        if one.get("valueFrom") == INDEX:
            del one["valueFrom"]
            one["value"] = labels["batch.kubernetes.io/job-completion-index"]
    refused = objects.no_pods or pod_security.refusal(objects, job["metadata"]["namespace"], pod)
    if refused:
        warn(objects, job, kind, f"Error creating: {refused}")
        return
    objects.create("pods", job["metadata"]["namespace"], pod)


def is_in(phase, some):
    return [pod for pod in some if pod["status"]["phase"] == phase and "deletionTimestamp" not in pod["metadata"]]


def seconds_since(objects, moment):
    def seconds(text):
        return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
    return seconds(objects.now()) - seconds(moment)


def restarts_of(some):
    return sum(one["restartCount"] for pod in some for one in pod["status"].get("containerStatuses", []))


class PyTorchJobs:
    plural, kind = "pytorchjobs", "PyTorchJob"

    def __init__(self, objects, kubelet):
        self.objects, self.kubelet = objects, kubelet

    def step(self, job):
        name = job["metadata"]["name"]
        if holds(job, *FINAL):
            return
        if "status" not in job:
            self.objects.set_condition(self.plural, job, "Created", "PyTorchJobCreated",
                                       f"PyTorchJob {name} is created.")
            self.objects.update(self.plural, job, startTime=self.objects.now(), replicaStatuses={})
        some = self.objects.list("pods", job["metadata"]["namespace"], owner=job)
        policy = job["spec"].get("runPolicy", {})
        if policy.get("suspend"):
            self.suspend(job, some)
            return
        if holds(job, "Suspended"):
            self.objects.set_condition(self.plural, job, "Suspended", "PyTorchJobResumed",
                                       f"PyTorchJob {name} is resumed.", status="False")
            self.objects.update(self.plural, job, startTime=self.objects.now())
        if exceeded := self.exceeded(job, some, policy):
            # The condition is not set yet, so cleanPodPolicy is not looked at: all pods go.
            for pod in some:
                self.kubelet.delete(pod)
            self.end(job, "Failed", "PyTorchJobFailed", f"Job {name} has failed because it {exceeded}")
            return
        for role, spec in job["spec"]["pytorchReplicaSpecs"].items():
            self.reconcile(job, role, spec, some)
        self.set_status(job)

    def suspend(self, job, some):
        for pod in some:
            self.kubelet.delete(pod)
        self.objects.set_condition(self.plural, job, "Suspended", "PyTorchJobSuspended",
                                   f"PyTorchJob {job['metadata']['name']} is suspended.", off=("Running",))
        self.objects.update(self.plural, job, startTime=None)

    def exceeded(self, job, some, policy):
        limit = policy.get("backoffLimit")
        replicas = sum(spec["replicas"] for spec in job["spec"]["pytorchReplicaSpecs"].values())
        failed, active = is_in("Failed", some), is_in("Pending", some) + is_in("Running", some)
        known = sum(one["failed"] for one in job["status"]["replicaStatuses"].values())
        if limit is not None:
            counted = restarts_of(is_in("Running", some))
            if (len(failed) > known and len(active) != replicas and limit < 1) or counted >= max(limit, 1):
                return "has reached the specified backoff limit"
        deadline = policy.get("activeDeadlineSeconds")
        if deadline and seconds_since(self.objects, job["status"]["startTime"]) >= deadline:
            return "was active longer than specified deadline"
        return None

    def labels(self, job, role, i):
        labels = {"training.kubeflow.org/operator-name": "pytorchjob-controller",
                  "training.kubeflow.org/job-name": job["metadata"]["name"],
                  "training.kubeflow.org/replica-type": role.lower(), "training.kubeflow.org/replica-index": str(i)}
        return {**labels, "training.kubeflow.org/job-role": "master"} if role == "Master" else labels

    def reconcile(self, job, role, spec, some):
        counts = {"active": 0, "succeeded": 0, "failed": 0}
        for i in range(spec["replicas"]):
            labels = self.labels(job, role, i)
            mine = [pod for pod in some if labels.items() <= pod["metadata"]["labels"].items()]
            if not mine:
                self.make(job, role, spec, i, labels)
                continue
            pod = mine[0]
            counts["active"] += pod["status"]["phase"] == "Running"
            counts["succeeded"] += pod["status"]["phase"] == "Succeeded"
            counts["failed"] += pod["status"]["phase"] == "Failed"
            if pod["status"]["phase"] == "Failed":
                self.take_back(job, spec, pod)
        self.objects.update(self.plural, job, replicaStatuses={**job["status"]["replicaStatuses"], role: counts})

    def take_back(self, job, spec, pod):
        """A failed pod is deleted, and made again, or fails the job at once."""
        policy, code = spec.get("restartPolicy", "OnFailure"), code_of(pod)
        name = job["metadata"]["name"]
        if policy in ("OnFailure", "Always") or (policy == "ExitCode" and (code is None or code >= 128)):
            self.kubelet.delete(pod)
            self.objects.set_condition(self.plural, job, "Restarting", "PyTorchJobRestarting",
                                       f"job {name} is restarting because replica(s) failed.", off=("Running",))
        elif policy == "ExitCode":
            self.end(job, "Failed", "PyTorchJobFailed", f'job "{name}" is failing because replica(s) failed.')

    def make(self, job, role, spec, i, labels):
        name, elastic = job["metadata"]["name"], job["spec"].get("elasticPolicy")
        replicas = job["spec"]["pytorchReplicaSpecs"]
        if elastic:
            pod = pods.pytorchjob_elastic(elastic["maxReplicas"], i, name, elastic["minReplicas"],
                                          elastic["maxRestarts"])
        else:
            total = sum(one["replicas"] for one in replicas.values())
            pod = pods.pytorchjob_1_7(total, i if role == "Master" else i + 1, name,
                                      job["spec"].get("nprocPerNode", "auto"))
        policy = spec.get("restartPolicy", "OnFailure")
        template = copy.deepcopy(spec["template"])
        if role == "Worker" and "Master" in replicas:  # initcontainer.go; the kubelet here runs none
            template["spec"].setdefault("initContainers", []).append({"name": "init-pytorch", "image": "alpine:3.10"})
        make_pod(self.objects, job, self.kind, template, pod.name, labels, pod.env,
                 "Never" if policy == "ExitCode" else policy)

    def set_status(self, job):
        name = job["metadata"]["name"]
        replicas = job["spec"]["pytorchReplicaSpecs"]
        first = "Master" if "Master" in replicas else "Worker"
        for role in sorted(replicas):  # Master comes first
            counts, wanted = job["status"]["replicaStatuses"][role], replicas[role]["replicas"]
            if holds(job, *FINAL):
                return
            any_counts = role == "Worker" and "elasticPolicy" in job["spec"]
            if role == first and (counts["succeeded"] == wanted or (any_counts and counts["succeeded"])):
                self.end(job, "Succeeded", "PyTorchJobSucceeded", f"PyTorchJob {name} is successfully completed.")
                return
            if role == first and counts["active"] > 0:
                self.objects.set_condition(self.plural, job, "Running", "PyTorchJobRunning",
                                           f"PyTorchJob {name} is running.", off=("Restarting",))
            if counts["failed"] and wanted > counts["succeeded"] + counts["active"]:
                if replicas[role].get("restartPolicy", "OnFailure") == "Never":
                    self.end(job, "Failed", "PyTorchJobFailed", f"PyTorchJob {name} is failed because "
                                                                f"{counts['failed']} {role} replica(s) failed.")

    def end(self, job, type, reason, message):
        self.objects.update(self.plural, job, completionTime=self.objects.now())
        self.objects.set_condition(self.plural, job, type, reason, message, off=("Running", "Restarting"))


class IndexedJob:
    """A Job of batch/v1 with completionMode Indexed, which a JobSet has made."""

    def __init__(self, objects, kubelet, jobset, replicated, attempt):
        self.objects, self.kubelet, self.jobset = objects, kubelet, jobset
        self.replicated, self.spec, self.attempt = replicated, replicated["template"]["spec"], attempt
        self.name = f"{jobset['metadata']['name']}-{replicated['name']}-0"
        self.limit = self.spec.get("backoffLimit", RUNTIMES_BACKOFF_LIMIT)
        self.began = objects.now()
        self.counted = set()    # uids of failed pods that count
        self.seen = {}          # uid → pod, which may be gone by now
        self.failed = None      # (reason, message) once it is to end
        self.ended = None       # "Complete" or "Failed"

    def pods(self):
        return self.objects.list("pods", self.jobset["metadata"]["namespace"],
                                 f"jobset.sigs.k8s.io/restart-attempt={self.attempt}", self.jobset)

    def step(self):
        if self.ended:
            return
        some = self.pods()
        self.seen.update((pod["metadata"]["uid"], pod) for pod in some)
        if not self.failed:
            self.judge(some)
        active = is_in("Pending", some) + is_in("Running", some)
        if self.failed:
            for pod in active:
                self.kubelet.delete(pod)
            if not active and not any("deletionTimestamp" in pod["metadata"] for pod in some):
                self.ended = "Failed"
            return
        done = {self.index(pod) for pod in is_in("Succeeded", some)}
        if len(done) == self.spec["completions"]:
            self.ended = "Complete"
        for i in range(self.spec["completions"]):
            if i not in done and not any(self.index(pod) == i for pod in active):
                self.make(i)

    def index(self, pod):
        return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])

    def judge(self, some):
        for uid, pod in self.seen.items():
            if pod["status"]["phase"] != "Failed" or uid in self.counted:
                continue
            action = self.action(pod)
            if action == "FailJob":
                self.failed = ("PodFailurePolicy", f"Container {pod['spec']['containers'][0]['name']} for pod "
                                                   f"{pod['metadata']['name']} failed with exit code {code_of(pod)}")
            if action != "Ignore":
                self.counted.add(uid)
        running = is_in("Pending", some) + is_in("Running", some)
        restarts = restarts_of(running)
        if not self.failed and (len(self.counted) > self.limit or (restarts and restarts >= self.limit)):
            self.failed = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        deadline = self.spec.get("activeDeadlineSeconds")
        if deadline and seconds_since(self.objects, self.began) >= deadline:
            self.failed = ("DeadlineExceeded", "Job was active longer than specified deadline")

    def action(self, pod):
        """What the Job's podFailurePolicy makes of a failed pod: its first rule that fits."""
        for rule in self.spec.get("podFailurePolicy", {}).get("rules", []):
            if any(holds(pod, one["type"]) for one in rule.get("onPodConditions", [])):
                return rule["action"]
            codes = rule.get("onExitCodes")
            if codes and code_of(pod) is not None and (code_of(pod) in codes["values"]) == (codes["operator"] == "In"):
                return rule["action"]
        return "Count"

    def make(self, i):
        name = self.jobset["metadata"]["name"]
        template = self.spec["template"]
        labels = {"jobset.sigs.k8s.io/jobset-name": name,
                  "jobset.sigs.k8s.io/replicatedjob-name": self.replicated["name"],
                  "jobset.sigs.k8s.io/job-index": "0", "jobset.sigs.k8s.io/restart-attempt": str(self.attempt),
                  "batch.kubernetes.io/job-name": self.name, "batch.kubernetes.io/job-completion-index": str(i)}
        make_pod(self.objects, self.jobset, "JobSet", template, f"{self.name}-{i}-{random_letters()}", labels,
                 {"JOB_COMPLETION_INDEX": i}, template["spec"].get("restartPolicy", "OnFailure"),
                 hostname=f"{self.name}-{i}", subdomain=name)


class JobSets:
    plural, kind = "jobsets", "JobSet"

    def __init__(self, objects, kubelet):
        self.objects, self.kubelet = objects, kubelet
        self.jobs = {}  # uid of a JobSet → its Job

    def step(self, jobset):
        if holds(jobset, *FINAL):
            return
        uid, restarts = jobset["metadata"]["uid"], jobset.get("status", {}).get("restarts", 0)
        if jobset["spec"].get("suspend"):
            self.suspend(jobset)
            return
        if holds(jobset, "Suspended"):
            self.objects.set_condition(self.plural, jobset, "Suspended", "ResumeJobs", "jobset is resumed",
                                       status="False")
        if uid not in self.jobs:
            self.objects.update(self.plural, jobset, restarts=restarts)
            self.jobs[uid] = IndexedJob(self.objects, self.kubelet, jobset, jobset["spec"]["replicatedJobs"][0],
                                        restarts)
        job = self.jobs[uid]
        job.step()
        if job.ended == "Complete":
            self.objects.set_condition(self.plural, jobset, "Completed", "AllJobsCompleted",
                                       "jobset completed successfully")
        elif job.ended == "Failed":
            self.fail(jobset, job, restarts)

    def suspend(self, jobset):
        if job := self.jobs.pop(jobset["metadata"]["uid"], None):
            for pod in job.pods():
                self.kubelet.delete(pod)
        self.objects.set_condition(self.plural, jobset, "Suspended", "SuspendedJobs", "jobset is suspended")

    def fail(self, jobset, job, restarts):
        policy = jobset["spec"].get("failurePolicy")
        if policy is None:
            reason, words = "FailedJobs", "jobset failed due to one or more job failures"
        elif restarts >= policy.get("maxRestarts", 0):
            reason, words = "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts"
        else:
            for pod in job.pods():
                self.kubelet.delete(pod)
            del self.jobs[jobset["metadata"]["uid"]]
            self.objects.update(self.plural, jobset, restarts=restarts + 1)
            return
        self.objects.set_condition(self.plural, jobset, "Failed", reason, f"{words} (first failed job: {job.name})")


class TrainJobs:
    plural, kind = "trainjobs", "TrainJob"

    def __init__(self, objects, kubelet):
        self.objects = objects

    def step(self, job):
        if holds(job, *FINAL):
            return
        namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
        jobset, suspended = self.objects.find("jobsets", namespace, name), job["spec"].get("suspend", False)
        reason, words = ("Suspended", "suspended") if suspended else ("Resumed", "resumed")
        self.objects.set_condition(self.plural, job, "Suspended", reason, f"TrainJob is {words}", str(suspended))
        if jobset is None:
            self.objects.create("jobsets", namespace, self.jobset(job))
            return
        if jobset["spec"].get("suspend", False) != suspended:
            jobset["spec"]["suspend"] = suspended
            self.objects.touch("jobsets", jobset)
        deadline = job["spec"].get("activeDeadlineSeconds")
        if deadline and seconds_since(self.objects, job["metadata"]["creationTimestamp"]) >= deadline:
            self.objects.remove("jobsets", namespace, name)
            self.objects.set_condition(self.plural, job, "Failed", "DeadlineExceeded",
                                       "TrainJob exceeded its active deadline")
        for one in jobset.get("status", {}).get("conditions", []):
            if one["status"] == "True" and one["type"] in ("Completed", "Failed"):
                self.objects.set_condition(self.plural, job, {"Completed": "Complete"}.get(one["type"], one["type"]),
                                           one["reason"], one["message"])

    def changes(self, spec):
        """{metadata, spec} of the pods, by the field of the trainer's release: 2.2, 2.1 or 2.0."""
        for patch in spec.get("runtimePatches", []):
            for one in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
                yield one["template"]["spec"]["template"]
        yield from spec.get("podTemplateOverrides", [])
        for one in spec.get("podSpecOverrides", []):
            yield {"spec": {key: value for key, value in one.items() if key != "targetJobs"}}

    def jobset(self, job):
        """The runtime torch-distributed with what the TrainJob says: its trainer, then its patches."""
        name, trainer = job["metadata"]["name"], job["spec"]["trainer"]
        nodes = trainer.get("numNodes", 1)
        variables = pods.trainjob(nodes, 0, name, str(trainer.get("numProcPerNode", "auto"))).env
        own = [{"name": key, "value": str(value)} for key, value in variables.items() if key.startswith("PET_")]
        own = [{"name": one["name"], "valueFrom": INDEX} if one["name"] == "PET_NODE_RANK" else one for one in own]
        container = {"name": "node", "image": trainer["image"], "command": trainer["command"],
                     "env": copy.deepcopy(trainer.get("env", [])) + own,
                     "resources": trainer.get("resourcesPerNode", {})}
        pod = {"metadata": {}, "spec": {"containers": [container]}}
        for change in self.changes(job["spec"]):
            pod["metadata"].update(change.get("metadata", {}))
            for key, value in change.get("spec", {}).items():
                if key == "containers":
                    container.update({field: kept for one in value for field, kept in one.items() if field != "name"})
                else:
                    pod["spec"][key] = value
        spec = {"completions": nodes, "parallelism": nodes, "completionMode": "Indexed", "template": copy.deepcopy(pod)}
        return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                "metadata": {"name": name, "ownerReferences": [owner(self.kind, job)]},
                "spec": {"suspend": job["spec"].get("suspend", False),
                         "replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": spec}}]}}


class ControlPlane:
    """An API server, the operators and the kubelets of a case (pods.PodCase) with so many virtual hosts."""

    def __init__(self, case, image_path, hosts):
        self.api = ApiServer(case.place)
        self.objects = self.api.objects
        self.kubelet = Kubelet(case, self.objects, image_path, hosts)
        self.operators = [kind(self.objects, self.kubelet) for kind in (TrainJobs, JobSets, PyTorchJobs)]
        self.api.log_of = self.kubelet.log_of
        self.api.delete = self.delete
        self.kueue = None  # a kueue.Kueue
        self.trouble = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def delete(self, plural, namespace, name):
        if plural == "pods":
            self.kubelet.delete(self.objects.find(plural, namespace, name))
        else:
            self.objects.remove(plural, namespace, name)

    def run(self):
        try:
            while not self.over.wait(TICK_S):
                with self.objects.changed:
                    self.step()
        except Exception as error:  # the case is told at its end
            self.trouble = error
            raise

    def step(self):
        if self.kueue:
            self.kueue.step()
        for operator in self.operators:
            for item in self.objects.list(operator.plural):
                operator.step(item)
        alive = {item["metadata"]["uid"] for item in self.objects.kept.values()}
        for plural in ("jobsets", "pods"):
            for item in self.objects.list(plural):
                owners = item["metadata"].get("ownerReferences", [])
                if owners and owners[0]["uid"] not in alive:
                    self.delete(plural, item["metadata"]["namespace"], item["metadata"]["name"])
        for pod in self.objects.list("pods"):
            self.kubelet.step(pod)

    def close(self):
        self.over.set()
        self.thread.join()
        self.kubelet.close()
        self.api.close()
        if self.trouble:
            raise AssertionError("the control plane has failed") from self.trouble
