#include "cli/pods/unfit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cli/options/values.h"

namespace toprun::pods {
namespace {

using options::FlagId;

// Options of a Slurm job that have the same meaning for a job of pods.
constexpr std::array shared_options = {"--nodes", "--gpus-per-node", "--cpus-per-task", "--mem",
                                       "--time",  "--job-name",      "--chdir"};

enum class On { both_engines, kubernetes, runai };

// An option that these jobs do not have.
struct Unfit {
  std::string_view name;
  On unfit_on;
  std::string_view why;
  std::string_view fix;
};

constexpr std::string_view by_toprun = "works only where toprun starts the container itself";
constexpr std::string_view named_hosts =
    "names hosts for ssh or mpirun, but the cluster chooses the nodes of this job";
constexpr std::string_view by_mpirun = "works only with hosts, and mpirun does not start pods";
constexpr std::string_view only_runai = "works only with --on runai";

constexpr std::array unfit_options = {
    Unfit{"--bind", On::both_engines, by_toprun, "mount a claim with --pvc NAME:PATH"},
    Unfit{"--environment", On::both_engines, by_toprun, "use --container IMAGE"},
    Unfit{"--container-runtime", On::both_engines, by_toprun, "leave it out"},
    Unfit{"--container-workdir", On::both_engines, by_toprun, "use --chdir DIR"},
    Unfit{"--container-env", On::both_engines, by_toprun, "use -e NAME"},
    Unfit{"--container-name", On::both_engines, by_toprun, "leave it out"},
    Unfit{"--container-root", On::both_engines, by_toprun, "use --run-as 0"},
    Unfit{"--writable", On::both_engines, by_toprun, "leave it out"},
    Unfit{"--no-gpu", On::both_engines, by_toprun, "use --gpus-per-node 0"},
    Unfit{"--hosts", On::both_engines, named_hosts,
          "leave it out, or choose nodes with --node-pool"},
    Unfit{"--hostfile", On::both_engines, named_hosts,
          "leave it out, or choose nodes with --node-pool"},
    Unfit{"--via", On::both_engines, by_mpirun, "leave it out"},
    Unfit{"--launcher", On::both_engines, by_mpirun, "leave it out"},
    Unfit{"--ranks-per-node", On::both_engines, by_mpirun, "use --nproc-per-node"},
    Unfit{"--node-rank", On::both_engines,
          "cannot be given, because the same command runs in every pod of the job",
          "leave it out: the cluster sets the node ranks"},
    Unfit{"--evict", On::both_engines,
          "works only where toprun's agents stay: a pod that ends is the operator's",
          "leave it out"},
    Unfit{"--operator", On::runai, "works only with --on kubernetes: Run:AI has its own operator",
          "leave it out"},
    Unfit{"--project", On::kubernetes, only_runai, "leave it out, or use --namespace"},
    Unfit{"--runai-cli", On::kubernetes, only_runai, "leave it out"},
};

bool is_slurms(const options::Flag& flag) {
  if (flag.id == FlagId::slurm_arg || flag.id == FlagId::after) return true;
  return flag.id == FlagId::slurm_option &&
         std::ranges::find(shared_options, flag.name) == shared_options.end();
}

std::optional<Unfit> why_unfit(const options::Flag& flag, bool on_runai) {
  if (is_slurms(flag))
    return Unfit{flag.name, On::both_engines, "works only with Slurm", "leave it out"};
  const auto row = std::ranges::find(unfit_options, flag.name, &Unfit::name);
  if (row == unfit_options.end() || row->unfit_on == (on_runai ? On::kubernetes : On::runai)) {
    return std::nullopt;
  }
  return *row;
}

}  // namespace

Result<options::Split> without_unfit(options::Split split, bool on_runai,
                                     std::vector<std::string>& notes) {
  for (const options::ParsedOption& option : split.options) {
    const auto unfit = why_unfit(*option.flag, on_runai);
    if (!unfit) continue;
    const std::string label = options::as_argument(option).label();
    if (option.origin.empty()) {
      return usage(label, std::string(unfit->why), std::string(unfit->fix));
    }
    notes.push_back(fmt::format("{} has no effect: it {}", label, unfit->why));
  }
  std::erase_if(split.options, [&](const options::ParsedOption& option) {
    return why_unfit(*option.flag, on_runai).has_value();
  });
  return split;
}

}  // namespace toprun::pods
