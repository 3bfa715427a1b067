#include "run/model/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <climits>
#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/clock.h"
#include "base/text/text.h"

namespace toprun::model {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds worth_telling{1'000};
constexpr milliseconds worth_comparing{100};

// The phases that last differently long on different nodes or ranks.
struct Part {
  const char* name;
  std::optional<Spread> Spreads::*spread;
  bool of_ranks;             // or of nodes
  std::string_view purpose;  // after "took 41 s"
};
constexpr std::array parts = {
    Part{"join", &Spreads::join, false, "to join"},
    Part{"stage", &Spreads::stage, false, "to copy the environment"},
    Part{"warm", &Spreads::warm, false, "to import for --warm"},
    Part{"prefetch", &Spreads::prefetch, false, "to read what its ranks import"},
    Part{"spawn", &Spreads::spawn, false, "to start its ranks"},
    Part{"import", &Spreads::import, true, "to import"},
    Part{"first_collective", &Spreads::first_collective, true,
         "from the store to its first collective"},
};

constexpr std::array<NamedPhase, 8> phase_names = {
    {{"join", &Phases::join, "nodes joined"},
     {"order", &Phases::order, "ordered"},
     {"stage", &Phases::stage, "files copied"},
     {"spawn", &Phases::spawn, "ranks started"},
     {"first_connect", &Phases::first_connect, "first at the store"},
     {"import", &Phases::import, ""},
     {"last_connect", &Phases::last_connect, "all at the store"},
     {"first_collective", &Phases::first_collective, "first collective"}}};
constexpr std::int64_t longest_ms = milliseconds(std::chrono::years(1)).count();

json spread_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"node", or_null(spread->node)},
          {"rank", or_null(spread->rank)},
          {"ms", spread->slowest.count()},
          {"median_ms", spread->median.count()},
          {"counted", spread->counted}};
}

template <class Named>
void take_name(const json& object, Named& named) {
  if (const auto rank = number_at(object, "rank", INT_MAX)) named.rank = static_cast<int>(*rank);
  named.node = text_at(object, "node");
}

std::optional<Spread> spread_in(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto counted = number_at(object, "counted", INT_MAX);
  const auto median = number_at(object, "median_ms", longest_ms);
  const auto slowest = number_at(object, "ms", longest_ms);
  if (!counted || !median || !slowest) return std::nullopt;
  Spread spread{static_cast<std::size_t>(*counted), milliseconds(*median), milliseconds(*slowest)};
  take_name(object, spread);
  return spread;
}

std::string who(const Spread& spread, const Part& part) {
  if (!part.of_ranks) return spread.node.empty() ? "one node" : spread.node;
  const std::string rank = spread.rank ? fmt::format("rank {}", *spread.rank) : "one rank";
  return spread.node.empty() ? rank : fmt::format("{} on {}", rank, spread.node);
}

}  // namespace

std::optional<Spread> spread_of(std::span<const Share> shares) {
  if (shares.empty()) return std::nullopt;
  const auto slowest = std::ranges::max_element(shares, {}, &Share::took);
  std::vector<milliseconds> times;
  times.reserve(shares.size());
  for (const Share& share : shares) times.push_back(share.took);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return Spread{shares.size(), *middle, slowest->took, slowest->rank, std::string(slowest->node)};
}

std::span<const NamedPhase> phases_by_name() {
  return phase_names;
}

std::vector<std::string> times_texts(const Phases& phases) {
  std::vector<std::string> texts;
  for (const auto& [name, time, words] : phase_names) {
    if (!words.empty() && phases.*time) {
      texts.push_back(fmt::format("{} {}", words, duration_text(*(phases.*time))));
    }
  }
  return texts;
}

json phases_json(const Phases& phases) {
  json object = json::object();
  for (const auto& [name, time, words] : phase_names) object[name] = or_null(phases.*time);
  return object;
}

Phases phases_in(const json& object) {
  Phases phases;
  if (!object.is_object()) return phases;
  for (const auto& [name, time, words] : phase_names) {
    if (const auto ms = number_at(object, name, longest_ms)) phases.*time = milliseconds(*ms);
  }
  return phases;
}

json slowest_json(const Spreads& spreads) {
  json object = json::object();
  for (const Part& part : parts) object[part.name] = spread_json(spreads.*part.spread);
  return object;
}

json awaited_json(const std::optional<Awaited>& awaited) {
  if (!awaited) return nullptr;
  return {{"phase", awaited->at_store ? "import" : "first_collective"},
          {"came", awaited->arrived},
          {"of", awaited->of},
          {"rank", or_null(awaited->rank)},
          {"node", or_null(awaited->node)}};
}

std::optional<Awaited> awaited_in(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto came = number_at(object, "came", INT_MAX);
  const auto of = number_at(object, "of", INT_MAX);
  const auto phase = object.find("phase");
  if (!came || !of || *came >= *of || phase == object.end()) return std::nullopt;
  Awaited awaited{*phase == "import", static_cast<std::size_t>(*came),
                  static_cast<std::size_t>(*of)};
  take_name(object, awaited);
  return awaited;
}

Spreads spreads_in(const json& slowest) {
  Spreads spreads;
  if (!slowest.is_object()) return spreads;
  for (const Part& part : parts) {
    const auto found = slowest.find(part.name);
    if (found != slowest.end()) spreads.*part.spread = spread_in(*found);
  }
  return spreads;
}

// One alone: a second. Beside others: a second and a quarter more than their median or, of tenths,
// twice it.
bool is_slow(const Spread& spread) {
  if (spread.counted <= 1) return spread.slowest >= worth_telling;
  const milliseconds behind = spread.slowest - spread.median;
  if (behind >= worth_telling && 4 * behind >= spread.median) return true;
  return spread.slowest >= worth_comparing && spread.slowest > 2 * spread.median;
}

std::vector<std::string> slowest_lines(const Spreads& spreads) {
  std::vector<std::string> lines;
  for (const Part& part : parts) {
    const std::optional<Spread>& spread = spreads.*part.spread;
    if (!spread || (!part.of_ranks && spread->counted == 1) || !is_slow(*spread)) continue;
    std::string line = fmt::format("{} took {} {}", who(*spread, part),
                                   duration_text(spread->slowest), part.purpose);
    if (spread->counted > 1) line += fmt::format(" (median {})", duration_text(spread->median));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string awaited_text(const Awaited& awaited) {
  const std::size_t missing = awaited.of - awaited.arrived;
  std::string text = fmt::format("{} of {} ranks have reached {}", awaited.arrived, awaited.of,
                                 awaited.at_store ? "the store" : "their first collective");
  if (!awaited.rank) return text;
  text += fmt::format(", not rank {}", *awaited.rank);
  if (!awaited.node.empty()) text += " on " + awaited.node;
  if (missing > 1) text += " and " + counted(missing - 1, "other");
  return text;
}

}  // namespace toprun::model
