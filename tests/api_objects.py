"""The objects of a Kubernetes API server: kept by kind, namespace and name, with versions and events."""

import copy
import datetime
import random
import re
import threading
import time
import uuid

# plural, group, version, kind
RESOURCES = [
    ("namespaces", "", "v1", "Namespace"),
    ("pods", "", "v1", "Pod"),
    ("nodes", "", "v1", "Node"),
    ("events", "", "v1", "Event"),
    ("secrets", "", "v1", "Secret"),
    ("persistentvolumeclaims", "", "v1", "PersistentVolumeClaim"),
    ("customresourcedefinitions", "apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("pytorchjobs", "kubeflow.org", "v1", "PyTorchJob"),
    ("trainjobs", "trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("jobsets", "jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("localqueues", "kueue.x-k8s.io", "v1beta1", "LocalQueue"),
    ("workloads", "kueue.x-k8s.io", "v1beta1", "Workload"),
]
BUILT_IN = ("", "apiextensions.k8s.io")  # groups of kinds without a CRD
LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # of the names that a cluster makes up


def random_letters():
    return "".join(random.choices(LETTERS, k=5))


class Refusal(Exception):
    """What the server answers in place of an object (apimachinery, meta/v1, Status)."""

    def __init__(self, code, reason, message, details=None):
        super().__init__(message)
        self.code, self.reason, self.details = code, reason, details or {}

    def status(self):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "details": self.details,
                "message": str(self), "reason": self.reason, "code": self.code}


def qualified(plural):
    group = next(row[1] for row in RESOURCES if row[0] == plural)
    return f"{plural}.{group}" if group else plural


def absent(plural, name):
    return Refusal(404, "NotFound", f'{qualified(plural)} "{name}" not found')


def matches(selector, labels):
    """`a=b,c in (d,e),f`: all that kubectl and toprun send (apimachinery, pkg/labels/selector.go)."""
    for term in filter(None, map(str.strip, re.split(r",(?![^(]*\))", selector))):
        if some := re.fullmatch(r"(\S+) in \((.*)\)", term):
            if labels.get(some[1]) not in map(str.strip, some[2].split(",")):
                return False
            continue
        key, equals, value = term.replace("==", "=").partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    return True


def has_fields(selector, item):
    """`metadata.name=a,status.phase!=b`: all that kubectl is asked for."""
    for term in filter(None, selector.split(",")):
        path, differs, value = term.partition("!=") if "!=" in term else term.partition("=")
        found = item
        for key in path.split("."):
            found = found.get(key, {})
        if (found == value) == (differs == "!="):
            return False
    return True


class Objects:
    """Guarded by `changed`, which is notified of each event."""

    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.clock_is_late_by_s = 0
        self.kept = {}      # (plural, namespace, name) → object
        self.no_pods = None     # the Refusal of a pod's creation
        self.events = []    # (version, type, plural, namespace, object)

    def now(self):
        at = time.time() - self.clock_is_late_by_s
        return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _tell(self, type, plural, namespace, item):
        version = len(self.events) + 1
        item["metadata"]["resourceVersion"] = str(version)
        self.events.append((version, type, plural, namespace, copy.deepcopy(item)))
        self.changed.notify_all()

    def create(self, plural, namespace, item):
        metadata = item["metadata"]
        if "name" not in metadata:
            metadata["name"] = metadata.get("generateName", "") + random_letters()
        with self.changed:
            if (plural, namespace, metadata["name"]) in self.kept:
                raise Refusal(409, "AlreadyExists", f'{qualified(plural)} "{metadata["name"]}" already exists')
            metadata.update(namespace=namespace, uid=str(uuid.uuid4()), creationTimestamp=self.now(), generation=1)
            self.kept[plural, namespace, metadata["name"]] = item
            self._tell("ADDED", plural, namespace, item)
        return item

    def find(self, plural, namespace, name):
        with self.changed:
            return self.kept.get((plural, namespace, name))

    def list(self, plural, namespace=None, selector="", owner=None):
        with self.changed:
            return [item for (kind, space, _), item in sorted(self.kept.items())
                    if kind == plural and namespace in (None, space)
                    and matches(selector, item["metadata"].get("labels", {}))
                    and (owner is None or any(one["uid"] == owner["metadata"]["uid"]
                                              for one in item["metadata"].get("ownerReferences", [])))]

    def update(self, plural, item, **status):
        """Sets fields of the status; an event only where something changes."""
        with self.changed:
            before = copy.deepcopy(item.get("status"))
            item.setdefault("status", {}).update(status)
            if item["status"] != before:
                self._tell("MODIFIED", plural, item["metadata"]["namespace"], item)

    def touch(self, plural, item):
        """Tells of a change of its metadata or spec."""
        with self.changed:
            self._tell("MODIFIED", plural, item["metadata"]["namespace"], item)

    def remove(self, plural, namespace, name):
        with self.changed:
            item = self.kept.pop((plural, namespace, name), None)
            if item:
                self._tell("DELETED", plural, namespace, item)

    def set_condition(self, plural, item, type, reason, message, status="True", off=()):
        """One more condition, or a changed one; those of `off` hold no longer."""
        conditions = copy.deepcopy(item.get("status", {}).get("conditions", []))
        wanted = [(type, status, reason, message)]
        wanted += [(one["type"], "False", one["reason"], one["message"]) for one in conditions
                   if one["type"] in off and one["status"] == "True"]
        for kind, holds, why, words in wanted:
            known = next((one for one in conditions if one["type"] == kind), None)
            if known and (known["status"], known["reason"]) == (holds, why):
                continue
            if known:
                conditions.remove(known)
            conditions.append({"type": kind, "status": holds, "reason": why, "message": words,
                               "lastTransitionTime": self.now(), "lastUpdateTime": self.now()})
        self.update(plural, item, conditions=conditions)


def holds(item, *types):
    return any(one["type"] in types and one["status"] == "True"
               for one in item.get("status", {}).get("conditions", []))
