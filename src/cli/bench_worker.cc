#include "cli/bench_worker.h"

#include <fmt/format.h>

#include "base/console.h"
#include "base/open_files.h"
#include "base/print.h"
#include "bench/collective.h"
#include "cli/bench_output.h"
#include "cli/bench_pairs.h"
#include "cli/bench_request.h"
#include "measure/cells.h"
#include "measure/join.h"
#include "measure/session.h"
#include "options/split.h"

namespace toprun::cli {
namespace {

using measure::Cell;

constexpr std::chrono::seconds join_limit{120};

// As the verb read it: the words behind "bench", of which the first may name a verb of its own.
Result<options::Call> call_of(const std::vector<std::string>& argv,
                              const Environment& environment) {
  std::vector<std::string> own(argv.begin() + 2, argv.end());
  auto command = options::Command::bench;
  if (own.front() == "pairs") {
    command = options::Command::bench_pairs;
    own.erase(own.begin());
  }
  auto split = options::split_verb(own, command);
  if (!split) return std::unexpected(split.error());
  return options::Call{command, *std::move(split), environment, own};
}

// Before anything is measured: what only the started job tells.
Result<void> check(const BenchRequest& request, const measure::Group& group,
                   std::span<const Cell> cells) {
  if (request.measured.root >= group.self.size) {
    return usage(fmt::format("--root {}", request.measured.root),
                 fmt::format("the job has ranks 0 to {}", group.self.size - 1));
  }
  for (const Cell& cell : cells) {
    if (!cell.position_of(request.measured.root)) {
      return usage(fmt::format("--root {}", request.measured.root),
                   "it is not among the ranks that are compared");
    }
  }
  return {};
}

Result<int> measure_cells(const BenchRequest& request, measure::Group& group,
                          const std::vector<std::string>& argv, const Environment& environment) {
  const auto cells = measure::cells(request.measured, group.peers);
  if (!cells) return std::unexpected(cells.error());
  if (auto fits = check(request, group, *cells); !fits) return std::unexpected(fits.error());
  if (group.self.rank != 0) {
    auto done = measure::measure(group, request.measured, *cells, {});
    return done ? Result<int>(0) : std::unexpected(done.error());
  }
  BenchOutput output(request, group, *cells, argv, environment);
  auto done = measure::measure(group, request.measured, *cells,
                               [&](const measure::CellRow& row) { output.add(row); });
  if (!done) return std::unexpected(done.error());
  return output.finish();
}

Result<int> work(const std::vector<std::string>& argv, const Environment& environment) {
  const auto call = call_of(argv, environment);
  if (!call) return std::unexpected(call.error());
  const auto self = measure::self_from(environment);
  if (!self) return std::unexpected(self.error());
  auto group = measure::join(*self, join_limit);
  if (!group) return std::unexpected(group.error());
  if (call->command == options::Command::bench_pairs) return run_pairs(*call, *group);
  const auto request = bench_request(*call);
  return request ? measure_cells(*request, *group, argv, environment)
                 : std::unexpected(request.error());
}

}  // namespace

int run_bench_worker(const std::vector<std::string>& argv, const Environment& environment) {
  raise_open_files();  // a connection to each other rank
  const auto code = work(argv, environment);
  return code ? *code : give_up(code.error());
}

}  // namespace toprun::cli
