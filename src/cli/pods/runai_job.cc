#include "cli/pods/runai_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "engines/kubernetes/pod.h"
#include "engines/runai/command_lines.h"
#include "node/plan/packed_words.h"

namespace toprun::pods {
namespace {

using engines::kubernetes::Claim;
using engines::kubernetes::Workload;
using engines::runai::is_plain;

// Puts options of toprun's in front of all others.
void put_first(Workload& job, std::vector<std::string> words) {
  job.command.insert(job.command.begin() + 1, std::make_move_iterator(words.begin()),
                     std::make_move_iterator(words.end()));
}

}  // namespace

Result<void> make_plain(Workload& job) {
  std::vector<std::string> settings;
  std::erase_if(job.variables, [&](const auto& variable) {
    if (is_plain(variable.second)) return false;
    settings.insert(settings.end(), {"-e", fmt::format("{}={}", variable.first, variable.second)});
    return true;
  });
  put_first(job, std::move(settings));
  if (std::ranges::all_of(job.command, is_plain)) return {};
  job.command = TRY(plan::pack_words(job.command));
  return {};
}

std::string keep_output(Workload& job) {
  const auto claim = std::ranges::find(job.claims, false, &Claim::read_only);
  if (claim == job.claims.end()) return {};
  const std::string_view slash = claim->path.ends_with('/') ? "" : "/";
  const std::string folder = fmt::format("{}{}toprun/{}.%j", claim->path, slash, job.name);
  put_first(job, {"--node-log=" + folder, fmt::format("--report={}/report.json", folder)});
  return folder;
}

void count_ranks(Workload& job) {
  const auto script = std::find_if(job.command.begin() + 1, job.command.end(),
                                   [](const std::string& word) { return !word.starts_with('-'); });
  const bool says = std::any_of(job.command.begin() + 1, script, [](const std::string& word) {
    return word.starts_with("--nproc-per-node");
  });
  if (job.workers && !says) put_first(job, {fmt::format("--nproc-per-node={}", *job.workers)});
}

void count_one_failure(Workload& job) {
  if (job.restarts > 0 || job.least_nodes) return;
  job.variables.emplace_back(engines::kubernetes::one_code_variable, "1");
}

}  // namespace toprun::pods
