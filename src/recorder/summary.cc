#include "recorder/summary.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace toprun::recorder {
namespace {

void join(std::vector<int>& ranks, const std::vector<int>& more) {
  const auto middle = static_cast<std::ptrdiff_t>(ranks.size());
  ranks.insert(ranks.end(), more.begin(), more.end());
  std::ranges::inplace_merge(ranks, ranks.begin() + middle);
}

bool same(const Status& a, const Status& b) {
  return a.last_enqueued == b.last_enqueued && a.last_started == b.last_started &&
         a.last_completed == b.last_completed;
}

bool same(const Call& a, const Call& b) {
  return a.sequence == b.sequence && a.operation == b.operation && a.sizes == b.sizes &&
         a.types == b.types;
}

template <class Item>
void add_to(std::vector<Item>& items, Item item) {
  const auto known =
      std::ranges::find_if(items, [&](const Item& other) { return same(other, item); });
  if (known == items.end()) {
    items.push_back(std::move(item));
  } else {
    join(known->ranks, item.ranks);
  }
}

// Looks only among the calls of the same sequence number.
void add_call(std::vector<Call>& calls, Call call) {
  const auto [first, last] = std::ranges::equal_range(calls, call.sequence, {}, &Call::sequence);
  const auto known = std::find_if(first, last, [&](const Call& one) { return same(one, call); });
  if (known == last) {
    calls.insert(last, std::move(call));
  } else {
    join(known->ranks, call.ranks);
  }
}

GroupSummary& group_in(Summary& all, const std::string& id) {
  const auto place = std::ranges::lower_bound(all.groups, id, {}, &GroupSummary::id);
  if (place != all.groups.end() && place->id == id) return *place;
  return *all.groups.insert(place, GroupSummary{id, {}, {}, {}});
}

struct Bounds {
  std::size_t groups = std::numeric_limits<std::size_t>::max();
  std::size_t calls = std::numeric_limits<std::size_t>::max();
  std::size_t text = std::numeric_limits<std::size_t>::max();
  bool all_calls = true;  // also those that have ended, and all texts as they are
};

bool is_plain(char letter) {
  return letter >= ' ' && letter <= '~';
}

std::string kept(const std::string& text, const Bounds& bounds) {
  if (bounds.all_calls) return text;
  std::string out = text.substr(0, bounds.text);
  std::ranges::replace_if(
      out, [](char letter) { return !is_plain(letter); }, '?');
  return out;
}

bool is_kept(const std::string& id, const Bounds& bounds) {
  return bounds.all_calls || (id.size() <= bounds.text && std::ranges::all_of(id, is_plain));
}

// The oldest call in each group that has not ended on some rank.
std::map<std::string, std::int64_t> oldest_of(const std::map<int, Dump>& dumps) {
  std::map<std::string, std::int64_t> oldest;
  for (const auto& [rank, dump] : dumps) {
    for (const auto& [id, group] : dump.groups) {
      const std::int64_t next = std::max<std::int64_t>(group.last_completed, 0) + 1;
      const auto [place, is_new] = oldest.emplace(id, next);
      if (!is_new) place->second = std::min(place->second, next);
    }
  }
  return oldest;
}

Summary summed(const std::map<int, Dump>& dumps, const Bounds& bounds) {
  Summary out;
  const auto oldest = oldest_of(dumps);
  for (const auto& [rank, dump] : dumps) {
    out.ranks.push_back(rank);
    for (const auto& [id, group] : dump.groups) {
      if (!is_kept(id, bounds)) continue;
      GroupSummary& place = group_in(out, id);
      if (place.description.empty()) place.description = kept(group.description, bounds);
      add_to(place.statuses,
             Status{group.last_enqueued, group.last_started, group.last_completed, {rank}});
    }
    for (const Entry& entry : dump.entries) {
      const auto first = oldest.find(entry.group);
      if (first == oldest.end() || !is_kept(entry.group, bounds)) continue;
      if (!bounds.all_calls && entry.sequence < first->second) continue;
      std::vector<Call>& calls = group_in(out, entry.group).calls;
      Call call{entry.sequence,
                kept(entry.operation, bounds),
                kept(entry.sizes, bounds),
                kept(entry.types, bounds),
                {rank}};
      // A dump that names a call twice counts once.
      const auto [at, end] = std::ranges::equal_range(calls, entry.sequence, {}, &Call::sequence);
      const bool is_known = std::any_of(
          at, end, [&](const Call& one) { return std::ranges::binary_search(one.ranks, rank); });
      if (!is_known) add_call(calls, std::move(call));
    }
  }
  if (out.groups.size() > bounds.groups) out.groups.resize(bounds.groups);
  for (GroupSummary& group : out.groups) {
    if (group.calls.size() > bounds.calls) group.calls.resize(bounds.calls);
  }
  return out;
}

}  // namespace

Summary summary_of(const std::map<int, Dump>& dumps) {
  return summed(dumps, {});
}

Summary bounded_summary_of(const std::map<int, Dump>& dumps) {
  return summed(dumps, {most_groups, most_calls, longest_text, false});
}

void add(Summary& all, Summary more) {
  const bool is_known = std::ranges::any_of(
      more.ranks, [&](int rank) { return std::ranges::binary_search(all.ranks, rank); });
  if (is_known) return;  // a node answers once
  join(all.ranks, more.ranks);
  for (GroupSummary& group : more.groups) {
    GroupSummary& place = group_in(all, group.id);
    if (place.description.empty()) place.description = std::move(group.description);
    for (Status& status : group.statuses) add_to(place.statuses, std::move(status));
    for (Call& call : group.calls) add_call(place.calls, std::move(call));
  }
}

}  // namespace toprun::recorder
