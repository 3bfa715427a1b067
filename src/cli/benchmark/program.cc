#include "cli/benchmark/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "cli/benchmark/request.h"
#include "engines/gpus.h"
#include "node/plan/login_orders.h"

namespace toprun::benchmark {
namespace {

using measure::Self;
using std::chrono::milliseconds;

Result<std::string_view> program_of_all(const std::vector<std::string>& backends) {
  std::string_view name;
  for (const std::string& backend : backends) {
    const auto of_backend = backend_of(backend).program;
    if (of_backend.empty() || of_backend == name) continue;
    if (!name.empty()) {
      return usage(
          fmt::format("--backend {}", join(backends, ",")),
          fmt::format("{} and {} are different programs, and a job can run only one of them", name,
                      of_backend),
          "measure in two jobs, then compare the results with toprun bench compare");
    }
    name = of_backend;
  }
  return name;
}

std::filesystem::path beside_toprun(std::string_view name) {
  return process::own_path().value_or("").parent_path() / name;
}

bool is_program(const std::filesystem::path& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

std::string absence_of(const std::vector<std::string>& backends) {
  return fmt::format(
      "--backend {} needs this program, because toprun is a static program and cannot open "
      "libraries",
      join(backends, ","));
}

// The wheel has no program for Gloo, which needs Debian's library.
std::string way_to(std::string_view name) {
  const bool is_of_gloo = name == backend_of("gloo").program;
  return fmt::format("put the {} of the same build beside toprun{}", name,
                     is_of_gloo ? " (the wheel does not contain it; a build with libgloo-dev "
                                  "creates it), or measure with --backend tcp"
                                : "");
}

std::string key_of(const Self& self, std::string_view name) {
  return fmt::format("toprun.bench/{}/{}", self.attempt, name);
}

// Rank 0's value under this name, for all of them. `make`: called on rank 0 alone.
template <class Make>
Result<std::string> from_rank_0(const Self& self, std::string_view name, milliseconds limit,
                                Make make) {
  auto store = TRY(measure::connect_store(self, limit));
  const std::string key = key_of(self, name);
  if (self.rank == 0) {
    Result<std::string> value = make();
    if (!value) return value;
    auto set = store.set(key, *value);
    return set ? value : std::unexpected(set.error());
  }
  const auto arrived = TRY(store.wait(std::span(&key, 1), limit));
  if (!arrived)
    return fail("rank 0", fmt::format("it sent no answer within {} s", limit.count() / 1000));
  return store.get(key);
}

constexpr std::string_view program_key = "program";

// The first rank that has the program puts it into the store. By ssh only the root's host has it,
// which need not be rank 0's.
Result<void> offer_program(const Self& self, const std::filesystem::path& own, milliseconds limit) {
  auto store = TRY(measure::connect_store(self, limit));
  const auto turn = TRY(store.add(key_of(self, "offered"), 1));
  if (turn > 1) return {};
  // Empty: it cannot be sent, as one that is unstripped and so too large.
  const auto content = read_file(own, plan::max_rank_program_bytes);
  if (!content) say("warning: " + content.error().line());
  return store.set(key_of(self, program_key), content.value_or(""));
}

// Empty: no rank can send the program. The last rank to miss it says so to all.
Result<std::string> received_program(const Self& self, const std::filesystem::path& own,
                                     milliseconds limit) {
  auto store = TRY(measure::connect_store(self, limit));
  const std::string key = key_of(self, program_key);
  const auto missing = TRY(store.add(key_of(self, "missing"), 1));
  if (std::cmp_equal(missing, self.size)) {
    TRY(store.set(key, ""));
  }
  const auto arrived = TRY(store.wait(std::span(&key, 1), limit));
  if (arrived) return store.get(key);
  return fail(fmt::format("there is no program {} on {}", own.string(), hosts::host_name()),
              fmt::format("no rank sent it within {} s", limit.count() / 1000),
              way_to(own.filename().string()));
}

std::string backend_by_hardware(const Environment& environment) {
  const int gpus = engines::visible_gpus(environment).count;
  const auto ranks = parse_int(environment.get("LOCAL_WORLD_SIZE").value_or("1")).value_or(1);
  const auto vendor = engines::gpu_vendor();
  if (vendor == engines::GpuVendor::none || gpus < ranks) return "tcp";
  const std::string backend = vendor == engines::GpuVendor::nvidia ? "nccl" : "rccl";
  const std::string_view program = backend_of(backend).program;
  const bool has_program = is_program(beside_toprun(program));
  say(fmt::format("{} here{}, so toprun uses --backend {}; --backend {}",
                  counted(static_cast<std::size_t>(gpus), "GPU"),
                  has_program ? "" : fmt::format(", but no {} beside toprun", program),
                  has_program ? backend : "tcp",
                  has_program ? "tcp measures the network without GPUs"
                              : backend + " needs this program, and measures the GPUs"));
  return has_program ? backend : "tcp";
}

class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

// As if the command line had named them: what the job uses by itself, all ranks agree on before.
Words words_for(std::vector<std::string> argv, std::string program,
                const std::vector<std::string>& backends) {
  argv.front() = std::move(program);
  argv.push_back("--backend=" + join(backends, ","));
  return Words(std::move(argv));
}

std::unexpected<Error> run_from_memory(const std::string& bytes, const std::string& name,
                                       Words words) {
  const auto file = TRY(process::memory_file(bytes, name.c_str()));
  ::fexecve(file.get(), words.get(), environ);
  return fail_errno(fmt::format("cannot run {} from memory", name));
}

}  // namespace

Result<std::string> program_for(const std::vector<std::string>& backends) {
  if (backends.empty()) return std::string(backend_of("nccl").program);
  const auto name = TRY(program_of_all(backends));
  return std::string(name);
}

Result<void> check_program(const std::vector<std::string>& backends) {
  const auto name = TRY(program_of_all(backends));
  if (name.empty() || is_program(beside_toprun(name))) return {};
  return usage(
      fmt::format("there is no program {} on {}", beside_toprun(name).string(), hosts::host_name()),
      absence_of(backends), way_to(name));
}

Result<std::string> usual_backend(const Self& self, const Environment& environment,
                                  milliseconds limit) {
  return from_rank_0(self, "backend", limit,
                     [&]() -> Result<std::string> { return backend_by_hardware(environment); });
}

std::unexpected<Error> become_bench_program(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& backends,
                                            const Self& self, milliseconds limit) {
  const auto name = TRY(program_of_all(backends));
  const auto own = beside_toprun(name);
  const bool is_here = is_program(own);
  const auto absent = [&] {
    return fail(fmt::format("there is no program {} on {}", own.string(), hosts::host_name()),
                absence_of(backends), way_to(name));
  };
  if (!is_here && self.nodes == 1) return absent();
  if (!is_here) {
    const auto bytes = TRY(received_program(self, own, limit));
    if (bytes.empty()) return absent();
    return run_from_memory(bytes, std::string(name), words_for(argv, std::string(name), backends));
  }
  if (self.nodes > 1) TRY(offer_program(self, own, limit));
  ::execv(own.c_str(), words_for(argv, own.string(), backends).get());
  return fail_errno(fmt::format("--backend {}: cannot run {}", join(backends, ","), own.string()));
}

}  // namespace toprun::benchmark
