#include "decide/topology/rails.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::topology {
namespace {

using Index = std::size_t;

// Number of occurrences of each value.
template <class T>
using Counts = std::map<T, std::size_t>;

template <class T>
const T& most_common(const Counts<T>& counts) {
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

// The name of a rail, equal on all hosts.
std::string rail_name(const Rail& rail) {
  return rail.port == 1 ? rail.hca : fmt::format("{} port {}", rail.hca, rail.port);
}

// The hosts of one leaf group.
class Group {
 public:
  Group(const Fabric& fabric, std::vector<Index> hosts, const std::vector<bool>& in_job)
      : fabric_(fabric), hosts_(std::move(hosts)), in_job_(in_job) {
    for (const Index host : hosts_) {
      ++sizes_[fabric.rails[host].size()];
      for (const Rail& rail : fabric.rails[host]) ++leaves_[rail_name(rail)][rail.leaf];
    }
    for (const auto& [rail, leaves] : leaves_) rail_of_.emplace(most_common(leaves), rail);
  }

  void warn_of_crossed_rails(std::vector<std::string>& warnings) const {
    for (const Index host : hosts_) {
      if (!in_job_[host]) continue;
      for (const Rail& rail : fabric_.rails[host]) {
        const std::string name = rail_name(rail);
        const std::string& usual = most_common(leaves_.at(name));
        const auto other = rail_of_.find(rail.leaf);
        if (rail.leaf == usual || other == rail_of_.end()) continue;
        warnings.push_back(
            fmt::format("{}: {} is on leaf {}, where the others of its group have {}; theirs is on "
                        "{} ({} of {} hosts): the same local ranks meet on different rails",
                        fabric_.map.hosts[host].host, name, rail.leaf, other->second, usual,
                        leaves_.at(name).at(usual), hosts_.size()));
      }
    }
  }

  void note_missing_rails(std::vector<std::string>& notes) const {
    const std::size_t usual = most_common(sizes_);
    std::vector<std::string> fewer;
    for (const Index host : hosts_) {
      if (in_job_[host] && fabric_.rails[host].size() < usual)
        fewer.push_back(fabric_.map.hosts[host].host);
    }
    if (fewer.empty()) return;
    std::ranges::sort(fewer, natural_less);
    notes.push_back(fmt::format("fewer rails are up on {} than the {} that most hosts have in {}",
                                hosts::compress_hostlist(fewer), usual,
                                *fabric_.map.hosts[hosts_.front()].location.path.back()));
  }

 private:
  const Fabric& fabric_;
  std::vector<Index> hosts_;
  const std::vector<bool>& in_job_;
  Counts<std::size_t> sizes_;                          // number of rails per host
  std::map<std::string, Counts<std::string>> leaves_;  // by rail
  std::map<std::string, std::string, std::less<>>
      rail_of_;  // by leaf: the rail of most hosts there
};

// Uses the value of most hosts of the job; a fabric also has service hosts with one slow port.
std::optional<double> usual_host_gbps(const Fabric& fabric, const std::vector<bool>& in_job) {
  Counts<double> sums;
  for (Index host = 0; host < fabric.rails.size(); ++host) {
    if (!in_job[host]) continue;
    double sum = 0;
    for (const Rail& rail : fabric.rails[host]) {
      const auto gbps = gbps_of(rail.speed);
      if (!gbps) return std::nullopt;
      sum += *gbps;
    }
    ++sums[sum];
  }
  if (sums.empty()) return std::nullopt;
  return most_common(sums);
}

// Appends at most `shown` texts of one kind, and the number of the others.
void append_shortened(std::vector<std::string>& all, std::vector<std::string> some,
                      std::string_view things) {
  constexpr std::size_t shown = 4;
  const std::size_t count = some.size();
  if (count > shown) {
    some.resize(shown);
    some.push_back(fmt::format("… {} such {} in all", count, things));
  }
  std::ranges::move(some, std::back_inserter(all));
}

}  // namespace

std::optional<double> gbps_of(std::string_view speed) {
  struct Rate {
    std::string_view name;
    double gbps;  // per lane
  };
  constexpr std::array<Rate, 9> rates = {{{"SDR", 2.5},
                                          {"DDR", 5},
                                          {"QDR", 10},
                                          {"FDR10", 10},
                                          {"FDR", 14},
                                          {"EDR", 25},
                                          {"HDR", 50},
                                          {"NDR", 100},
                                          {"XDR", 200}}};
  const std::size_t x = speed.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto lanes = parse_int(speed.substr(0, x));
  const auto rate = std::ranges::find(rates, speed.substr(x + 1), &Rate::name);
  constexpr std::array widths = {1, 2, 4, 8, 12};
  if (!lanes || rate == rates.end() || std::ranges::find(widths, *lanes) == widths.end()) {
    return std::nullopt;
  }
  return static_cast<double>(*lanes) * rate->gbps;
}

void add_rail_facts(Fabric& fabric, const std::vector<bool>& in_job) {
  std::map<Path, std::vector<Index>> groups;
  for (Index host = 0; host < fabric.map.hosts.size(); ++host) {
    groups[fabric.map.hosts[host].location.path].push_back(host);
  }
  std::vector<std::string> warnings, notes;
  for (auto& [path, hosts] : groups) {
    const Group group(fabric, std::move(hosts), in_job);
    group.warn_of_crossed_rails(warnings);
    group.note_missing_rails(notes);
  }
  append_shortened(fabric.map.warnings, std::move(warnings), "adapters");
  append_shortened(fabric.map.notes, std::move(notes), "groups");
  if (const auto gbps = usual_host_gbps(fabric, in_job)) {
    fabric.map.links[std::string(host_level)] = {gbps, {}};
  }
}

}  // namespace toprun::topology
