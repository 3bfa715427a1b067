#include "bench/measure/bisect.h"

#include <fmt/format.h>

#include <array>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "cli/benchmark/worker.h"
#include "cli/options/flags.h"
#include "run/model/exit.h"

namespace toprun::benchmark {
namespace {

using options::FlagId;
using pairs::Bisection;
using pairs::Outcome;

constexpr std::string_view bisect_word = "--bisect";
// A group that has to connect as well may take so many times --stall-timeout.
constexpr int limit_in_stalls = 2;
constexpr std::size_t most_named = 8;

// They compare or keep figures, and a search has none.
constexpr std::array excluded = {
    FlagId::save,           FlagId::plot,           FlagId::history,         FlagId::expect_busbw,
    FlagId::compared_nodes, FlagId::compared_ranks, FlagId::compared_orders, FlagId::fabrics,
    FlagId::until_cv,       FlagId::root_rank};

class Names {
 public:
  explicit Names(const measure::Group& group) : hosts_(group.self.nodes) {
    for (const measure::Peer& peer : group.peers) hosts_.at(peer.node) = printable(peer.host);
  }

  const std::string& of(std::size_t node) const { return hosts_.at(node); }

  // "n0, n1, n2", or the first and last of many.
  std::string of(const std::vector<std::size_t>& nodes) const {
    if (nodes.size() > most_named) {
      return fmt::format("{} … {}", of(nodes.front()), of(nodes.back()));
    }
    std::string out;
    for (const std::size_t node : nodes) out += (out.empty() ? "" : ", ") + of(node);
    return out;
  }

 private:
  std::vector<std::string> hosts_;
};

std::string_view word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::failed:
      return "failed";
    case Outcome::hung:
      return "hung";
  }
  return {};
}

std::string tried_line(const Names& names, const measure::Tried& tried) {
  constexpr std::string_view own_name = "toprun: ";
  std::string_view said = tried.why;
  if (said.starts_with(own_name)) said.remove_prefix(own_name.size());
  const std::string why = said.empty() ? "" : ": " + printable(said);
  return fmt::format("{} ({}) {}{}", counted(tried.nodes.size(), "node"), names.of(tried.nodes),
                     word_of(tried.outcome), why);
}

std::string found_line(const Names& names, std::string_view collective, std::size_t nodes,
                       const Bisection::Found& found) {
  const std::string_view does = found.hung ? "hangs" : "fails";
  switch (found.kind) {
    case Bisection::Kind::nothing:
      return fmt::format("{}: {} does not hang", counted(nodes, "node"), collective);
    case Bisection::Kind::node:
      return fmt::format("{}: {} {} with this node, and not without it", names.of(found.nodes[0]),
                         collective, does);
    case Bisection::Kind::pair:
      return fmt::format("{} – {}: {} {} between them{}", names.of(found.nodes[0]),
                         names.of(found.nodes[1]), collective, does,
                         nodes > 2 ? ", and not with others" : "");
    case Bisection::Kind::group:
      return fmt::format("{}: {} {} with all of these nodes, but not with any two of them",
                         names.of(found.nodes), collective, does);
  }
  return {};
}

}  // namespace

Result<void> check_bisect(const options::Call& call, const BenchRequest& request) {
  for (const FlagId id : excluded) {
    const auto argument = call.argument(id);
    if (argument)
      return usage(argument->label(),
                   "this option does not work with --bisect, which only runs one collective");
  }
  if (request.measured.backends.size() > 1) {
    return usage("--backend", "--bisect works with only one backend");
  }
  return {};
}

Result<int> run_bisect(const std::vector<std::string>& argv, const BenchRequest& request,
                       measure::Group& group, const Environment& environment) {
  if (group.self.nodes < 2) return usage(std::string(bisect_word), "the job has only one node");
  const std::chrono::milliseconds stall = request.measured.stall_limit;
  measure::TrialCommand command{argv, environment, stall, limit_in_stalls * stall};
  command.argv.front() = process::own_program;
  std::erase(command.argv, bisect_word);
  const Names names(group);
  const auto found = TRY(measure::bisect(
      group, command, [&](const measure::Tried& tried) { say(tried_line(names, tried)); }));
  if (group.self.rank != 0) return 0;
  const std::string_view collective = bench::facts_of(request.measured.collective).name;
  print(found_line(names, collective, group.self.nodes, found) + "\n");
  return found.kind == Bisection::Kind::nothing ? 0 : model::exit_found;
}

}  // namespace toprun::benchmark
