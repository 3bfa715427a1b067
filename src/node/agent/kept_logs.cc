#include <fmt/format.h>

#include "base/os/private_folder.h"
#include "node/agent/agent_process.h"

namespace toprun::agent {

Result<void> keep_redirected(plan::Job& job) {
  const bool is_starter = job.place.stance == engines::Stance::starter;
  if (is_starter || job.options.log_dir || job.options.redirects.empty()) return {};
  const std::string folder = new_temporary_folder(job.environment, "toprun-logs");
  if (folder.empty()) {
    return usage("cannot make a folder for logs", "neither TMPDIR nor /tmp can be written to",
                 "name one with --log-dir");
  }
  job.place.notes.push_back(fmt::format("{}: --redirects without --log-dir: logs are kept in {}",
                                        job.place.node_name, folder));
  job.options.log_dir = folder;
  return {};
}

}  // namespace toprun::agent
