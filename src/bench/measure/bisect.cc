#include "bench/measure/bisect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::measure {
namespace {

using pairs::Bisection;
using pairs::Outcome;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

using Nodes = std::vector<std::size_t>;

// Beyond the command's own limit: what starting it and the store may take.
constexpr milliseconds slack{20'000};

bool holds(const Nodes& nodes, std::size_t node) {
  return std::ranges::binary_search(nodes, node);
}

// A rank's answer: a word, after how many milliseconds, and what the command said.
struct Answer {
  Outcome outcome = Outcome::hung;
  std::int64_t took_ms = 0;
  std::string why;

  std::string text() const {
    return fmt::format("{} {} {}", static_cast<int>(outcome), took_ms, why);
  }
  static Answer from(const std::string& text) {
    const auto fields = words(text);
    if (fields.size() < 2) return {};
    const auto outcome = static_cast<Outcome>(
        std::clamp<long>(parse_int(fields[0]).value_or(0), 0, static_cast<long>(Outcome::hung)));
    const std::size_t heads = fields[0].size() + fields[1].size() + 2;
    return {outcome, parse_int(fields[1]).value_or(0), text.substr(std::min(heads, text.size()))};
  }
};

Answer answer_of(const TrialCommand& command, const Environment& environment) {
  const auto began = steady_clock::now();
  const auto done = process::run(command.argv, environment, command.limit);
  const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
  if (done && done->code == 0) return {Outcome::passed, took.count(), ""};
  const std::string said = done ? done->err : "it does not end";
  return {took >= command.hangs_after ? Outcome::hung : Outcome::failed, took.count(),
          said.substr(0, said.find('\n'))};
}

// The worst answer, and of several the first that was given: that a connection was closed is what
// others see of a rank that gave up.
const Answer& decisive(const std::vector<Answer>& answers) {
  return *std::ranges::min_element(answers, [](const Answer& a, const Answer& b) {
    return a.outcome != b.outcome ? a.outcome > b.outcome : a.took_ms < b.took_ms;
  });
}

// One rank's part of the search.
class Trials {
 public:
  Trials(Group& group, const TrialCommand& command) : group_(group), command_(command) {}

  // Rank 0's: tries one group and collects what became of it.
  Result<Tried> lead(const Nodes& nodes) {
    TRY(group_.store.set(key("nodes"), fmt::format("{}", fmt::join(nodes, " "))));
    TRY(play(nodes));
    auto tried = collect(nodes);
    ++trial_;
    return tried;
  }

  // The others': false once the search is over.
  Result<bool> follow() {
    const std::string name = key("nodes");
    const auto limit = command_.limit + 2 * slack;
    const auto arrived = TRY(group_.store.wait(std::span(&name, 1), limit));
    if (!arrived) {
      return fail(fmt::format("rank 0 did not send the nodes of the next test within {} s",
                              std::chrono::ceil<std::chrono::seconds>(limit).count()));
    }
    const auto text = TRY(group_.store.get(name));
    Nodes nodes;
    for (const std::string_view word : words(text)) {
      nodes.push_back(static_cast<std::size_t>(parse_int(word).value_or(0)));
    }
    if (nodes.empty()) return false;
    TRY(play(nodes));
    ++trial_;
    return true;
  }

  Result<void> end() { return group_.store.set(key("nodes"), ""); }

 private:
  std::string key(std::string_view name) const {
    return fmt::format("toprun.bench/{}/bisect/{}/{}", group_.self.attempt, trial_, name);
  }
  std::string key_of(std::size_t rank) const { return key(fmt::format("rank/{}", rank)); }

  Result<void> play(const Nodes& nodes) {
    if (!holds(nodes, group_.self.node)) return {};
    const Answer answer =
        answer_of(command_, environment_of(group_, nodes, command_.environment, trial_));
    return group_.store.set(key_of(group_.self.rank), answer.text());
  }

  Result<Tried> collect(const Nodes& nodes) {
    std::vector<std::string> names;
    for (const Peer& peer : group_.peers) {
      if (holds(nodes, peer.node)) names.push_back(key_of(peer.rank));
    }
    TRY(group_.store.wait(names, command_.limit + slack));
    std::vector<Answer> answers;
    for (const std::string& one : names) {
      const auto arrived = TRY(group_.store.check(std::span(&one, 1)));
      if (!arrived) {
        answers.push_back({Outcome::hung, std::numeric_limits<std::int64_t>::max(), ""});
        continue;
      }
      const auto text = TRY(group_.store.get(one));
      answers.push_back(Answer::from(text));
    }
    const Answer& answer = decisive(answers);
    return Tried{nodes, answer.outcome, answer.why};
  }

  Group& group_;
  const TrialCommand& command_;
  std::size_t trial_ = 0;
};

}  // namespace

Environment environment_of(const Group& group, const Nodes& nodes, const Environment& environment,
                           std::size_t trial) {
  std::size_t ranks = 0;
  std::size_t own = 0;
  for (const Peer& peer : group.peers) {
    if (!holds(nodes, peer.node)) continue;
    if (peer.rank == group.self.rank) own = ranks;
    ++ranks;
  }
  const auto node = std::ranges::lower_bound(nodes, group.self.node) - nodes.begin();
  Environment out = environment;
  out.set("RANK", std::to_string(own));
  out.set("WORLD_SIZE", std::to_string(ranks));
  out.set("GROUP_RANK", std::to_string(node));
  out.set("GROUP_WORLD_SIZE", std::to_string(nodes.size()));
  out.set("TORCHELASTIC_RESTART_COUNT", fmt::format("{}.{}", group.self.attempt, trial));
  return out;
}

Result<Bisection::Found> bisect(Group& group, const TrialCommand& command,
                                const std::function<void(const Tried&)>& tell) {
  Trials trials(group, command);
  if (group.self.rank != 0) {
    while (TRY(trials.follow())) continue;
    return Bisection::Found{};
  }
  Bisection bisection(group.self.nodes);
  while (const auto nodes = bisection.next()) {
    const auto tried = TRY(trials.lead(*nodes));
    tell(tried);
    bisection.tell(tried.outcome);
  }
  TRY(trials.end());
  return bisection.found();
}

}  // namespace toprun::measure
