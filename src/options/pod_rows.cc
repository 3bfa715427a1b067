#include <array>

#include "options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag pods(std::string_view name, std::string_view value, std::string_view variable,
                    std::string_view help, std::string_view default_value = {}) {
  return only(of(Command::submit),
              ours(FlagId::pod_option, name, 0, value, variable, Group::pods, help, default_value));
}

// Options of `submit --on kubernetes` and `--on runai` beside those that it shares with Slurm's.
constexpr std::array rows = {
    pods("--operator", "pytorchjob|trainjob|jobset", "TOPRUN_OPERATOR",
         "Whose job it is: the training operator's, the trainer's or JobSet's", "pytorchjob"),
    pods("--namespace", "NAME", "TOPRUN_NAMESPACE", "The job's namespace",
         "that of kubectl's context"),
    repeatable(
        pods("--pvc", "NAME:PATH[:ro]", "", "Mount this claim of the namespace's in every pod")),
    repeatable(pods("--annotation", "KEY=VALUE", "",
                    "Of every pod, as k8s.v1.cni.cncf.io/networks=kube-system/roce")),
    pods("--project", "NAME", "TOPRUN_PROJECT", "Run:AI's project", "the one that runai has chosen"),
    pods("--runai-cli", "v1|v2", "TOPRUN_RUNAI_CLI",
         "Which runai is there: submit-dist pytorch, or training pytorch submit",
         "as runai version tells"),
    repeatable(pods("--extended-resource", "NAME=N", "", "Of every pod, as rdma/rdma=1")),
};

}  // namespace

std::span<const Flag> pod_rows() {
  return rows;
}

}  // namespace toprun::options
