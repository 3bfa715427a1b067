#include "node/worker/logs.h"

#include <filesystem>

#include "base/os/trust.h"
#include "node/worker/keeper.h"

namespace toprun::worker {
namespace {

constexpr std::size_t longest_run_id = 128;  // a file name has at most 255 bytes

// Converts the run id to a part of a file name.
std::string file_name_of(std::string run_id) {
  for (char& c : run_id) {
    if (c == '/' || c == '\0') c = '_';
  }
  return run_id.substr(0, longest_run_id);
}

}  // namespace

Result<Logs> Logs::create(const std::optional<std::string>& log_dir, const std::string& run_id,
                          const Environment& environment) {
  if (!log_dir) {
    const std::string folder = new_temporary_folder(environment, "toprun");
    keeper_removes(folder);
    return Logs(folder, false, true);
  }
  const auto unwritable = [&](int code) {
    return usage(fmt::format("cannot write logs to {}", *log_dir), errno_text(code),
                 "choose a folder that can be written, with --log-dir");
  };
  std::error_code failed;
  // Made absolute, because workers may change their working folder.
  const std::filesystem::path parent = std::filesystem::absolute(*log_dir, failed);
  if (!failed) std::filesystem::create_directories(parent, failed);
  if (failed) return unwritable(failed.value());
  auto folder = new_private_folder(parent.string(), file_name_of(run_id));
  if (!folder) return unwritable(folder.error());
  return Logs(std::move(*folder), true, false);
}

Result<Logs> Logs::within(std::string folder) {
  return Logs(std::move(folder), false, false);
}

Logs::Logs(Logs&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), kept_(other.kept_), owned_(other.owned_) {}

Logs::~Logs() {
  if (!owned_ || folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  keeper_removes("");
}

std::string Logs::filtered_log(int attempt, bool is_err) const {
  if (!kept_) return {};
  return fmt::format("{}/attempt_{}/filtered_{}.log", folder_, attempt,
                     is_err ? "stderr" : "stdout");
}

Result<WorkerFiles> Logs::worker(int attempt, int local_rank) const {
  if (folder_.empty()) return WorkerFiles{};
  // Temporary files of all workers share one folder: each folder more costs every launch twice.
  const std::string attempt_folder = fmt::format("{}/attempt_{}", folder_, attempt);
  const std::string folder =
      kept_ ? fmt::format("{}/{}", attempt_folder, local_rank) : attempt_folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return fail("cannot make the log folder " + folder, failed.message(),
                "choose a folder that can be written, with --log-dir");
  }
  const std::string stem = kept_ ? folder + "/" : fmt::format("{}/{}_", folder, local_rank);
  WorkerFiles files{.error_json = stem + "error.json", .nccl_log = stem + "nccl.log"};
  if (kept_) {
    files.stdout_log = stem + "stdout.log";
    files.stderr_log = stem + "stderr.log";
  }
  return files;
}

}  // namespace toprun::worker
