#include "node/agent/node_log.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "observe/report/report.h"

namespace toprun::agent {
namespace {

constexpr mode_t mode = 0666;  // less the umask

}  // namespace

std::optional<std::string> node_log_path(const plan::Options& options, const std::string& host) {
  if (!options.node_log) return std::nullopt;
  return report::node_log_path(*options.node_log, host);
}

Result<Fd> open_node_log(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file) return file;
  return fail_errno("cannot open --node-log's " + path, "the job goes on without it");
}

}  // namespace toprun::agent
