// Four ranks print 100,000 lines of 100 bytes each: measures the CPU time of carrying them.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <filesystem>

#include "node/worker/workers.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;

constexpr int ranks = 4;
constexpr int lines = 100'000;
constexpr int line_bytes = 100;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// `halves`: each line is written in two writes.
std::string script(bool halves) {
  const int part = halves ? line_bytes / 2 : line_bytes;
  return fmt::format(
      "import os\n"
      "for i in range({}):\n"
      "{}    os.write(1, b'{}\\n')\n",
      lines,
      halves ? fmt::format("    os.write(1, b'{}')\n", std::string(line_bytes / 2, 'x')) : "",
      std::string(static_cast<std::size_t>(part - 1), 'y'));
}

output::OutputPlan console_plan(boost::asio::io_context& io, int fd) {
  output::OutputPlan plan;
  plan.console = std::make_shared<output::Terminal>(io, output::ConsoleDescriptors{fd, fd}, false);
  return plan;
}

struct Case {
  bool halves = false;
  const char* prefix = "";
  bool file = false;
  bool fold = false;
  std::optional<std::uint64_t> log_max_bytes{};
  std::vector<std::string> needles{};
};

std::vector<WorkerPlan> worker_plans(const Case& what, const fs::path& folder) {
  std::vector<WorkerPlan> plans(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    WorkerPlan& plan = plans[static_cast<std::size_t>(rank)];
    plan.argv = {"python3", "-S", "-c", script(what.halves)};
    plan.environment = {{"PATH", "/usr/bin:/bin"}};
    plan.out.prefix = what.prefix;
    plan.out.rank = rank;
    plan.out.filtered = true;
    if (what.file) plan.out.file = folder / fmt::format("log{}", rank);
  }
  return plans;
}

void carry(benchmark::State& state, const Case& what) {
  const spawn::Inherited inherited = spawn::Inherited::capture();
  std::string name = (fs::temp_directory_path() / "toprun_bench_XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  double cpu = 0;
  for (auto _ : state) {
    boost::asio::io_context io;
    const Fd console(
        ::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    output::OutputPlan plan = console_plan(io, console.get());
    plan.fold = what.fold;
    plan.log_max_bytes = what.log_max_bytes;
    if (!what.needles.empty()) plan.filtered_out = {folder / "filtered", what.needles};
    const double before = cpu_seconds();
    Workers workers(io, own_children(io, inherited, "here"), "here", worker_plans(what, folder),
                    {{}, [&] { io.stop(); }}, plan);
    if (!workers.start()) return state.SkipWithError("python3 does not start");
    io.run();
    cpu += cpu_seconds() - before;
  }
  fs::remove_all(folder);
  state.counters["cpu_s"] = cpu / static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * ranks * lines *
                          line_bytes);
}

constexpr const char* usual_prefix = "[default0]:";
const Case plain;
const Case halves{.halves = true};
const Case tee{.prefix = usual_prefix, .file = true};
const Case tee_rotated{.prefix = usual_prefix, .file = true, .log_max_bytes = 1u << 20};
const Case tee_filtered{.prefix = usual_prefix, .file = true, .needles = {"nowhere", "never"}};
const Case folded{.fold = true};

BENCHMARK_CAPTURE(carry, plain, plain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, halves, halves)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, tee, tee)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, tee_rotated, tee_rotated)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, tee_filtered, tee_filtered)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, folded, folded)->Unit(benchmark::kMillisecond);

void start_and_reap(benchmark::State& state) {
  const spawn::Inherited inherited = spawn::Inherited::capture();
  for (auto _ : state) {
    boost::asio::io_context io;
    std::vector<WorkerPlan> plans(ranks);
    for (WorkerPlan& plan : plans) {
      plan.argv = {"true"};
      plan.environment = {{"PATH", "/usr/bin:/bin"}};
    }
    Workers workers(io, own_children(io, inherited, "here"), "here", plans,
                    {{}, [&] { io.stop(); }}, console_plan(io, STDOUT_FILENO));
    if (!workers.start()) return state.SkipWithError("true does not start");
    io.run();
  }
}
BENCHMARK(start_and_reap)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::worker
