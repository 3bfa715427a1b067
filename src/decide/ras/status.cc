#include "decide/ras/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <climits>
#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::ras {
namespace {

using Json = nlohmann::json;
using Kind = Finding::Kind;

constexpr const char* what = "cannot read what NCCL's RAS says";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

struct Malformed {};

// In ASCII, and not too long.
std::string plain(std::string text) {
  text.resize(std::min(text.size(), longest_name));
  std::ranges::replace_if(
      text, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return text;
}

const Json& list_in(const Json& object, const char* name) {
  const Json& list = member(object, name);
  return list.is_array() ? list : throw Malformed();
}

const Json& object_in(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_object() ? found : throw Malformed();
}

int number_in(const Json& object, const char* name, int least, int most) {
  const Json& found = member(object, name);
  if (!found.is_number_integer()) throw Malformed();
  const bool fits = found.is_number_unsigned()
                        ? found.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                        : found.get<std::int64_t>() >= least;
  return fits ? found.get<int>() : throw Malformed();
}

std::string text_in(const Json& object, const char* name) {
  const Json& text = member(object, name);
  return text.is_string() ? plain(text.get<std::string>()) : throw Malformed();
}

Rank rank_in(const Json& object) {
  if (!object.is_object()) throw Malformed();
  Rank rank;
  rank.rank = number_in(object, "rank", 0, most_ranks);
  rank.pid = number_in(object, "pid", -1, INT_MAX);
  rank.async_error = number_in(object_in(object, "status"), "async_error", INT_MIN, INT_MAX);
  for (const auto& [name, count] : object_in(object, "collective_counts").items()) {
    if (!count.is_number_unsigned() || name.size() > longest_name) throw Malformed();
    rank.counts[plain(name)] = count.get<std::uint64_t>();
  }
  return rank;
}

Missing missing_in(const Json& object) {
  if (!object.is_object()) throw Malformed();
  const Json& dead = member(object_in(object, "status"), "considered_dead");
  if (!dead.is_boolean()) throw Malformed();
  return {number_in(object, "rank", 0, most_ranks), dead.get<bool>()};
}

Communicator communicator_in(const Json& object) {
  if (!object.is_object()) throw Malformed();
  Communicator out;
  out.hash = text_in(object, "hash");
  out.size = number_in(object, "size", 0, most_ranks);
  for (const Json& one : list_in(object, "ranks")) out.ranks.push_back(rank_in(one));
  for (const Json& one : list_in(object, "missing_ranks")) out.missing.push_back(missing_in(one));
  return out;
}

class Findings {
 public:
  void add(const Communicator& of, Kind kind, std::vector<int> ranks, std::string text) {
    if (ranks.empty()) return;
    std::ranges::sort(ranks);
    Finding finding{kind, of.hash, of.size, std::move(ranks), 0, text.substr(0, longest_text)};
    finding.count = finding.ranks.size();
    if (finding.ranks.size() > most_named) finding.ranks.resize(most_named);
    all_.push_back(std::move(finding));
  }
  std::vector<Finding> take() && {
    std::ranges::stable_sort(all_, {}, &Finding::kind);
    if (all_.size() > most_findings) all_.resize(most_findings);
    return std::move(all_);
  }

 private:
  std::vector<Finding> all_;
};

// In a hang the counts stand still, so a rank with a smaller one never made the call.
void compare_counts(const Communicator& of, Findings& findings) {
  std::map<std::string, std::uint64_t> most;
  for (const Rank& rank : of.ranks) {
    for (const auto& [name, count] : rank.counts) most[name] = std::max(most[name], count);
  }
  for (const auto& [name, expected] : most) {
    std::vector<int> behind;
    std::uint64_t least = expected;
    for (const Rank& rank : of.ranks) {
      const auto count = rank.counts.find(name);
      const std::uint64_t got = count == rank.counts.end() ? 0 : count->second;
      if (got < expected) behind.push_back(rank.rank);
      least = std::min(least, got);
    }
    findings.add(of, Kind::behind, std::move(behind),
                 fmt::format("called {} {} times, the others {}", name, least, expected));
  }
}

constexpr std::array<std::string_view, 4> kind_names = {"dead", "missing", "failed", "behind"};

}  // namespace

Result<Status> parse_answer(std::string_view answer) {
  constexpr int acknowledged = 2;  // commands
  const std::string_view first = take_line(answer);
  if (!first.starts_with("SERVER PROTOCOL ")) {
    return fail(what,
                "the answer begins with \"" + printable(first.substr(0, longest_name)) + "\"");
  }
  for (int i = 0; i < acknowledged; ++i) {
    const std::string_view line = take_line(answer);
    if (line != "OK") return fail(what, printable(line.substr(0, longest_name)));
  }
  if (answer.size() > most_answer_bytes) return fail(what, "it is too large");
  const Json json = json_in(answer, {.depth = most_depth});
  if (!json.is_object())
    return fail(what, "the answer is not JSON, is nested too deeply, or has too many values");
  try {
    Status status{text_in(json, "nccl_version"), {}};
    for (const Json& one : list_in(json, "communicators")) {
      status.communicators.push_back(communicator_in(one));
    }
    return status;
  } catch (const Malformed&) {
    return fail(what, "the JSON of the answer does not have the expected structure");
  }
}

std::vector<Finding> judge(const Status& status) {
  Findings findings;
  for (const Communicator& one : status.communicators) {
    std::vector<int> dead;
    std::vector<int> missing;
    for (const Missing& rank : one.missing) (rank.is_dead ? dead : missing).push_back(rank.rank);
    findings.add(one, Kind::dead, std::move(dead), "counts as dead");
    findings.add(one, Kind::missing, std::move(missing), "does not answer");
    std::vector<int> failed;
    for (const Rank& rank : one.ranks) {
      // ncclInProgress is not an error.
      constexpr int in_progress = 7;
      if (rank.async_error != 0 && rank.async_error != in_progress) failed.push_back(rank.rank);
    }
    findings.add(one, Kind::failed, std::move(failed), "has an error");
    compare_counts(one, findings);
  }
  return std::move(findings).take();
}

std::string_view name_of(Kind kind) {
  return kind_names.at(static_cast<std::size_t>(kind));
}

bool read_kind(std::string_view name, Kind& kind) {
  const auto found = std::ranges::find(kind_names, name);
  if (found == kind_names.end()) return false;
  kind = static_cast<Kind>(found - kind_names.begin());
  return true;
}

}  // namespace toprun::ras
