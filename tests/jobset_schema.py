"""What JobSet and Kubernetes ask of a JobSet that toprun writes, because its CRD is not at hand.

SCHEMA has the fields of jobset.x-k8s.io/v1alpha2 (api/jobset/v1alpha2/jobset_types.go of JobSet 0.8) and, of a
Job (batch/v1) and its pods (core/v1), those that we write; it knows no others. webhook() is what JobSet's
webhook (pkg/webhooks/jobset_webhook.go) and the API server (pkg/apis/batch/validation) refuse besides.
"""

import re

MOST_INT32 = 2**31 - 1
LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"                      # RFC 1035, as JobSet checks it
KEY = r"([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
QUANTITY = r"\d+(\.\d+)?(m|k|[KMGTPE]i?)?"
LONGEST_LABEL = 63
REASONS = ["BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"]


def record(required=(), **fields):
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def one_of(*words):
    return {"enum": list(words)}


def text(pattern=None, **limits):
    return {"type": "string", "pattern": rf"\A{pattern}\Z" if pattern else "", "minLength": 1, **limits}


def number(least, most=MOST_INT32):
    return {"type": "integer", "minimum": least, "maximum": most}


def list_of(items, least=1, **limits):
    return {"type": "array", "items": items, "minItems": least, **limits}


def map_of(value):
    return {"type": "object", "additionalProperties": value, "propertyNames": {"pattern": rf"\A{KEY}\Z"}}


ANY_TEXT = {"type": "string"}
TRUTH = {"type": "boolean"}
NAME = text(LABEL, maxLength=LONGEST_LABEL)
NAMES = list_of(NAME, uniqueItems=True)
METADATA = record(labels=map_of(ANY_TEXT), annotations=map_of(ANY_TEXT))
MATCH = record(["key", "operator"], key=text(KEY), operator=one_of("In", "NotIn", "Exists", "DoesNotExist"),
               values=list_of(ANY_TEXT))
NODES = record(["nodeSelectorTerms"], nodeSelectorTerms=list_of(record(matchExpressions=list_of(MATCH))))
NEIGHBOURS = record(["topologyKey"], labelSelector=record(matchLabels=map_of(ANY_TEXT)), topologyKey=text(KEY))
AFFINITY = record(
    nodeAffinity=record(requiredDuringSchedulingIgnoredDuringExecution=NODES),
    podAffinity=record(
        requiredDuringSchedulingIgnoredDuringExecution=list_of(NEIGHBOURS),
        preferredDuringSchedulingIgnoredDuringExecution=list_of(
            record(["weight", "podAffinityTerm"], weight=number(1, 100), podAffinityTerm=NEIGHBOURS))))
OF_A_SECRET = record(["name", "key"], name=text(), key=text(r"[-._a-zA-Z0-9]+"))
VARIABLE = {**record(["name"], name=text(), value=ANY_TEXT,
                     valueFrom={**record(fieldRef=record(["fieldPath"], fieldPath=text()), secretKeyRef=OF_A_SECRET),
                                "oneOf": [{"required": ["fieldRef"]}, {"required": ["secretKeyRef"]}]}),
            "not": {"required": ["value", "valueFrom"]}}
SECURITY = record(capabilities=record(add=list_of(text("[A-Z_]+")), drop=list_of(text("[A-Z_]+"))), runAsUser=number(0),
                  runAsGroup=number(0), runAsNonRoot=TRUTH, allowPrivilegeEscalation=TRUTH,
                  seccompProfile=record(["type"], type=one_of("RuntimeDefault", "Localhost", "Unconfined")))
NAMED = record(["name"], name=text())
CONTAINER = record(
    ["name", "image"], name=NAME, image=text(), command=list_of(ANY_TEXT), args=list_of(ANY_TEXT),
    workingDir=text("/.*"), env=list_of(VARIABLE), resources=record(limits=map_of(text(QUANTITY))),
    envFrom=list_of(record(["secretRef"], secretRef=NAMED)), securityContext=SECURITY,
    imagePullPolicy=one_of("Always", "IfNotPresent", "Never"),
    volumeMounts=list_of(record(["name", "mountPath"], name=NAME, mountPath=text("[^:]*"), readOnly=TRUTH)))
VOLUME = {**record(["name"], name=NAME, emptyDir=record(medium=one_of("Memory"), sizeLimit=text(QUANTITY)),
                   persistentVolumeClaim=record(["claimName"], claimName=text(), readOnly=TRUTH)),
          "oneOf": [{"required": ["emptyDir"]}, {"required": ["persistentVolumeClaim"]}]}
TOLERATION = record(key=text(KEY), operator=one_of("Equal", "Exists"), value=ANY_TEXT,
                    effect=one_of("NoSchedule", "PreferNoSchedule", "NoExecute"))
POD = record(
    ["containers", "restartPolicy"], containers=list_of(CONTAINER), initContainers=list_of(CONTAINER),
    restartPolicy=one_of("Never", "OnFailure"), volumes=list_of(VOLUME), nodeSelector=map_of(ANY_TEXT),
    tolerations=list_of(TOLERATION), affinity=AFFINITY, schedulerName=text(), priorityClassName=text(),
    serviceAccountName=text(), imagePullSecrets=list_of(NAMED), runtimeClassName=text(),
    hostNetwork=TRUTH, dnsPolicy=one_of("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"))
RULE = {**record(["action"], action=one_of("FailJob", "FailIndex", "Ignore", "Count"),
                 onExitCodes=record(["operator", "values"], containerName=NAME, operator=one_of("In", "NotIn"),
                                    values=list_of(number(0, 255), uniqueItems=True, maxItems=255)),
                 # The CRD of JobSet asks for `status` although Kubernetes takes True for it.
                 onPodConditions=list_of(record(["type", "status"], type=text(KEY),
                                                status=one_of("True", "False", "Unknown")), maxItems=20)),
        "oneOf": [{"required": ["onExitCodes"]}, {"required": ["onPodConditions"]}]}
JOB = record(
    ["template"], template=record(["spec"], metadata=METADATA, spec=POD), parallelism=number(0), completions=number(0),
    completionMode=one_of("Indexed"), backoffLimit=number(0), activeDeadlineSeconds=number(1, 2**63 - 1),
    podFailurePolicy=record(["rules"], rules=list_of(RULE, maxItems=20)))
REPLICATED = record(
    ["name", "template"], name=NAME, groupName=NAME, replicas=number(0),
    template=record(["spec"], metadata=METADATA, spec=JOB),
    dependsOn=list_of(record(["name", "status"], name=NAME, status=one_of("Ready", "Complete")), maxItems=1))
FAILURE_RULE = record(
    ["name", "action"], name=text("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", maxLength=128),
    action=one_of("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"),
    onJobFailureReasons=list_of(one_of(*REASONS), uniqueItems=True), targetReplicatedJobs=NAMES)
SPEC = record(
    replicatedJobs=list_of(REPLICATED),
    network=record(enableDNSHostnames=TRUTH, subdomain=NAME, publishNotReadyAddresses=TRUTH),
    successPolicy=record(["operator"], operator=one_of("All", "Any"), targetReplicatedJobs=NAMES),
    failurePolicy=record(maxRestarts=number(0), restartStrategy=one_of("Recreate", "BlockingRecreate"),
                         rules=list_of(FAILURE_RULE)),
    startupPolicy=record(["startupPolicyOrder"], startupPolicyOrder=one_of("AnyOrder", "InOrder")),
    suspend=TRUTH, ttlSecondsAfterFinished=number(0), managedBy=text(r"[a-z0-9.-]+/\S+", maxLength=LONGEST_LABEL),
    coordinator=record(["replicatedJob"], replicatedJob=NAME, jobIndex=number(0), podIndex=number(0)))
SCHEMA = record(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion=one_of("jobset.x-k8s.io/v1alpha2"), kind=one_of("JobSet"),
    metadata={**record(name=NAME, generateName=text(rf"{LABEL}-"), namespace=NAME, labels=map_of(ANY_TEXT),
                       annotations=map_of(ANY_TEXT)), "oneOf": [{"required": ["name"]}, {"required": ["generateName"]}]},
    spec=SPEC)


def names_of_pods(jobset):
    """The longest that the controller will give to a pod of each Job, with the five letters at its end."""
    metadata = jobset["metadata"]
    name = metadata.get("name", metadata.get("generateName", "") + "x7k2p")
    for one in jobset["spec"].get("replicatedJobs", []):
        last = one.get("replicas", 1) - 1, one["template"]["spec"].get("completions", 1) - 1
        yield f"{name}-{one['name']}-{last[0]}-{last[1]}-abcde"


def of_job(one):
    """What is wrong with the Job of a replicatedJob."""
    job, pod = one["template"]["spec"], one["template"]["spec"]["template"]["spec"]
    if one.get("replicas", 1) * job.get("parallelism", 1) > MOST_INT32:
        yield "replicas times parallelism is too large"
    if "podFailurePolicy" in job and pod["restartPolicy"] != "Never":
        yield "podFailurePolicy: only with restartPolicy Never"
    containers = [container["name"] for container in pod["containers"] + pod.get("initContainers", [])]
    if len(set(containers)) < len(containers):
        yield "two containers of one name"
    for rule in job.get("podFailurePolicy", {}).get("rules", []):
        codes = rule.get("onExitCodes", {})
        if codes.get("containerName", containers[0]) not in containers:
            yield "onExitCodes: no such container"
        if codes.get("values", []) != sorted(codes.get("values", [])):
            yield "onExitCodes: values not in order"
        if codes.get("operator") == "In" and 0 in codes["values"]:
            yield "onExitCodes: 0 is no failure"
    volumes = [volume["name"] for volume in pod.get("volumes", [])]
    for container in pod["containers"] + pod.get("initContainers", []):
        yield from (f"volumeMounts: no volume {mount['name']}" for mount in container.get("volumeMounts", [])
                    if mount["name"] not in volumes)
    if pod.get("dnsPolicy") == "ClusterFirstWithHostNet" and not pod.get("hostNetwork"):
        yield "dnsPolicy: without hostNetwork"


def webhook(jobset):
    """What is wrong with an object of SCHEMA, a text each."""
    spec = jobset["spec"]
    jobs = spec.get("replicatedJobs", [])
    names = [one["name"] for one in jobs]
    troubles = [f"the pod's name {name} is no label" for name in names_of_pods(jobset)
                if not re.fullmatch(LABEL, name) or len(name) > LONGEST_LABEL]
    if len(set(names)) < len(names):
        troubles.append("two replicatedJobs of one name")
    for i, one in enumerate(jobs):
        troubles += of_job(one)
        troubles += [f"dependsOn: {before['name']} does not come before" for before in one.get("dependsOn", [])
                     if before["name"] not in names[:i]]
    ordered = spec.get("startupPolicy", {}).get("startupPolicyOrder") == "InOrder"
    if ordered and any("dependsOn" in one for one in jobs):
        troubles.append("startupPolicy and dependsOn exclude each other")
    policies = [spec.get("successPolicy", {}), *spec.get("failurePolicy", {}).get("rules", [])]
    meant = [name for policy in policies for name in policy.get("targetReplicatedJobs", [])]
    meant += [spec["coordinator"]["replicatedJob"]] if "coordinator" in spec else []
    troubles += [f"no replicatedJob {name}" for name in meant if name not in names]
    rules = [rule["name"] for rule in spec.get("failurePolicy", {}).get("rules", [])]
    if len(set(rules)) < len(rules):
        troubles.append("two rules of one name")
    return troubles
