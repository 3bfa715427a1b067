"""What the CRDs of PyTorchJobs and TrainJobs ask of the objects that toprun writes, in the fields that it writes;
no others are known. For where the whole CRDs are not at hand.

The fields are those of kubeflow.org/v1 (training-operator 1.9, pkg/apis/kubeflow.org/v1) and of
trainer.kubeflow.org/v1alpha1 (trainer 2.2, pkg/apis/trainer/v1alpha1/trainjob_types.go).
"""

from jobset_schema import (ANY_TEXT, CONTAINER, KEY, LABEL, METADATA, NAME, POD, QUANTITY, TRUTH, VARIABLE, VOLUME,
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
PATCHED = without({**POD, "properties": {
    **POD["properties"], "containers": list_of(without(CONTAINER, "image")),
    "volumes": list_of({"anyOf": [VOLUME, IMAGE_VOLUME]})}}, "restartPolicy", "containers")
JOB_PATCH = record(["name"], name=NAME, template=record(
    metadata=METADATA, spec=record(template=record(metadata=METADATA, spec=PATCHED))))
TRAINJOB = record(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion=one_of("trainer.kubeflow.org/v1alpha1"),
    kind=one_of("TrainJob"), metadata=HEAD, spec=record(
        ["runtimeRef"], runtimeRef=record(["name"], name=text(), kind=text(), apiGroup=text()),
        trainer=record(image=text(), command=list_of(ANY_TEXT), args=list_of(ANY_TEXT), env=list_of(VARIABLE),
                       numNodes=number(1), numProcPerNode={"type": ["integer", "string"]},
                       resourcesPerNode=record(limits=map_of(text(QUANTITY)), requests=map_of(text(QUANTITY)))),
        labels=map_of(ANY_TEXT), annotations=map_of(ANY_TEXT), suspend=TRUTH, activeDeadlineSeconds=number(1, 2**63 - 1),
        managedBy=text(rf"{KEY}"),
        runtimePatches=list_of(record(
            ["manager"], manager=text(), trainingRuntimeSpec=record(template=record(
                metadata=METADATA, spec=record(replicatedJobs=list_of(JOB_PATCH))))))))
SCHEMAS = {"pytorchjob": PYTORCHJOB, "trainjob": TRAINJOB}
