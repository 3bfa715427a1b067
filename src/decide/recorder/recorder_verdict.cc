#include "decide/recorder/recorder_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/text/sets.h"
#include "decide/recorder/operations.h"

namespace toprun::recorder {
namespace {

using Kind = Finding::Kind;
using Ranks = std::vector<int>;

Ranks sorted(Ranks ranks) {
  sort_distinct(ranks);
  return ranks;
}

bool contains(const Ranks& ranks, int rank) {
  return std::ranges::binary_search(ranks, rank);
}

// How a group's ranks stand to one of its calls.
struct Roll {
  Ranks waiting;          // called it, and it has not ended
  Ranks came;             // called it
  Ranks absent;           // did not call it
  Ranks forgotten;        // their recorder does not tell
  Ranks silent;           // gave no dump
  bool is_first = false;  // one of those that wait has waited for nothing else for longer
};

class Judge {
 public:
  explicit Judge(const Summary& summary) : summary_(summary) {
    for (const GroupSummary& group : summary_.groups) {
      most_generations_ = std::max(most_generations_, group.generation);
      note_who_waits(group);
    }
  }

  std::vector<Finding> run() {
    for (const GroupSummary& group : summary_.groups) {
      look_at_calls(group);
      look_at_transfers(group);
    }
    if (!explained()) break_circle();
    look_at_silence();
    if (!summary_.without_calls.empty()) {
      Finding& finding = found_.emplace_back(Finding{.kind = Kind::unclear});
      finding.ranks = summary_.without_calls;
      finding.note = "counters that name no group, and no calls";
    }
    std::ranges::stable_sort(found_, {}, [](const Finding& finding) {
      return std::pair(!finding.blames, static_cast<int>(finding.kind));
    });
    return std::move(found_);
  }

 private:
  static std::string call_text(const GroupSummary& group, std::int64_t sequence) {
    const std::string operation = operation_at(group, sequence);
    return fmt::format("call {}{} of {}", sequence,
                       operation.empty() ? "" : fmt::format(" ({})", operation),
                       label_of(group.name, group.description));
  }

  // A rank is held by its first call that has not ended.
  void note_who_waits(const GroupSummary& group) {
    const auto note = [&](int rank, bool is_first, const std::string& text) {
      std::string& known = waits_in_[rank];
      if (known.empty() || is_first) known = text;
    };
    for (const Reach& reach : group.reached) {
      if (reach.ended >= reach.last) continue;
      const std::string text = call_text(group, reach.ended + 1);
      for (const int rank : reach.ranks) note(rank, reach.is_first, text);
    }
    for (const Transfer& one : group.transfers) {
      if (one.waits) note(one.rank, one.is_first, one.operation);
    }
  }

  bool waits(int rank) const { return waits_in_.contains(rank); }
  bool gave_a_dump(int rank) const { return contains(summary_.ranks, rank); }

  // Empty: nothing tells them.
  Ranks members_of(const GroupSummary& group) const {
    if (!group.members.empty()) return sorted(ranks_of(group.members));
    return is_default(group.name, group.description) ? summary_.ranks : Ranks();
  }

  // Whether it can have come to a group without a trace in its dump.
  bool forgets(int rank) const { return contains(summary_.forgetful, rank); }

  Roll roll_of(const GroupSummary& group, std::int64_t sequence) const {
    Roll roll;
    Ranks seen;
    for (const Reach& reach : group.reached) {
      const bool came = reach.last >= sequence;
      // Of groups that were made again a ring may have lost the earlier ones, and their number.
      for (const int rank : reach.ranks) {
        seen.push_back(rank);
        const bool doubtful = reach.is_doubtful || (most_generations_ > 1 && forgets(rank));
        Ranks& place = came ? roll.came : doubtful ? roll.forgotten : roll.absent;
        place.push_back(rank);
        if (came && reach.ended < sequence) {
          roll.waiting.push_back(rank);
          roll.is_first = roll.is_first || (reach.is_first && reach.ended + 1 == sequence);
        }
      }
    }
    seen = sorted(std::move(seen));
    for (const int rank : members_of(group)) {
      if (contains(seen, rank)) continue;
      if (!gave_a_dump(rank)) {
        roll.silent.push_back(rank);
      } else {
        (forgets(rank) ? roll.forgotten : roll.absent).push_back(rank);
      }
    }
    for (Ranks* ranks : {&roll.waiting, &roll.came, &roll.absent, &roll.forgotten}) {
      std::ranges::sort(*ranks);
    }
    return roll;
  }

  Finding& add(Finding finding) { return found_.emplace_back(std::move(finding)); }

  void look_at_calls(const GroupSummary& group) {
    auto differ = mismatch(group);
    constexpr std::int64_t no_call = std::numeric_limits<std::int64_t>::max();
    std::int64_t oldest = no_call;
    for (const Reach& reach : group.reached) {
      if (reach.ended < reach.last) oldest = std::min(oldest, reach.ended + 1);
    }
    if (oldest == no_call) {
      if (differ) {
        add(*std::move(differ));
      } else {
        look_at_who_left(group);
      }
      return;
    }
    const Roll roll = roll_of(group, oldest);
    // A rank that called something else hangs in it: all have called, and none has finished.
    const bool follows = differ && roll.absent.empty() && differ->sequence <= oldest;
    if (differ) add(*std::move(differ));
    if (!follows) look_at_who_waits(group, oldest, roll);
  }

  void look_at_who_waits(const GroupSummary& group, std::int64_t sequence, const Roll& roll) {
    Finding finding = finding_of(group, Kind::behind);
    finding.sequence = sequence;
    finding.operation = operation_at(group, sequence);
    finding.others = roll.waiting;
    if (!roll.absent.empty()) {
      add_absent(std::move(finding), roll.absent, roll.is_first);
    } else if (!roll.silent.empty()) {
      finding.kind = Kind::silent;
      finding.ranks = roll.silent;
      add(std::move(finding));
    } else if (!roll.forgotten.empty()) {
      finding.kind = Kind::unclear;
      finding.ranks = roll.forgotten;
      add(std::move(finding));
    } else {
      add_unfinished(std::move(finding), group, roll);
    }
  }

  // Ranks that wait elsewhere are not what holds up the others.
  void add_absent(Finding finding, const Ranks& absent, bool is_first) {
    std::ranges::copy_if(absent, std::back_inserter(finding.ranks),
                         [&](int rank) { return !waits(rank); });
    finding.blames = is_first && !finding.ranks.empty();
    if (finding.ranks.empty()) {
      finding.kind = Kind::held;
      finding.ranks = absent;
      finding.note = waits_in_.at(absent.front());
    }
    add(std::move(finding));
  }

  void add_unfinished(Finding finding, const GroupSummary& group, const Roll& roll) {
    // Of a job's ranks too there may be more than have given a dump.
    const bool all_are_known = !group.members.empty();
    finding.kind = all_are_known ? Kind::not_finished : Kind::unclear;
    finding.ranks = roll.waiting;
    finding.others.clear();
    if (!all_are_known) {
      finding.note = "the dumps do not show which other ranks belong to the group";
    } else if (!roll.is_first) {
      finding.kind = Kind::held;
      finding.note = waits_in_.at(roll.waiting.front());
    } else {
      finding.note = imbalance(group, finding.sequence);
    }
    add(std::move(finding));
  }

  // A call for which all are needed cannot have ended without one of them.
  void look_at_who_left(const GroupSummary& group) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Call& call : group.calls) {
      if (!operation_of(call.operation).waits_for_all || call.sequence >= least) continue;
      Roll roll = roll_of(group, call.sequence);
      if (roll.absent.empty() || roll.came.empty()) continue;
      least = call.sequence;
      Finding finding = finding_of(group, Kind::left);
      finding.sequence = call.sequence;
      finding.operation = call.operation;
      finding.ranks = std::move(roll.absent);
      finding.others = std::move(roll.came);
      add(std::move(finding));
    }
  }

  static const Transfer* counterpart(const GroupSummary& group, const Transfer& one) {
    const auto found = std::ranges::find_if(group.transfers, [&](const Transfer& other) {
      return other.rank == one.peer && other.peer == one.rank && other.sends != one.sends;
    });
    return found == group.transfers.end() ? nullptr : &*found;
  }

  enum class Met { both, done, absent, unclear };
  Met met(const GroupSummary& group, const Transfer& one) const {
    const Transfer* const other = counterpart(group, one);
    if (other != nullptr && other->waits) return Met::both;
    if (!forgets(one.rank) && !forgets(one.peer)) {
      return other != nullptr && other->made >= one.made ? Met::done : Met::absent;
    }
    // One that waits alone cannot have ended on the other side.
    return one.batch == 1 ? Met::absent : Met::unclear;
  }

  void look_at_transfers(const GroupSummary& group) {
    for (const Transfer& one : group.transfers) {
      if (!one.waits) continue;
      Finding finding = finding_of(group, Kind::behind);
      finding.operation = one.operation;
      finding.ranks = {one.peer};
      finding.others = {one.rank};
      if (one.peer < 0) {
        finding.kind = Kind::unclear;
        finding.ranks = {one.rank};
        finding.others = {};
        finding.note = "the dumps do not show which other ranks belong to the group";
        add(std::move(finding));
      } else if (!gave_a_dump(one.peer)) {
        finding.kind = Kind::silent;
        add(std::move(finding));
      } else {
        look_at_transfer(group, one, std::move(finding));
      }
    }
  }

  void look_at_transfer(const GroupSummary& group, const Transfer& one, Finding finding) {
    switch (met(group, one)) {
      case Met::done:
        return;
      case Met::absent:
        finding.ranks.clear();
        return add_absent(std::move(finding), {one.peer}, one.is_first);
      case Met::unclear:
        finding.kind = Kind::unclear;
        add(std::move(finding));
        return;
      case Met::both:
        if (one.sends) look_at_pair(*counterpart(group, one), one, std::move(finding));
    }
  }

  // Both have come.
  void look_at_pair(const Transfer& receive, const Transfer& send, Finding finding) {
    if (receive.batch == 1 && send.batch == 1 &&
        (receive.elements != send.elements || receive.types != send.types)) {
      finding.kind = Kind::mismatch;
      finding.difference = receive.elements != send.elements ? Finding::Difference::sizes
                                                             : Finding::Difference::types;
      const bool by_size = finding.difference == Finding::Difference::sizes;
      finding.got = by_size ? receive.elements + " elements" : receive.types;
      finding.expected = by_size ? send.elements + " elements" : send.types;
      finding.note = "the dumps do not show which ranks are right";
    } else {
      finding.kind = send.is_first && receive.is_first ? Kind::not_finished : Kind::held;
      finding.ranks = sorted({receive.rank, send.rank});
      finding.others.clear();
      if (finding.kind == Kind::held) {
        finding.note = waits_in_.at(send.is_first ? receive.rank : send.rank);
      }
    }
    add(std::move(finding));
  }

  bool explained() const {
    return std::ranges::any_of(found_, [](const Finding& finding) {
      return finding.blames || finding.kind == Kind::mismatch || finding.kind == Kind::silent;
    });
  }

  // Ranks that wait for each other in calls of two groups: few called them in another order than
  // most.
  void break_circle() {
    Finding* odd = nullptr;
    for (Finding& one : found_) {
      if (one.kind != Kind::held || one.ranks.size() >= one.others.size()) continue;
      const bool is_mutual = std::ranges::any_of(found_, [&](const Finding& other) {
        return other.kind == Kind::held && std::ranges::includes(other.ranks, one.others) &&
               std::ranges::includes(other.others, one.ranks);
      });
      if (!is_mutual) continue;
      if (odd != nullptr && odd->ranks != one.ranks) return;
      odd = &one;
    }
    if (odd == nullptr) return;
    odd->kind = Kind::behind;
    odd->blames = true;
  }

  // Ranks that belong to a group, as the others' dumps name its members, and gave none.
  void look_at_silence() {
    Ranks silent;
    for (const GroupSummary& group : summary_.groups) {
      std::ranges::copy_if(members_of(group), std::back_inserter(silent),
                           [&](int rank) { return !gave_a_dump(rank); });
    }
    silent = sorted(std::move(silent));
    for (const Finding& finding : found_) {
      if (finding.kind != Kind::silent) continue;
      std::erase_if(silent, [&](int rank) { return contains(finding.ranks, rank); });
    }
    if (silent.empty()) return;
    Finding& finding = found_.emplace_back(Finding{.kind = Kind::silent});
    finding.ranks = std::move(silent);
  }

  const Summary& summary_;
  std::vector<Finding> found_;
  std::map<int, std::string> waits_in_;  // by rank: what, in words
  int most_generations_ = 1;
};

}  // namespace

std::vector<Finding> judge(const Summary& summary) {
  const Summary whole = attributed(summary);
  return Judge(whole).run();
}

}  // namespace toprun::recorder
