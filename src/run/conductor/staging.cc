#include "run/conductor/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "run/conductor/coordinator.h"

// How the environment gets to all nodes (--stage).
namespace toprun::run {
namespace {

// How many domains two nodes share, from the outermost on.
std::size_t shared_domains(const std::string& a, const std::string& b) {
  const auto ours = split(a, '/');
  const auto theirs = split(b, '/');
  const std::size_t most = std::min(ours.size(), theirs.size());
  std::size_t shared = 0;
  while (shared < most && ours[shared] == theirs[shared]) ++shared;
  return shared;
}

}  // namespace

std::vector<std::vector<std::size_t>> upstreams_of(const std::vector<std::string>& locations,
                                                   std::size_t source) {
  const std::size_t nodes = locations.size();
  std::vector<std::size_t> chain(nodes);
  std::iota(chain.begin(), chain.end(), 0);
  std::ranges::rotate(chain, chain.begin() + static_cast<std::ptrdiff_t>(source));
  std::ranges::stable_sort(chain.begin() + 1, chain.end(), std::greater(), [&](std::size_t node) {
    return shared_domains(locations[node], locations[source]);
  });
  std::vector<std::vector<std::size_t>> upstreams(nodes);
  for (std::size_t place = 1; place < nodes; ++place) {
    std::vector<std::size_t>& ours = upstreams[chain[place]];
    const std::size_t first = place > most_predecessors ? place - most_predecessors : 1;
    for (std::size_t before = place; before-- > first;) ours.push_back(chain[before]);
    ours.push_back(source);
  }
  return upstreams;
}

// Nodes that have it already, from an attempt before, are in the chain too: others take it from
// them.
void Coordinator::plan_staging() {
  std::vector<Part>& parts = attempt_.parts;
  std::vector<std::size_t> order(parts.size());  // by place in the order: the part
  for (std::size_t i = 0; i < parts.size(); ++i) {
    order[static_cast<std::size_t>(parts[i].plan.group_rank)] = i;
  }
  std::vector<std::string> locations;
  std::size_t source = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const Part& part = parts[order[place]];
    locations.push_back(part.plan.location);
    if (roster_.find(part.agent)->is_own()) source = place;
  }
  const auto upstreams = upstreams_of(locations, source);
  for (std::size_t place = 0; place < order.size(); ++place) {
    model::StagePart stage{settings_.stage_key, {}};
    for (const std::size_t from : upstreams[place]) {
      stage.sources.push_back(address_of(order[from]));
    }
    parts[order[place]].plan.stage = std::move(stage);
  }
}

void Coordinator::on_staged(const Node& node, const model::Staged& staged) {
  if (!staged.why_not.empty()) {
    attempt_.unstaged.emplace_back(node.join.host, staged.why_not);
    return;
  }
  attempt_.staged.push_back({staged.took, std::nullopt, node.join.host});
  attempt_.staged_bytes += staged.bytes;
  course_now().phases.staged = now_.steady;
}

// One line for all nodes that start from the environment itself, with the first one's reason.
void Coordinator::tell_staging() {
  AttemptCourse& course = course_now();
  course.spreads.stage = model::spread_of(attempt_.staged);
  if (!attempt_.unstaged.empty()) {
    const auto& [host, why] = attempt_.unstaged.front();
    std::string line = fmt::format("{}: --stage is left out: {}", host, why);
    std::vector<std::string> others;
    for (const auto& [other, its_reason] : attempt_.unstaged) others.push_back(other);
    others.erase(others.begin());
    if (!others.empty()) line += "; so it is on " + hosts::compress_hostlist(others);
    tell_user(std::move(line));
  }
  if (!course.phases.staged) return;
  constexpr double mib = 1 << 20;
  const double received = static_cast<double>(attempt_.staged_bytes) / mib;
  tell_phase(fmt::format("the environment is on {}, {:.1f} MiB were copied",
                         counted(attempt_.staged.size(), "more node"), received),
             *course.phases.staged, {.stage = course.spreads.stage});
}

}  // namespace toprun::run
