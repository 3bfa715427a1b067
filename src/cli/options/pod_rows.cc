#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag pod(Flag flag) {
  if (flag.id == FlagId::unasked) flag.id = FlagId::pod_option;
  flag.group = Group::pods;
  return ours(flag, of(Command::submit));
}

// Options of `submit --on kubernetes` and `--on runai` beside those that they share with Slurm's.
constexpr std::array pod_flags = {
    pod({.name = "--operator",
         .value = "auto|pytorchjob|trainjob|jobset",
         .variable = "TOPRUN_OPERATOR",
         .help = "Operator that manages the job; auto is the first of these operators that the "
                 "cluster has",
         .default_value = "auto"}),
    pod({.name = "--namespace",
         .value = "NAME",
         .variable = "TOPRUN_NAMESPACE",
         .help = "Namespace of the job",
         .default_value = "the namespace of kubectl's context"}),
    pod({.name = "--queue",
         .value = "NAME",
         .variable = "TOPRUN_QUEUE",
         .help = "Queue in which the job waits until all pods fit: a Kueue queue, unless "
                 "--scheduler selects another scheduler"}),
    pod({.name = "--scheduler",
         .value = "kueue|volcano|kai|runai",
         .variable = "TOPRUN_SCHEDULER",
         .help = "Scheduler that starts all pods of the job together (gang scheduling)",
         .default_value = "kueue with --queue, else the cluster's scheduler"}),
    pod({.name = "--priority-class",
         .value = "NAME",
         .help = "Kubernetes PriorityClass of the pods; it determines which jobs start first "
                 "and which jobs can be preempted"}),
    pod({.name = "--node-pool",
         .value = "NAME",
         .repeatable = true,
         .help = "Use only nodes of the pools that this option names"}),
    pod({.name = "--node-selector",
         .value = "KEY=VALUE",
         .repeatable = true,
         .help = "Use only nodes with this label"}),
    pod({.name = "--toleration",
         .value = "KEY[=VALUE][:EFFECT]",
         .repeatable = true,
         .help = "Also use nodes with this taint, such as nvidia.com/gpu:NoSchedule"}),
    pod({.name = "--required-topology-key",
         .value = "KEY",
         .rivals = "preferred-topology-key",
         .help = "Place all pods on nodes with the same value of this label, such as "
                 "nvidia.com/gpu.clique"}),
    pod({.name = "--preferred-topology-key",
         .value = "KEY",
         .rivals = "required-topology-key",
         .help = "Like --required-topology-key, but if nodes with the same value do not have "
                 "enough room, pods also run on other nodes"}),
    pod({.name = "--interactive",
         .id = FlagId::interactive,
         .of_one_call = true,
         .help = "Start pods that sleep, without a SCRIPT; `toprun run --in JOB SCRIPT` runs a "
                 "script in such pods"}),
    pod({.name = "--pvc",
         .value = "NAME:PATH[:ro]",
         .repeatable = true,
         .help = "Mount this PersistentVolumeClaim in every pod"}),
    pod({.name = "--annotation",
         .value = "KEY=VALUE",
         .repeatable = true,
         .help = "Add this annotation to every pod, such as "
                 "k8s.v1.cni.cncf.io/networks=kube-system/roce"}),
    pod({.name = "--project",
         .value = "NAME",
         .variable = "TOPRUN_PROJECT",
         .help = "Run:AI project of the job",
         .default_value = "the project that is selected in `runai`"}),
    pod({.name = "--runai-cli",
         .value = "v1|v2",
         .variable = "TOPRUN_RUNAI_CLI",
         .help = "Generation of the runai command: v1 has `submit-dist pytorch`, v2 has `training "
                 "pytorch submit`",
         .default_value = "the version that `runai version` prints"}),
    pod({.name = "--extended-resource",
         .value = "NAME=N",
         .repeatable = true,
         .help = "Extended resource that every pod requests, such as rdma/rdma=1"}),
    pod({.name = "--gpu-resource",
         .value = "NAME",
         .help = "Resource name of a GPU in the cluster, such as amd.com/gpu or habana.ai/gaudi",
         .default_value = "nvidia.com/gpu"}),
    pod({.name = "--shm",
         .value = "SIZE",
         .help = "Size of /dev/shm, such as 64G",
         .default_value = "limited only by the pod's memory"}),
    pod({.name = "--host-network",
         .help = "Use the node's network interfaces instead of the pod's own"}),
    pod({.name = "--ipc-lock",
         .help = "Let pods lock all their memory (IPC_LOCK), which RDMA needs where locked "
                 "memory is limited"}),
    pod({.name = "--toprun-image",
         .value = "IMAGE",
         .rivals = "toprun",
         .help = "Copy toprun into the pods from this image; necessary if the image of --container "
                 "does not contain toprun"}),
    pod({.name = "--toprun",
         .value = "PATH",
         .rivals = "toprun-image",
         .help = "Path of toprun in the pods, such as /scratch/bin/toprun on a mounted claim",
         .default_value = "toprun in the image's PATH"}),
    pod({.name = "--runtime",
         .value = "[trainingruntime/]NAME",
         .help = "Training runtime of a TrainJob: NAME is a ClusterTrainingRuntime, "
                 "trainingruntime/NAME is a TrainingRuntime in the namespace",
         .default_value = "torch-distributed"}),
    pod({.name = "--secret-env",
         .value = "NAME[=SECRET:KEY]",
         .id = FlagId::secret_env,
         .repeatable = true,
         .help = "Set a secret variable: its value comes from this environment, or from a key "
                 "of a Secret in the namespace, and does not appear in any job object, script "
                 "or command line"}),
    pod({.name = "--env-from",
         .value = "SECRET",
         .repeatable = true,
         .help = "Set a variable for each key of this Secret"}),
    pod({.name = "--service-account",
         .value = "NAME",
         .help = "Service account of the pods",
         .default_value = "the namespace's default"}),
    pod({.name = "--image-pull-secret",
         .value = "SECRET",
         .repeatable = true,
         .help = "Secret with which the cluster pulls the image"}),
    pod({.name = "--restricted",
         .help = "Make pods that satisfy the Pod Security level `restricted`: not root, no "
                 "capabilities",
         .default_value = "as the namespace's label requires"}),
    pod({.name = "--run-as",
         .value = "UID[:GID]",
         .help = "User and group that the pods' processes run as",
         .default_value = "the user and group of the image"}),
    pod({.name = "--patch",
         .value = "FILE",
         .help = "Apply this strategic merge patch (YAML or JSON) to the job object"}),
};

}  // namespace

std::span<const Flag> pod_rows() {
  return pod_flags;
}

}  // namespace toprun::options
