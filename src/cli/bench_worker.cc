#include "cli/bench_worker.h"

#include <fmt/format.h>

#include "base/console.h"
#include "base/print.h"
#include "bench/collective.h"
#include "cli/bench_output.h"
#include "cli/bench_request.h"
#include "measure/cells.h"
#include "measure/join.h"
#include "measure/session.h"
#include "options/split.h"

namespace toprun::cli {
namespace {

using measure::Cell;

constexpr std::chrono::seconds join_limit{120};

Result<BenchRequest> request_of(const std::vector<std::string>& argv,
                                const Environment& environment) {
  const std::vector<std::string> own(argv.begin() + 2, argv.end());
  const auto split = options::split_verb(own, options::Command::bench);
  if (!split) return std::unexpected(split.error());
  return bench_request({options::Command::bench, *split, environment, own});
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

Result<int> work(const std::vector<std::string>& argv, const Environment& environment) {
  const auto request = request_of(argv, environment);
  if (!request) return std::unexpected(request.error());
  const auto self = measure::self_from(environment);
  if (!self) return std::unexpected(self.error());
  auto group = measure::join(*self, join_limit);
  if (!group) return std::unexpected(group.error());
  const auto cells = measure::cells(request->measured, group->peers);
  if (!cells) return std::unexpected(cells.error());
  if (auto fits = check(*request, *group, *cells); !fits) return std::unexpected(fits.error());
  if (self->rank != 0) {
    auto done = measure::measure(*group, request->measured, *cells, {});
    return done ? Result<int>(0) : std::unexpected(done.error());
  }
  BenchOutput output(*request, *group, *cells, argv);
  auto done = measure::measure(*group, request->measured, *cells,
                               [&](const measure::CellRow& row) { output.add(row); });
  if (!done) return std::unexpected(done.error());
  return output.finish();
}

}  // namespace

int run_bench_worker(const std::vector<std::string>& argv, const Environment& environment) {
  const auto code = work(argv, environment);
  return code ? *code : give_up(code.error());
}

}  // namespace toprun::cli
