#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "bench/pairs/distances.h"
#include "bench/pairs/pair_verdict.h"

namespace toprun::pairs {
namespace {

std::string domain_name(const Cluster& cluster, const DomainPath& path) {
  const std::size_t level = path.size() - 1;
  const std::string kind = level < cluster.levels.size() ? cluster.levels[level] : "domain";
  return printable(fmt::format("{} {}", kind, join(path, "/")));
}

std::string subject(const Cluster& cluster, const Finding& finding) {
  const auto node = [&](std::size_t i) { return printable(cluster.names[finding.nodes[i]]); };
  const auto domain = [&](std::size_t i) { return domain_name(cluster, finding.domains[i]); };
  switch (finding.kind) {
    case Kind::node:
      return node(0);
    case Kind::uplink:
      return "uplink of " + domain(0);
    case Kind::between:
      return fmt::format("between {} and {}", domain(0), domain(1));
    case Kind::pair:
      return fmt::format("{} – {}", node(0), node(1));
  }
  return {};
}

std::string way_words(const Cluster& cluster, const Finding& finding) {
  const auto end = [&](std::size_t i) {
    return finding.kind == Kind::pair ? printable(cluster.names[finding.nodes[i]])
                                      : domain_name(cluster, finding.domains[i]);
  };
  const bool of_two = finding.kind == Kind::between || finding.kind == Kind::pair;
  switch (finding.way) {
    case Way::both:
      return "both directions";
    case Way::out:
      return of_two ? fmt::format("from {} to {}", end(0), end(1)) : "sending";
    case Way::in:
      return of_two ? fmt::format("from {} to {}", end(1), end(0)) : "receiving";
  }
  return {};
}

// Of a node, some pairs may have nothing comparable, or only some were measured again.
std::string count_words(const Cluster& cluster, const Finding& finding) {
  if (finding.kind == Kind::pair) return {};
  const std::size_t all = cluster.names.size() - 1;
  const bool are_some = finding.kind == Kind::node && finding.pairs < all;
  return fmt::format(" in {} of {}{} pairs", finding.slow, finding.pairs,
                     are_some ? " compared" : "");
}

// "; 3 hung, 1 failed"
std::string without_result(const Finding& finding) {
  std::string out;
  for (const auto& [count, word] :
       {std::pair(finding.hung, "hung"), std::pair(finding.failed, "failed")}) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "; " : ", ", count, word);
  }
  return out;
}

}  // namespace

std::string finding_line(const Cluster& cluster, Figure figure, const Finding& finding) {
  if (finding.reached == 0) {
    if (finding.kind == Kind::pair) {
      return subject(cluster, finding) + (finding.hung > 0 ? ": hung" : ": failed");
    }
    return fmt::format("{}: no result{}{}", subject(cluster, finding),
                       count_words(cluster, finding), without_result(finding));
  }
  const std::string counts = count_words(cluster, finding);
  return fmt::format("{}: {} {}, others {}{}, {}{}", subject(cluster, finding),
                     figure_text(finding.reached), figure == Figure::rate ? "Gbps" : "µs",
                     figure_text(finding.usual), counts.empty() ? "" : "," + counts,
                     way_words(cluster, finding), without_result(finding));
}

bool is_certain(const Cluster& cluster, std::span<const std::string> bad_hosts) {
  return bad_hosts.size() < 2 || !std::ranges::all_of(cluster.places, &DomainPath::empty);
}

std::vector<std::string> excluded(const Cluster& cluster, std::span<const Finding> findings) {
  std::vector<char> bad(cluster.names.size());
  for (const Finding& finding : findings) {
    if (finding.kind == Kind::node) bad[finding.nodes[0]] = 1;
  }
  std::vector<std::string> out;
  for (std::size_t node = 0; node < bad.size(); ++node) {
    if (bad[node] == 0 || std::ranges::find(out, cluster.host_of(node)) != out.end()) continue;
    out.push_back(cluster.host_of(node));
  }
  return out;
}

}  // namespace toprun::pairs
