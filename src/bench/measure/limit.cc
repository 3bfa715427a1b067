#include "bench/measure/limit.h"

#include <fmt/format.h>

#include <functional>
#include <map>

namespace toprun::measure {
namespace {

using bench::Collective;

// The bytes from one position to another, in units of S times the busbw factor.
using Visit = std::function<void(std::size_t from, std::size_t to, double part)>;

void visit_ring(Collective collective, std::size_t n, std::size_t root, const Visit& visit) {
  for (std::size_t from = 0; from < n; ++from) {
    const std::size_t to = (from + 1) % n;
    // A chain begins or ends at the root.
    const bool is_unused = (collective == Collective::broadcast && to == root) ||
                           (collective == Collective::reduce && from == root);
    if (!is_unused) visit(from, to, 1);
  }
}

void visit_flows(Collective collective, std::size_t n, std::size_t root, const Visit& visit) {
  const double part = 1 / static_cast<double>(n - 1);
  switch (collective) {
    case Collective::barrier:
      return;
    case Collective::alltoall:
      for (std::size_t from = 0; from < n; ++from) {
        for (std::size_t to = 0; to < n; ++to) {
          if (from != to) visit(from, to, part);
        }
      }
      return;
    case Collective::gather:
    case Collective::scatter:
      for (std::size_t other = 0; other < n; ++other) {
        if (other == root) continue;
        if (collective == Collective::gather) visit(other, root, part);
        if (collective == Collective::scatter) visit(root, other, part);
      }
      return;
    default:
      visit_ring(collective, n, root, visit);
  }
}

struct Load {
  double out = 0;
  double in = 0;
};

// The busiest link of one kind. `place`: the name of what a rank is in; empty: not known.
template <class Where>
void lower(std::optional<Limit>& limit, const Cell& cell, Collective collective, std::size_t root,
           double rate, double share, std::string_view kind, Where place) {
  std::map<std::string, Load> loads;
  visit_flows(collective, cell.ranks.size(), root,
              [&](std::size_t from, std::size_t to, double part) {
                const std::string source = place(cell.ranks[from]);
                const std::string target = place(cell.ranks[to]);
                if (source == target || source.empty() || target.empty()) return;
                loads[source].out += part;
                loads[target].in += part;
              });
  for (const auto& [name, load] : loads) {
    const double most = std::max(load.out, load.in);
    if (limit && rate / most >= limit->busbw_gbps) continue;
    const std::string_view way = load.out >= load.in ? "sends" : "receives";
    limit = {rate / most, fmt::format("{} {} {} {:.3g} × busbw", kind, name, way, most), share};
  }
}

}  // namespace

double tcp_share(int mtu, bool is_ipv6) {
  constexpr int ethernet = 14;
  constexpr int tcp = 20 + 12;
  const int headers = (is_ipv6 ? 40 : 20) + tcp;
  if (mtu <= headers) return 1;
  return static_cast<double>(mtu - headers) / (mtu + ethernet);
}

std::optional<Limit> limit_of(Collective collective, const Cell& cell, std::span<const Peer> peers,
                              std::size_t root, const Rates& rates) {
  std::optional<Limit> limit;
  if (cell.ranks.size() < 2) return limit;
  const std::size_t position = cell.position_of(root).value_or(0);
  const double share = cell.backend == "tcp" || cell.backend == "gloo" ? rates.tcp_share : 1;
  if (rates.node) {
    lower(limit, cell, collective, position, *rates.node * share, share, "host",
          [&](std::size_t rank) { return peers[rank].host; });
  }
  if (rates.uplink) {
    lower(limit, cell, collective, position, *rates.uplink * share, share, "the uplink of",
          [&](std::size_t rank) { return domain_of(peers[rank]); });
  }
  return limit;
}

}  // namespace toprun::measure
