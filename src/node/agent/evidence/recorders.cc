#include "node/agent/evidence/recorders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>
#include <tuple>

#include "base/os/fd.h"
#include "base/os/files.h"
#include "machine/stacks/within.h"

namespace toprun::evidence {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* pipe_variable = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE";
constexpr const char* dump_variable = "TORCH_FR_DUMP_TEMP_FILE";
constexpr const char* old_dump_variable = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE";
constexpr std::size_t most_dump_bytes = 64u << 20;
constexpr std::chrono::milliseconds between_looks{100};

bool is_own_folder(const std::string& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

bool takes_pipes(const std::string& folder) {
  const std::string probe = folder + "/probe";
  const bool made = ::mkfifo(probe.c_str(), S_IRUSR | S_IWUSR) == 0;
  return ::unlink(probe.c_str()) == 0 && made;
}

bool is_own_pipe(const struct stat& status) {
  return S_ISFIFO(status.st_mode) && status.st_uid == ::geteuid();
}

bool is_own_pipe(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && is_own_pipe(status);
}

// False if no process reads it, or it is not what it should be.
bool knock(const std::string& path) {
  if (!is_own_pipe(path)) return false;
  const Fd pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!pipe || ::fstat(pipe.get(), &status) != 0 || !is_own_pipe(status)) return false;
  return ::write(pipe.get(), "1", 1) == 1;
}

// Tells one version of a file from the next.
using Version = std::tuple<ino_t, off_t, time_t, long>;
Version version_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

struct Awaited {
  RecorderFiles files;
  std::vector<Version> before;
};

// Nothing: it has not come yet, or is not whole.
std::optional<recorder::Dump> new_dump(const Awaited& awaited) {
  for (std::size_t i = 0; i < awaited.files.dumps.size(); ++i) {
    const std::string& path = awaited.files.dumps[i];
    if (version_of(path) == awaited.before[i]) continue;
    const auto bytes = read_plain_file(path, most_dump_bytes);
    if (!bytes) continue;
    if (auto dump = recorder::parse_dump(*bytes)) return *std::move(dump);
  }
  return std::nullopt;
}

recorder::Summary ask(std::vector<RecorderFiles> all, Clock::time_point end) {
  std::vector<Awaited> awaited;
  for (RecorderFiles& files : all) {
    Awaited one{std::move(files), {}};
    for (const std::string& path : one.files.dumps) one.before.push_back(version_of(path));
    if (knock(one.files.pipe)) awaited.push_back(std::move(one));
  }
  std::map<int, recorder::Dump> dumps;
  while (!awaited.empty() && Clock::now() < end) {
    std::this_thread::sleep_for(between_looks);
    std::erase_if(awaited, [&](const Awaited& one) {
      auto dump = new_dump(one);
      if (dump) dumps[one.files.rank] = *std::move(dump);
      return dump.has_value();
    });
  }
  return recorder::bounded_summary_of(dumps);
}

}  // namespace

void let_recorders_listen(Environment& environment, const std::string& folder,
                          const std::optional<std::string>& dumps) {
  const bool made = ::mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST;
  if (!environment.has(pipe_variable) && made && is_own_folder(folder) && takes_pipes(folder)) {
    environment.set(pipe_variable, folder + "/rank_");
  }
  if (!dumps || environment.has(dump_variable) || environment.has(old_dump_variable)) return;
  std::error_code failed;
  std::filesystem::create_directories(*dumps, failed);
  if (failed || !is_own_folder(*dumps)) return;
  environment.set(dump_variable, *dumps + "/comm_lib_trace_rank_");
  environment.set(old_dump_variable, *dumps + "/comm_lib_trace_rank_");
}

RecorderFiles recorder_files(int rank, const Environment& environment) {
  RecorderFiles files{.rank = rank, .pipe = {}, .dumps = {}};
  if (const auto stem = environment.non_empty(pipe_variable)) {
    files.pipe = fmt::format("{}{}.pipe", *stem, rank);
  }
  std::vector<std::string> stems;
  for (const char* name : {dump_variable, old_dump_variable}) {
    if (auto stem = environment.non_empty(name)) stems.push_back(*std::move(stem));
  }
  if (stems.empty()) {
    const auto home = environment.non_empty("HOME");
    const auto cache = environment.non_empty("XDG_CACHE_HOME");
    if (cache) stems.push_back(*cache + "/torch/comm_lib_trace_rank_");
    if (home && !cache) stems.push_back(*home + "/.cache/torch/comm_lib_trace_rank_");
    stems.emplace_back("/tmp/nccl_trace_rank_");  // up to PyTorch 2.8
  }
  for (const std::string& stem : stems) files.dumps.push_back(fmt::format("{}{}", stem, rank));
  return files;
}

std::vector<RecorderFiles> listening(std::vector<RecorderFiles> all) {
  std::erase_if(all, [](const RecorderFiles& files) {
    return files.pipe.empty() || !is_own_pipe(files.pipe);
  });
  return all;
}

recorder::Summary ask_recorders(std::vector<RecorderFiles> all, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  const std::function<recorder::Summary()> work = [all = std::move(all), end] {
    return ask(all, end);
  };
  constexpr std::chrono::milliseconds to_read{500};
  return stacks::within(limit + to_read, work).value_or(recorder::Summary());
}

}  // namespace toprun::evidence
