#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag pods(std::string_view name, std::string_view value, std::string_view variable,
                    std::string_view help, std::string_view default_value = {}) {
  return only(of(Command::submit),
              ours(FlagId::pod_option, name, 0, value, variable, Group::pods, help, default_value));
}

// Options of `submit --on kubernetes` and `--on runai` beside those that they share with Slurm's.
constexpr std::array pod_flags = {
    pods("--operator", "auto|pytorchjob|trainjob|jobset", "TOPRUN_OPERATOR",
         "Operator that manages the job; auto is the first of these operators that the cluster has",
         "auto"),
    pods("--namespace", "NAME", "TOPRUN_NAMESPACE", "Namespace of the job",
         "the namespace of kubectl's context"),
    pods("--queue", "NAME", "TOPRUN_QUEUE",
         "Queue in which the job waits until all pods fit: a Kueue queue, unless --scheduler "
         "selects another scheduler"),
    pods("--scheduler", "kueue|volcano|kai|runai", "TOPRUN_SCHEDULER",
         "Scheduler that starts all pods of the job together (gang scheduling)",
         "kueue with --queue, else the cluster's scheduler"),
    pods("--priority-class", "NAME", "",
         "Kubernetes PriorityClass of the pods; it determines which jobs start first and which "
         "jobs can be preempted"),
    repeatable(pods("--node-pool", "NAME", "",
                    "Use only nodes of this pool, or of a pool that another --node-pool names")),
    repeatable(pods("--node-selector", "KEY=VALUE", "", "Use only nodes with this label")),
    repeatable(pods("--toleration", "KEY[=VALUE][:EFFECT]", "",
                    "Also use nodes with this taint, such as nvidia.com/gpu:NoSchedule")),
    against("preferred-topology-key", pods("--required-topology-key", "KEY", "",
                                           "Place all pods on nodes with the same value of this "
                                           "label, such as nvidia.com/gpu.clique")),
    against("required-topology-key",
            pods("--preferred-topology-key", "KEY", "",
                 "Like --required-topology-key, but if nodes with the same value do not have "
                 "enough room, pods also run on other nodes")),
    of_one_call(
        only(of(Command::submit), ours(FlagId::interactive, "--interactive", 0, "", "", Group::pods,
                                       "Start pods that sleep, without a SCRIPT; `toprun run --in "
                                       "JOB SCRIPT` runs a script in such pods"))),
    repeatable(
        pods("--pvc", "NAME:PATH[:ro]", "", "Mount this PersistentVolumeClaim in every pod")),
    repeatable(pods(
        "--annotation", "KEY=VALUE", "",
        "Add this annotation to every pod, such as k8s.v1.cni.cncf.io/networks=kube-system/roce")),
    pods("--project", "NAME", "TOPRUN_PROJECT", "Run:AI project of the job",
         "the project that is selected in `runai`"),
    pods("--runai-cli", "v1|v2", "TOPRUN_RUNAI_CLI",
         "Generation of the runai command: v1 has `submit-dist pytorch`, v2 has `training pytorch "
         "submit`",
         "the version that `runai version` prints"),
    repeatable(pods("--extended-resource", "NAME=N", "",
                    "Extended resource that every pod requests, such as rdma/rdma=1")),
    pods("--gpu-resource", "NAME", "",
         "Resource name of a GPU in the cluster, such as amd.com/gpu or habana.ai/gaudi",
         "nvidia.com/gpu"),
    pods("--shm", "SIZE", "", "Size of /dev/shm, such as 64G", "limited only by the pod's memory"),
    pods("--host-network", "", "", "Use the node's network interfaces instead of the pod's own"),
    pods("--ipc-lock", "", "",
         "Let pods lock all their memory (IPC_LOCK), which RDMA needs where locked memory is "
         "limited"),
    against("toprun", pods("--toprun-image", "IMAGE", "",
                           "Copy toprun into the pods from this image, if the image of --container "
                           "does not contain toprun")),
    against("toprun-image",
            pods("--toprun", "PATH", "",
                 "Path of toprun in the pods, such as /scratch/bin/toprun on a mounted claim",
                 "toprun in the image's PATH")),
    pods("--runtime", "[trainingruntime/]NAME", "",
         "Training runtime of a TrainJob: NAME is a ClusterTrainingRuntime, trainingruntime/NAME "
         "is a TrainingRuntime in the namespace",
         "torch-distributed"),
    repeatable(
        only(of(Command::submit),
             ours(FlagId::secret_env, "--secret-env", 0, "NAME[=SECRET:KEY]", "", Group::pods,
                  "Set a secret variable: its value comes from this environment, or from a key of "
                  "a Secret in the namespace, and does not appear in any job object, script or "
                  "command line"))),
    repeatable(pods("--env-from", "SECRET", "", "Set a variable for each key of this Secret")),
    pods("--service-account", "NAME", "", "Service account of the pods", "the namespace's default"),
    repeatable(
        pods("--image-pull-secret", "SECRET", "", "Secret with which the cluster pulls the image")),
    pods("--restricted", "", "",
         "Make pods that satisfy the Pod Security level `restricted`: not root, no capabilities",
         "as the namespace's label requires"),
    pods("--run-as", "UID[:GID]", "", "User and group that the pods' processes run as",
         "the user and group of the image"),
    pods("--patch", "FILE", "",
         "Apply this strategic merge patch (YAML or JSON) to the job object"),
};

}  // namespace

std::span<const Flag> pod_rows() {
  return pod_flags;
}

}  // namespace toprun::options
