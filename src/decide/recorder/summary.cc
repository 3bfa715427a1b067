#include "decide/recorder/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/text/sets.h"
#include "decide/recorder/operations.h"

namespace toprun::recorder {

std::vector<Run> runs_of(std::span<const int> ranks) {
  std::vector<Run> runs;
  for (const int rank : ranks) {
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.count == 1) last.step = rank - last.first;
      if (rank == last.first + last.count * last.step) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({rank, 1, 1});
  }
  return runs;
}

std::vector<int> ranks_of(std::span<const Run> runs) {
  std::vector<int> ranks;
  for (const Run& run : runs) {
    for (int i = 0; i < run.count; ++i) ranks.push_back(run.first + i * run.step);
  }
  return ranks;
}

namespace {

constexpr std::int64_t ended_calls_kept = 4;  // of a group, in a bounded summary

void join(std::vector<int>& ranks, const std::vector<int>& more) {
  const auto middle = static_cast<std::ptrdiff_t>(ranks.size());
  ranks.insert(ranks.end(), more.begin(), more.end());
  std::ranges::inplace_merge(ranks, ranks.begin() + middle);
}

bool same(const Reach& a, const Reach& b) {
  return a.last == b.last && a.ended == b.ended && a.is_first == b.is_first &&
         a.is_doubtful == b.is_doubtful;
}

bool same(const Call& a, const Call& b) {
  return operation_of(a.operation).name == operation_of(b.operation).name &&
         a.elements == b.elements && a.types == b.types;
}

void add_reach(std::vector<Reach>& all, Reach reach) {
  const auto known =
      std::ranges::find_if(all, [&](const Reach& other) { return same(other, reach); });
  if (known == all.end()) {
    all.push_back(std::move(reach));
  } else {
    join(known->ranks, reach.ranks);
  }
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a > std::numeric_limits<std::int64_t>::max() - b ? a : a + b;
}

// Looks only among the calls of the same place.
void add_call(std::vector<Call>& calls, Call call) {
  const auto [first, last] = std::ranges::equal_range(calls, call.place(), {}, &Call::place);
  const auto known = std::find_if(first, last, [&](const Call& one) { return same(one, call); });
  if (known == last) {
    calls.insert(last, std::move(call));
    return;
  }
  if (call.ranks.front() < known->ranks.front()) {  // shown as the lowest rank gave it
    known->operation = std::move(call.operation);
    known->sizes = std::move(call.sizes);
  }
  known->given = sum(known->given, call.given);
  known->taken = sum(known->taken, call.taken);
  join(known->ranks, call.ranks);
}

void add_transfer(std::vector<Transfer>& transfers, Transfer transfer) {
  transfers.insert(std::ranges::upper_bound(transfers, transfer.rank, {}, &Transfer::rank),
                   std::move(transfer));
}

GroupSummary& group_in(Summary& all, const GroupSummary& like) {
  const auto place = std::ranges::lower_bound(all.groups, like.key(), {}, &GroupSummary::key);
  if (place == all.groups.end() || place->key() != like.key()) {
    GroupSummary group;
    group.name = like.name;
    group.generation = like.generation;
    group.members = like.members;
    return *all.groups.insert(place, std::move(group));
  }
  if (place->description.empty()) place->description = like.description;
  return *place;
}

struct Bounds {
  std::size_t groups = std::numeric_limits<std::size_t>::max();
  std::size_t calls = std::numeric_limits<std::size_t>::max();
  std::size_t transfers = std::numeric_limits<std::size_t>::max();
  std::size_t runs = std::numeric_limits<std::size_t>::max();
  std::size_t text = std::numeric_limits<std::size_t>::max();
  bool all_calls = true;  // also those that have ended, and all texts as they are
};

bool is_plain(char letter) {
  return letter >= ' ' && letter <= '~';
}

// What is beyond the bound counts in a hash.
std::string kept(const std::string& text, const Bounds& bounds) {
  if (bounds.all_calls) return text;
  std::string out = text;
  if (text.size() > bounds.text) {
    const std::string rest = fmt::format("...{:016x}", std::hash<std::string>()(text));
    out = text.substr(0, bounds.text - rest.size()) + rest;
  }
  std::ranges::replace_if(
      out, [](char letter) { return !is_plain(letter); }, '?');
  return out;
}

std::string text_of(const std::vector<std::int64_t>& elements, bool by_total) {
  if (!by_total) return fmt::format("{}", fmt::join(elements, ","));
  return fmt::to_string(std::accumulate(elements.begin(), elements.end(), std::int64_t{0}, sum));
}

std::string chosen(Alike alike, std::string inputs, const std::string& outputs) {
  if (alike == Alike::nothing) return "";
  if (alike == Alike::inputs) return inputs;
  return alike == Alike::outputs ? outputs : std::move(inputs) + " -> " + outputs;
}

Call call_of(const Entry& entry, int rank, const Bounds& bounds) {
  const Operation operation = operation_of(entry.operation);
  const auto total = [](const Tensors& tensors) {
    return std::accumulate(tensors.elements.begin(), tensors.elements.end(), std::int64_t{0}, sum);
  };
  Call call;
  call.sequence = entry.sequence;
  call.part = entry.part;
  call.operation = kept(entry.operation, bounds);
  call.sizes = kept(chosen(operation.sizes, entry.inputs.sizes, entry.outputs.sizes), bounds);
  call.elements = kept(chosen(operation.sizes, text_of(entry.inputs.elements, operation.by_total),
                              text_of(entry.outputs.elements, operation.by_total)),
                       bounds);
  call.types = kept(chosen(operation.types, entry.inputs.types, entry.outputs.types), bounds);
  if (operation.is_exchange) {
    call.given = total(entry.inputs);
    call.taken = total(entry.outputs);
  }
  call.ranks = {rank};
  return call;
}

// How far a rank has come in one of its groups.
struct Progress {
  std::int64_t last = 0;
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();       // number that has not ended
  std::int64_t waits_since = std::numeric_limits<std::int64_t>::max();  // Entry::order
};

std::vector<Progress> progress_of(const Dump& dump) {
  std::vector<Progress> groups(dump.groups.size());
  for (const Entry& entry : dump.entries) {
    Progress& group = groups[entry.group];
    if (!entry.is_p2p) group.last = std::max(group.last, entry.sequence);
    if (entry.is_p2p || entry.has_ended) continue;
    group.oldest = std::min(group.oldest, entry.sequence);
    group.waits_since = std::min(group.waits_since, entry.order);
  }
  return groups;
}

// The call for which the rank has waited the longest; nullptr: it waits for none.
const Entry* first_of(const Dump& dump) {
  const auto waits = std::ranges::find(dump.entries, false, &Entry::has_ended);
  return waits == dump.entries.end() ? nullptr : &*waits;
}

// By group, peer and direction; in each the first that has not ended, or how many there were.
using Transfers = std::map<std::tuple<std::size_t, int, bool>, Transfer>;

Transfers transfers_of(const Dump& dump, int rank) {
  Transfers all;
  std::map<std::pair<std::size_t, std::int64_t>, std::set<int>> batches;
  const Entry* const first = first_of(dump);
  for (const Entry& entry : dump.entries) {
    if (!entry.is_p2p || ends_coalescing(entry.operation)) continue;
    batches[{entry.group, entry.batch}].insert(entry.peer);
    Transfer& one = all[{entry.group, entry.peer, entry.sends}];
    if (one.waits) continue;
    one.rank = rank;
    one.peer = entry.peer;
    one.sends = entry.sends;
    one.waits = !entry.has_ended;
    ++one.made;
    if (!one.waits) continue;
    one.is_first = entry.order == first->order ||
                   (first->is_p2p && first->group == entry.group && first->batch == entry.batch);
    one.operation = entry.operation;
    const Tensors& tensors = entry.sends ? entry.inputs : entry.outputs;
    one.elements = text_of(tensors.elements, false);
    one.types = tensors.types;
    one.batch = static_cast<int>(entry.batch);  // its number until all are known
  }
  for (auto& [key, one] : all) {
    const auto batch = batches.find({std::get<0>(key), one.batch});
    one.batch = batch == batches.end() ? 1 : static_cast<int>(batch->second.size());
  }
  return all;
}

GroupSummary named(const Group& group, const Bounds& bounds) {
  GroupSummary out;
  out.name = kept(group.name, bounds);
  out.description = kept(group.description, bounds);
  out.generation = group.generation;
  std::vector<int> members = group.members;
  sort_distinct(members);
  out.members = runs_of(members);
  if (out.members.size() > bounds.runs) out.members.clear();
  return out;
}

class Summing {
 public:
  Summing(const std::map<int, Dump>& dumps, const Bounds& bounds) : bounds_(bounds) {
    for (const auto& [rank, dump] : dumps) add_groups(rank, dump);
    for (const auto& [rank, dump] : dumps) add_calls(rank, dump);
  }

  Summary take() && {
    // What waits is worth more than what has ended.
    if (out_.groups.size() > bounds_.groups) {
      std::ranges::stable_partition(out_.groups, waits);
      out_.groups.resize(bounds_.groups);
      std::ranges::sort(out_.groups, {}, &GroupSummary::key);
    }
    for (GroupSummary& group : out_.groups) {
      if (group.calls.size() > bounds_.calls) group.calls.resize(bounds_.calls);
      if (group.transfers.size() > bounds_.transfers) group.transfers.resize(bounds_.transfers);
    }
    return std::move(out_);
  }

 private:
  static bool waits(const GroupSummary& group) {
    const auto has_not_ended = [](const Reach& reach) { return reach.ended < reach.last; };
    return std::ranges::any_of(group.reached, has_not_ended) ||
           std::ranges::any_of(group.transfers, &Transfer::waits);
  }

  void add_groups(int rank, const Dump& dump) {
    out_.ranks.push_back(rank);
    if (dump.memory != Memory::all) out_.forgetful.push_back(rank);
    if (dump.memory == Memory::some && dump.entries.empty()) out_.without_calls.push_back(rank);
    const auto progress = progress_of(dump);
    const Entry* const first = first_of(dump);
    for (std::size_t i = 0; i < dump.groups.size(); ++i) {
      const Group& group = dump.groups[i];
      GroupSummary& place = group_in(out_, named(group, bounds_));
      if (place.description.empty()) place.description = kept(group.description, bounds_);
      const Progress& one = progress[i];
      const bool waits = one.oldest <= one.last;
      if (one.last > 0) {
        Reach reach{one.last,
                    waits ? one.oldest - 1 : one.last,
                    waits && one.waits_since == first->order,
                    dump.memory == Memory::some || group.is_doubtful,
                    {rank}};
        if (group.is_doubtful) forget(place.reached, rank);  // of the one that was made before
        add_reach(place.reached, std::move(reach));
      }
    }
  }

  static void forget(std::vector<Reach>& reached, int rank) {
    std::erase_if(reached, [&](Reach& reach) {
      std::erase(reach.ranks, rank);
      return reach.ranks.empty();
    });
  }

  // From where on a group's calls are kept.
  std::int64_t from(const GroupSummary& group) const {
    if (bounds_.all_calls) return std::numeric_limits<std::int64_t>::min();
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Reach& reach : group.reached) least = std::min(least, reach.ended);
    return least - ended_calls_kept;
  }

  void add_calls(int rank, const Dump& dump) {
    std::vector<GroupSummary*> places;
    for (const Group& group : dump.groups) places.push_back(&group_in(out_, named(group, bounds_)));
    for (const Entry& entry : dump.entries) {
      GroupSummary& place = *places[entry.group];
      if (entry.is_p2p || dump.groups[entry.group].is_doubtful) continue;
      if (entry.sequence > 0 && entry.sequence > from(place)) {
        add_once(place.calls, call_of(entry, rank, bounds_));
      }
    }
    for (auto& [key, transfer] : transfers_of(dump, rank)) {
      for (std::string* text : {&transfer.operation, &transfer.elements, &transfer.types}) {
        *text = kept(*text, bounds_);
      }
      add_transfer(places[std::get<0>(key)]->transfers, std::move(transfer));
    }
  }

  // A dump that names a call twice counts once.
  static void add_once(std::vector<Call>& calls, Call call) {
    const auto [at, end] = std::ranges::equal_range(calls, call.place(), {}, &Call::place);
    const int rank = call.ranks.front();
    const bool is_known = std::any_of(
        at, end, [&](const Call& one) { return std::ranges::binary_search(one.ranks, rank); });
    if (!is_known) add_call(calls, std::move(call));
  }

  Bounds bounds_;
  Summary out_;
};

}  // namespace

Summary summary_of(const std::map<int, Dump>& dumps) {
  return Summing(dumps, {}).take();
}

Summary bounded_summary_of(const std::map<int, Dump>& dumps) {
  return Summing(dumps, {most_groups, most_calls, most_transfers, most_runs, longest_text, false})
      .take();
}

void add(Summary& all, Summary more) {
  const bool is_known = std::ranges::any_of(
      more.ranks, [&](int rank) { return std::ranges::binary_search(all.ranks, rank); });
  if (is_known) return;  // a node answers once
  join(all.ranks, more.ranks);
  join(all.forgetful, more.forgetful);
  join(all.without_calls, more.without_calls);
  for (GroupSummary& group : more.groups) {
    GroupSummary& place = group_in(all, group);
    if (place.description.empty()) place.description = std::move(group.description);
    for (Reach& reach : group.reached) add_reach(place.reached, std::move(reach));
    for (Call& call : group.calls) add_call(place.calls, std::move(call));
    for (Transfer& one : group.transfers) add_transfer(place.transfers, std::move(one));
  }
}

}  // namespace toprun::recorder
