// Four ranks print 100,000 lines of 100 bytes each: the CPU time that carrying them costs.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "agent/workers.h"

namespace toprun::agent {
namespace {

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

// `halves`: each line comes in two writes.
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

OutputPlan console_plan(boost::asio::io_context& io, int fd) {
  OutputPlan plan;
  plan.console = std::make_shared<Terminal>(io, ConsoleDescriptors{fd, fd}, false);
  return plan;
}

void carry(benchmark::State& state, bool halves, const char* prefix, bool file) {
  const Inherited inherited = Inherited::capture();
  double cpu = 0;
  for (auto _ : state) {
    boost::asio::io_context io;
    const Fd null(
        ::open("/tmp/toprun_output_bench", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    std::vector<WorkerPlan> plans(ranks);
    for (WorkerPlan& plan : plans) {
      plan.argv = {"python3", "-S", "-c", script(halves)};
      plan.environment = {{"PATH", "/usr/bin:/bin"}};
      plan.out.prefix = prefix;
      if (file) plan.out.file = "/dev/null";
    }
    const double before = cpu_seconds();
    Workers workers(io, inherited, "here", plans, {{}, [&] { io.stop(); }},
                    console_plan(io, null.get()));
    if (!workers.start()) return state.SkipWithError("python3 does not start");
    io.run();
    cpu += cpu_seconds() - before;
  }
  ::unlink("/tmp/toprun_output_bench");
  state.counters["cpu_s"] = cpu / static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * ranks * lines *
                          line_bytes);
}

BENCHMARK_CAPTURE(carry, plain, false, "", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, halves, true, "", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(carry, prefix_and_file, false, "[default0]:", true)
    ->Unit(benchmark::kMillisecond);

void start_and_reap(benchmark::State& state) {
  const Inherited inherited = Inherited::capture();
  for (auto _ : state) {
    boost::asio::io_context io;
    std::vector<WorkerPlan> plans(ranks);
    for (WorkerPlan& plan : plans) {
      plan.argv = {"true"};
      plan.environment = {{"PATH", "/usr/bin:/bin"}};
    }
    Workers workers(io, inherited, "here", plans, {{}, [&] { io.stop(); }},
                    console_plan(io, STDOUT_FILENO));
    if (!workers.start()) return state.SkipWithError("true does not start");
    io.run();
  }
}
BENCHMARK(start_and_reap)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::agent
