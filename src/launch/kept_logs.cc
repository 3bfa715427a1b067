#include "launch/kept_logs.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/private_folder.h"

namespace toprun::launch {
namespace {

bool redirects_any(const StreamMap& redirects) {
  return redirects.all != 0 || std::ranges::any_of(redirects.by_local_rank, [](const auto& entry) {
           return entry.second != 0;
         });
}

}  // namespace

Result<void> keep_redirected(Job& job) {
  const bool is_starter = job.place.stance == scheduler::Stance::starter;
  if (is_starter || job.options.log_dir || !redirects_any(job.options.redirects)) return {};
  const std::string folder = agent::new_temporary_folder(job.environment, "toprun-logs");
  if (folder.empty()) {
    return usage("cannot make a folder for logs", "neither TMPDIR nor /tmp can be written to",
                 "name one with --log-dir");
  }
  job.place.notes.push_back(fmt::format("{}: --redirects without --log-dir: logs are kept in {}",
                                        job.place.node_name, folder));
  job.options.log_dir = folder;
  return {};
}

}  // namespace toprun::launch
