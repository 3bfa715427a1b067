"""What Kueue does with the tests' jobs: a job with its label is made suspended, has a Workload of its own, and begins
once that is admitted. One resource (GPUs) of one flavor, and one ClusterQueue.

    Kueue v0.13   pkg/controller/jobframework/{defaults,reconciler,workload_names}.go,
                  pkg/scheduler/scheduler.go, pkg/scheduler/flavorassigner/flavorassigner.go,
                  pkg/workload/workload.go, apis/kueue/v1beta1/workload_types.go,
                  apis/visibility/v1beta1/types.go
"""

import hashlib

from api_objects import holds
from api_server import ApiServer

LABEL = "kueue.x-k8s.io/queue-name"
KINDS = {"pytorchjobs": "PyTorchJob", "trainjobs": "TrainJob", "jobsets": "JobSet"}
GPU = "nvidia.com/gpu"
FINAL = ("Succeeded", "Complete", "Completed", "Failed")


def suspended_part(plural, job):
    return job["spec"].setdefault("runPolicy", {}) if plural == "pytorchjobs" else job["spec"]


def pod_sets(plural, job):
    """(name, pods, GPUs of each)."""
    def gpus(resources):
        return int(resources.get("limits", {}).get(GPU, 0))

    def of_template(template):
        return sum(gpus(one.get("resources", {})) for one in template["spec"]["containers"])
    spec = job["spec"]
    if plural == "pytorchjobs":
        return [(role.lower(), one["replicas"], of_template(one["template"]))
                for role, one in spec["pytorchReplicaSpecs"].items()]
    if plural == "trainjobs":
        return [("node", spec["trainer"].get("numNodes", 1), gpus(spec["trainer"].get("resourcesPerNode", {})))]
    return [(one["name"], one["template"]["spec"]["completions"], of_template(one["template"]["spec"]["template"]))
            for one in spec["replicatedJobs"]]


class Kueue:
    def __init__(self, api: ApiServer, queues, quota):
        """`queues`: names of LocalQueues in namespace default; `quota`: GPUs of their ClusterQueue."""
        self.api, self.objects, self.quota = api, api.objects, quota
        self.used = {}  # GPUs by Workload
        self.stopped = False  # its ClusterQueue, by spec.stopPolicy
        for name in queues:
            self.objects.create("localqueues", "default", {
                "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": name},
                "spec": {"clusterQueue": "gpus"}})
        api.webhooks.append(self.suspend)
        api.views["visibility.kueue.x-k8s.io"] = self.pending_workloads

    def suspend(self, plural, job):
        if plural in KINDS and LABEL in job["metadata"].get("labels", {}):
            suspended_part(plural, job)["suspend"] = True

    def step(self):
        for plural in KINDS:
            for job in self.objects.list(plural):
                if LABEL in job["metadata"].get("labels", {}):
                    self.reconcile(plural, job)

    def reconcile(self, plural, job):
        workload = self.workload_of(plural, job)
        name = workload["metadata"]["name"]
        if holds(job, *FINAL):
            self.used.pop(name, None)
            self.say(workload, "Finished", "JobFinished", "Job finished successfully")
            return
        if name in self.used:
            return
        queue = workload["spec"]["queueName"]
        if not self.objects.find("localqueues", job["metadata"]["namespace"], queue):
            self.say(workload, "QuotaReserved", "Inadmissible", f"LocalQueue {queue} doesn't exist", "False")
            return
        if self.stopped:
            self.say(workload, "QuotaReserved", "Inadmissible", "ClusterQueue gpus is inactive", "False")
            return
        free = self.quota - sum(self.used.values())
        for role, count, gpus in pod_sets(plural, job):
            if count * gpus > free:
                self.say(workload, "QuotaReserved", "Pending", f"couldn't assign flavors to pod set {role}: insufficient "
                         f"unused quota for {GPU} in flavor h100, {count * gpus - free} more needed", "False")
                return
            free -= count * gpus
        self.used[name] = sum(count * gpus for _, count, gpus in pod_sets(plural, job))
        self.say(workload, "QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue gpus, wait time since "
                                                             "queued was 3s")
        self.say(workload, "Admitted", "Admitted", "The workload is admitted")
        suspended_part(plural, job)["suspend"] = False
        self.objects.touch(plural, job)

    def workload_of(self, plural, job):
        kind, metadata = KINDS[plural], job["metadata"]
        digest = hashlib.sha1(f"{kind}\n{metadata['name']}\n{metadata['uid']}".encode()).hexdigest()[:5]
        name = f"{kind.lower()}-{metadata['name']}-{digest}"
        known = self.objects.find("workloads", metadata["namespace"], name)
        return known or self.objects.create("workloads", metadata["namespace"], {
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {
                "name": name, "labels": {"kueue.x-k8s.io/job-uid": metadata["uid"]},
                "ownerReferences": [{"apiVersion": job["apiVersion"], "kind": kind, "name": metadata["name"],
                                     "uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}]},
            "spec": {"queueName": metadata["labels"][LABEL], "active": True, "priority": 0,
                     "podSets": [{"name": role, "count": count} for role, count, _ in pod_sets(plural, job)]}})

    def say(self, workload, type, reason, message, status="True"):
        self.objects.set_condition("workloads", workload, type, reason, message, status)

    def evict(self, workload, reason, message):
        """As for a job of a higher priority: its quota is gone, and it waits again."""
        self.used.pop(workload["metadata"]["name"], None)
        self.say(workload, "Evicted", reason, message)
        self.say(workload, "QuotaReserved", "Pending", message, "False")
        self.say(workload, "Admitted", "NoReservation", "The workload has no reservation", "False")
        owner = workload["metadata"]["ownerReferences"][0]
        plural = next(key for key, kind in KINDS.items() if kind == owner["kind"])
        job = self.objects.find(plural, workload["metadata"]["namespace"], owner["name"])
        suspended_part(plural, job)["suspend"] = True
        self.objects.touch(plural, job)

    def pending_workloads(self, namespace, queue, sub):
        """PendingWorkloadsSummary of a LocalQueue."""
        waiting = [one for one in self.objects.list("workloads", namespace)
                   if not holds(one, "QuotaReserved", "Finished") and one["spec"].get("active", True)]
        waiting.sort(key=lambda one: (-one["spec"].get("priority", 0), one["metadata"]["creationTimestamp"],
                                      one["metadata"]["name"]))
        items, seen = [], {}
        for number, one in enumerate(waiting):
            of_queue = one["spec"]["queueName"]
            items.append({"metadata": {key: one["metadata"][key] for key in
                                       ("name", "namespace", "creationTimestamp", "ownerReferences")},
                          "priority": one["spec"].get("priority", 0), "localQueueName": of_queue,
                          "positionInClusterQueue": number, "positionInLocalQueue": seen.setdefault(of_queue, 0)})
            seen[of_queue] += 1
        return {"kind": "PendingWorkloadsSummary", "apiVersion": "visibility.kueue.x-k8s.io/v1beta1", "metadata": {},
                "items": [one for one in items if one["localQueueName"] == queue]}
