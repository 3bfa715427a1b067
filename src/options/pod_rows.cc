#include <array>

#include "options/flag_rows.h"

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
         "Whose job it is: the training operator's, the trainer's or JobSet's; auto: the first of "
         "them that the cluster has",
         "auto"),
    pods("--namespace", "NAME", "TOPRUN_NAMESPACE", "The job's namespace",
         "that of kubectl's context"),
    pods("--queue", "NAME", "TOPRUN_QUEUE",
         "Wait in this queue until all pods have room: Kueue's unless --scheduler says otherwise"),
    pods("--scheduler", "kueue|volcano|kai|runai", "TOPRUN_SCHEDULER",
         "Who places the pods, all or none of them", "kueue with --queue, else the cluster's"),
    pods("--priority-class", "NAME", "", "Whose turn comes first, and who may be preempted"),
    repeatable(pods("--node-pool", "NAME", "", "Only nodes of this pool, or of one of several")),
    repeatable(pods("--node-selector", "KEY=VALUE", "", "Only nodes with this label")),
    repeatable(pods("--toleration", "KEY[=VALUE][:EFFECT]", "",
                    "Also nodes with this taint, as nvidia.com/gpu:NoSchedule")),
    against("preferred-topology-key",
            pods("--required-topology-key", "KEY", "",
                 "Only nodes on which this label has one value, as nvidia.com/gpu.clique")),
    against("required-topology-key",
            pods("--preferred-topology-key", "KEY", "",
                 "The same, as far as there is room: nodes of another value otherwise")),
    of_one_call(only(of(Command::submit),
                     ours(FlagId::interactive, "--interactive", 0, "", "", Group::pods,
                          "Pods that sleep, without a SCRIPT: toprun run --in JOB SCRIPT starts "
                          "one in them"))),
    repeatable(
        pods("--pvc", "NAME:PATH[:ro]", "", "Mount this claim of the namespace's in every pod")),
    repeatable(pods("--annotation", "KEY=VALUE", "",
                    "Of every pod, as k8s.v1.cni.cncf.io/networks=kube-system/roce")),
    pods("--project", "NAME", "TOPRUN_PROJECT", "Run:AI's project",
         "the one that runai has chosen"),
    pods("--runai-cli", "v1|v2", "TOPRUN_RUNAI_CLI",
         "Which runai is there: submit-dist pytorch, or training pytorch submit",
         "as runai version tells"),
    repeatable(pods("--extended-resource", "NAME=N", "", "Of every pod, as rdma/rdma=1")),
    pods("--gpu-resource", "NAME", "",
         "What a GPU is called in the cluster, as amd.com/gpu or habana.ai/gaudi",
         "nvidia.com/gpu"),
    pods("--shm", "SIZE", "", "Size of /dev/shm, as 64G", "no limit but the pod's memory"),
    pods("--host-network", "", "", "The node's network interfaces instead of the pod's own"),
    pods("--ipc-lock", "", "", "Pods may lock all their memory, which RDMA needs under a limit"),
    against("toprun", pods("--toprun-image", "IMAGE", "",
                           "Bring toprun from this image, where --container has none")),
    against("toprun-image", pods("--toprun", "PATH", "",
                                 "Where toprun is in the pods, as /scratch/bin/toprun on a claim",
                                 "toprun in the image's PATH")),
    pods("--runtime", "[trainingruntime/]NAME", "",
         "Of a TrainJob: the cluster's training runtime, or one of the namespace's",
         "torch-distributed"),
    repeatable(
        only(of(Command::submit),
             ours(FlagId::secret_env, "--secret-env", 0, "NAME[=SECRET:KEY]", "", Group::pods,
                  "A variable that is a secret: of this environment, or the key of a Secret "
                  "in the namespace; its value stands in no object, script or command line"))),
    repeatable(pods("--env-from", "SECRET", "", "All keys of this Secret as variables")),
    pods("--service-account", "NAME", "", "Of the pods", "the namespace's default"),
    repeatable(pods("--image-pull-secret", "SECRET", "", "With which the image is pulled")),
    pods("--restricted", "", "",
         "Pods that Pod Security's level restricted takes: not root, no capabilities",
         "as the namespace's label says"),
    pods("--run-as", "UID[:GID]", "", "Who the processes of the pods are", "as the image says"),
    pods("--patch", "FILE", "",
         "Change the object that is made by this strategic merge patch, YAML or JSON"),
};

}  // namespace

std::span<const Flag> pod_rows() {
  return pod_flags;
}

}  // namespace toprun::options
