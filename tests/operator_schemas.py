"""What the CRDs of PyTorchJobs and TrainJobs ask of the objects that toprun writes, in the fields that it writes;
no others are known. For where the whole CRDs are not at hand.

The fields are those of kubeflow.org/v1 (training-operator 1.9, pkg/apis/kubeflow.org/v1) and of
trainer.kubeflow.org/v1alpha1 (trainer 2.0 to 2.2, pkg/apis/trainer/v1alpha1/trainjob_types.go). A name with a release
is an older one's.
"""

from jobset_schema import (ANY_TEXT, CONTAINER, KEY, LABEL, METADATA, NAME, POD, QUANTITY, SECURITY, TRUTH, VARIABLE, VOLUME,
                           list_of, map_of, number, one_of, record, text)


def without(schema, *optional):
    """The same record where these fields may be missing."""
    return {**schema, "required": [name for name in schema["required"] if name not in optional]}


HEAD = {**record(name=NAME, generateName=text(rf"{LABEL}-"), namespace=NAME, labels=map_of(ANY_TEXT),
                 annotations=map_of(ANY_TEXT)), "oneOf": [{"required": ["name"]}, {"required": ["generateName"]}]}
# The operator sets the pods' restartPolicy.
PODS = record(["spec"], metadata=METADATA, spec=without(POD, "restartPolicy"))
REPLICA = record(["template"], replicas=number(0), template=PODS,
                 restartPolicy=one_of("Always", "OnFailure", "Never", "ExitCode"))
PYTORCHJOB = record(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion=one_of("kubeflow.org/v1"), kind=one_of("PyTorchJob"),
    metadata=HEAD, spec=record(
        ["pytorchReplicaSpecs"], pytorchReplicaSpecs=record(Master=REPLICA, Worker=REPLICA),
        nprocPerNode=text(r"\d+|auto|cpu|gpu"),
        elasticPolicy=record(minReplicas=number(1), maxReplicas=number(1), maxRestarts=number(0),
                             rdzvBackend=one_of("c10d", "etcd", "etcd-v2"), nProcPerNode=number(1)),
        runPolicy=record(cleanPodPolicy=one_of("None", "Running", "All"), activeDeadlineSeconds=number(0, 2**63 - 1),
                         backoffLimit=number(0), ttlSecondsAfterFinished=number(0), suspend=TRUTH,
                         schedulingPolicy=record(queue=text(), minAvailable=number(0), priorityClass=text(),
                                                 minResources=map_of(text(QUANTITY))))))

# A patch names a container of the runtime's, which has its image already.
IMAGE_VOLUME = record(["name", "image"], name=NAME, image=record(["reference"], reference=text()))
CHANGED = record(["name"], name=NAME, env=list_of(VARIABLE), volumeMounts=CONTAINER["properties"]["volumeMounts"])
VOLUMES = list_of({"anyOf": [VOLUME, IMAGE_VOLUME]})


def only(schema, *fields, **others):
    """A record that has no more than these fields of another."""
    return record(**{name: schema["properties"][name] for name in fields}, **others)


# trainjob_types.go of trainer 2.0 (PodSpecOverride), 2.1 (PodTemplateSpecOverride) and 2.2 (PodSpecPatch)
OF_2_0 = only(POD, "serviceAccountName", "nodeSelector", "tolerations", containers=list_of(CHANGED), volumes=VOLUMES)
OF_2_1 = {**OF_2_0, "properties": {**OF_2_0["properties"], **only(POD, "affinity", "imagePullSecrets")["properties"]}}
OF_2_2 = {**OF_2_1, "properties": {
    **OF_2_1["properties"], "containers": list_of({**CHANGED, "properties": {
        **CHANGED["properties"], "securityContext": SECURITY}}), "securityContext": {"type": "object"}}}
TARGETS = list_of(record(["name"], name=NAME))
JOB_PATCH = record(["name"], name=NAME, template=record(
    metadata=METADATA, spec=record(template=record(metadata=METADATA, spec=OF_2_2))))


def trainjob(**changes):
    return record(
        ["apiVersion", "kind", "metadata", "spec"], apiVersion=one_of("trainer.kubeflow.org/v1alpha1"),
        kind=one_of("TrainJob"), metadata=HEAD, spec=record(
            ["runtimeRef"], runtimeRef=record(["name"], name=text(), kind=text(), apiGroup=text()),
            trainer=record(image=text(), command=list_of(ANY_TEXT), args=list_of(ANY_TEXT), env=list_of(VARIABLE),
                           numNodes=number(1), numProcPerNode={"type": ["integer", "string"]},
                           resourcesPerNode=record(limits=map_of(text(QUANTITY)), requests=map_of(text(QUANTITY)))),
            labels=map_of(ANY_TEXT), annotations=map_of(ANY_TEXT), suspend=TRUTH, managedBy=text(rf"{KEY}"), **changes))


TRAINJOB = trainjob(
    activeDeadlineSeconds=number(1, 2**63 - 1),
    runtimePatches=list_of(record(
        ["manager"], manager=text(), trainingRuntimeSpec=record(template=record(
            metadata=METADATA, spec=record(replicatedJobs=list_of(JOB_PATCH)))))))
TRAINJOB_2_1 = trainjob(podTemplateOverrides=list_of(record(["targetJobs"], targetJobs=TARGETS, metadata=METADATA, spec=OF_2_1)))
TRAINJOB_2_0 = trainjob(podSpecOverrides=list_of({**OF_2_0, "required": ["targetJobs"],
                                                  "properties": {**OF_2_0["properties"], "targetJobs": TARGETS}}))
# pytorch_types.go of training-operator 1.6: no number of ranks
PYTORCHJOB_1_6 = {**PYTORCHJOB, "properties": {**PYTORCHJOB["properties"], "spec": {
    **PYTORCHJOB["properties"]["spec"], "properties": {
        name: schema for name, schema in PYTORCHJOB["properties"]["spec"]["properties"].items() if name != "nprocPerNode"}}}}
SCHEMAS = {"pytorchjob": PYTORCHJOB, "trainjob": TRAINJOB, "trainjob-2.1": TRAINJOB_2_1, "trainjob-2.0": TRAINJOB_2_0,
           "pytorchjob-1.6": PYTORCHJOB_1_6}


def published(schema):
    """As OpenAPI v3 has it: which fields there are, and no more."""
    out = {"type": schema.get("type", "object")}
    if "properties" in schema:
        out["properties"] = {name: published(inner) for name, inner in schema["properties"].items()}
    if isinstance(schema.get("additionalProperties"), dict):
        out["additionalProperties"] = {"type": "string"}
    if "items" in schema:
        out["items"] = published(schema["items"]) if "properties" in schema["items"] else {
            "type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return out
