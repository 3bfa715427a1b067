#include "bench/tables/listed_ranks.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "bench/tables/import_nccl_row.h"

namespace toprun::bench {
namespace {

// What a list of devices tells.
struct Listed {
  std::size_t ranks = 0;  // different ones
  std::size_t least = 0;  // the highest rank and one
  std::size_t hosts = 0;
  bool has_groups = false;

  bool is_whole() const { return ranks > 0 && ranks == least && !has_groups; }
};

Listed listed_in(std::span<const ListedDevice> devices) {
  std::set<std::size_t> ranks;
  std::set<std::string_view> hosts;
  Listed listed;
  for (const ListedDevice& entry : devices) {
    ranks.insert(entry.device.rank);
    hosts.insert(entry.device.host);
    listed.least = std::max(listed.least, entry.device.rank + 1);
    listed.has_groups = listed.has_groups || entry.group != devices.front().group;
  }
  listed.ranks = ranks.size();
  listed.hosts = hosts.size();
  return listed;
}

std::optional<std::size_t> ranks_of(const Listed& listed, const RankBounds& bounds,
                                    const RanksByCount& by_count) {
  const std::size_t least = listed.has_groups ? 1 : listed.least;
  // A single rank moves nothing, and programs that measure no busbw print the same 0.
  if (const auto only = bounds.only(); only && *only > 1) return only;
  if (const auto counted = by_count.ranks();
      counted && *counted >= least && bounds.allow(*counted)) {
    return counted;
  }
  if (listed.is_whole() && bounds.allow(listed.ranks)) return listed.ranks;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> ranks_by_count(const Row& row) {
  const auto width = width_of(row.type);
  if (!width || row.count == 0 || row.count > row.bytes / *width) return std::nullopt;
  const std::uint64_t part = row.count * *width;
  if (row.bytes % part != 0 || row.bytes / part < 2) return std::nullopt;
  return static_cast<std::size_t>(row.bytes / part);
}

void RanksByCount::add(Collective collective, const Row& row) {
  if (!facts_of(collective).size_is_total || row.count == 0) return;
  const auto ranks = ranks_by_count(row);
  is_sure_ = is_sure_ && ranks && (!ranks_ || ranks_ == ranks);
  ranks_ = ranks;
}

void set_ranks(std::span<const ListedDevice> devices, const RankBounds& bounds,
               const RanksByCount& by_count, Series& series) {
  const Listed listed = listed_in(devices);
  const auto ranks = ranks_of(listed, bounds, by_count);
  series.ranks = ranks.value_or(0);
  series.nodes = listed.is_whole() && ranks == listed.ranks ? listed.hosts : 0;
  if (!ranks && !listed.has_groups) {
    series.least_ranks = std::max(listed.least, bounds.least() > 1 ? bounds.least() : 0);
  }
}

}  // namespace toprun::bench
