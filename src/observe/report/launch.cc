#include <fmt/format.h>

#include "base/os/style.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "observe/report/report.h"

namespace toprun::report {
namespace {

constexpr std::size_t most_named = 3;

std::string members(const model::Launch& launch) {
  return counted(launch.total, launch.counts_ranks ? "rank" : "node");
}

// ", not n2, n3 and 5 others".
std::string without(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const std::size_t named = names.size() <= most_named ? names.size() : most_named;
  std::string text = ", not " + join(std::span(names).first(named), ", ");
  if (names.size() > named) text += " and " + counted(names.size() - named, "other");
  return text;
}

std::string some(const model::Launch& launch, std::string_view done) {
  return fmt::format("{} of {} {}{}", launch.ready, members(launch), done, without(launch.missing));
}

// What the store here counts is newer than what was reported; only that has names.
model::Awaited newest(const model::Launch& launch) {
  model::Awaited awaited{.arrived = launch.joined, .of = launch.ranks};
  if (launch.joined == launch.ranks) {
    awaited.at_store = false;
    awaited.arrived = launch.met;
  }
  const std::optional<model::Awaited>& reported = launch.awaited;
  if (!reported) return awaited;
  const bool is_newer = awaited.at_store != reported->at_store
                            ? reported->at_store
                            : awaited.arrived > reported->arrived;
  return is_newer ? awaited : *reported;
}

std::string ranks_text(const model::Launch& launch) {
  const model::Awaited awaited = newest(launch);
  if (awaited.arrived == 0 && awaited.at_store) {
    return fmt::format("{} started, none has connected to the store yet",
                       counted(launch.ranks, "rank"));
  }
  return model::awaited_text(awaited);
}

std::string step_text(const model::Launch& launch) {
  const bool is_alone = launch.total == 1;
  switch (launch.step) {
    case model::Launch::Step::join:
      return is_alone ? "the node joins" : some(launch, "have joined");
    case model::Launch::Step::order:
      return is_alone ? "the ranks get their places" : members(launch) + " get their places";
    case model::Launch::Step::prepare:
      return is_alone ? "the node gets ready" : some(launch, "are ready");
    case model::Launch::Step::start:
      return is_alone ? "the ranks start" : some(launch, "have started");
    case model::Launch::Step::meet:
      return ranks_text(launch);
  }
  return "";
}

}  // namespace

std::string launch_line(const model::Launch& launch, std::size_t columns) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(launch.elapsed);
  const std::string elapsed = seconds < std::chrono::minutes(1)
                                  ? fmt::format("{} s", seconds.count())
                                  : duration_text(seconds);
  const std::string attempt = launch.attempt > 0 ? fmt::format("attempt {}, ", launch.attempt) : "";
  return both_ends(printable(fmt::format("toprun: {}, {}{}", elapsed, attempt, step_text(launch))),
                   columns);
}

}  // namespace toprun::report
