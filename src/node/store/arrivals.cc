#include "node/store/arrivals.h"

#include <functional>
#include <utility>

#include "base/text/text.h"

namespace toprun::store {
namespace {

constexpr std::string_view group_prefix = "default_pg/";
// The prefix stands near the key's start; a long key of a script is not searched.
constexpr std::size_t prefix_within = 64;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// The key without everything up to group_prefix; nullopt: PyTorch did not make it for a group.
std::optional<std::string_view> within_group(std::string_view key) {
  const std::size_t at = key.substr(0, prefix_within).find(group_prefix);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = key.substr(at + group_prefix.size());
  if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
  return rest;
}

std::uint64_t hash_of(std::string_view address, std::uint32_t pid) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  return (std::hash<std::string_view>()(address) ^ pid) * odd;
}

}  // namespace

std::optional<std::size_t> Arrivals::joined(std::string address, std::uint32_t pid,
                                            SteadyTime now) {
  if (ranks_.size() >= expected_) return std::nullopt;
  if (pid != 0 && !processes_.insert(hash_of(address, pid)).second) return std::nullopt;
  ranks_.push_back({std::move(address), pid, std::nullopt, now, std::nullopt});
  if (all_joined()) processes_ = {};
  return ranks_.size() - 1;
}

void Arrivals::met(std::size_t index, std::optional<int> rank, SteadyTime now) {
  Arrival& arrival = ranks_[index];
  if (arrival.met) return;
  arrival.met = now;
  arrival.rank = rank;
  ++met_;
}

bool is_of_a_process_group(std::string_view key) {
  return within_group(key).has_value();
}

std::optional<int> rank_named_by(std::string_view key) {
  const auto group = within_group(key);
  constexpr std::string_view of_default = "0/";
  if (!group || !group->starts_with(of_default)) return std::nullopt;
  std::string_view rest = group->substr(of_default.size());
  if (rest.starts_with('/')) {  // since PyTorch 2.0 a device stands between
    const std::size_t end = rest.find("//", 1);
    if (end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 2);
  }
  constexpr std::string_view context = "0/";
  constexpr std::string_view host_of = "rank_";
  if (!rest.starts_with(context)) return std::nullopt;
  rest.remove_prefix(context.size());
  if (rest.starts_with(host_of)) rest.remove_prefix(host_of.size());
  const auto rank = parse_int(rest);
  if (!rank || *rank < 0 || *rank > INT32_MAX) return std::nullopt;
  return static_cast<int>(*rank);
}

}  // namespace toprun::store
