#include "agent/logs.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "agent/keeper.h"

namespace toprun::agent {
namespace {

constexpr std::size_t random_letters = 8;
constexpr int most_tries = 100;
constexpr std::size_t longest_run_id = 128;  // of a file name's 255 bytes
constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr mode_t log_folder_mode = 0777;  // less the umask
constexpr mode_t temporary_folder_mode = 0700;

std::string random_name() {
  unsigned char bytes[random_letters];
  std::string name;
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return name;
  for (const unsigned char byte : bytes) name += alphabet[byte % alphabet.size()];
  return name;
}

// The run id as a part of a file name.
std::string file_name_of(std::string run_id) {
  for (char& c : run_id) {
    if (c == '/' || c == '\0') c = '_';
  }
  return run_id.substr(0, longest_run_id);
}

// A new folder `parent`/`prefix`_<8 random>, or an errno.
std::expected<std::string, int> new_folder(const std::string& parent, const std::string& prefix,
                                           mode_t mode) {
  for (int i = 0; i < most_tries; ++i) {
    const std::string path = fmt::format("{}/{}_{}", parent, prefix, random_name());
    if (::mkdir(path.c_str(), mode) == 0) return path;
    if (errno != EEXIST) return std::unexpected(errno);
  }
  return std::unexpected(EEXIST);
}

std::string new_temporary_folder(const Environment& environment) {
  for (const std::string& parent : {environment.non_empty("TMPDIR").value_or("/tmp"),
                                    std::string("/tmp"), std::string("/dev/shm")}) {
    std::error_code failed;
    const std::string absolute = std::filesystem::absolute(parent, failed).string();
    if (auto path = new_folder(absolute, "toprun", temporary_folder_mode)) return *path;
  }
  return {};
}

}  // namespace

Result<Logs> Logs::create(const std::optional<std::string>& log_dir, const std::string& run_id,
                          const Environment& environment) {
  if (!log_dir) {
    const std::string folder = new_temporary_folder(environment);
    keeper_removes(folder);
    return Logs(folder, false, true);
  }
  const auto unwritable = [&](int code) {
    return usage(fmt::format("cannot write logs to {}", *log_dir), errno_text(code),
                 "name a folder that can be written with --log-dir");
  };
  std::error_code failed;
  // Workers may change their folder, so the path of their error file must not depend on it.
  const std::filesystem::path parent = std::filesystem::absolute(*log_dir, failed);
  if (!failed) std::filesystem::create_directories(parent, failed);
  if (failed) return unwritable(failed.value());
  auto folder = new_folder(parent.string(), file_name_of(run_id), log_folder_mode);
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
  const std::string folder = fmt::format("{}/attempt_{}/{}", folder_, attempt, local_rank);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return fail("cannot make the log folder " + folder, failed.message(),
                "name a folder that can be written with --log-dir");
  }
  WorkerFiles files;
  files.error_json = folder + "/error.json";
  if (kept_) {
    files.stdout_log = folder + "/stdout.log";
    files.stderr_log = folder + "/stderr.log";
  }
  return files;
}

}  // namespace toprun::agent
