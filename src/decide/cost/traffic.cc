#include "decide/cost/traffic.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"

namespace toprun::cost {
namespace {

constexpr double width_per_layer = 128;
constexpr double activation_bytes = 2;
constexpr double bytes_per_parameter = 4 + 2;  // gradient reduced, parameter gathered
constexpr double queries_per_key = 8;
constexpr double experts_per_token = 2;
// the dense model's size relative to that with experts
constexpr double dense_share_of_experts = 3.0 / 17;
constexpr double parameters_of_experts = 16.0 / 17;

// The bytes that a ring of n sends per reduced or gathered byte.
double ring_share(double n) {
  return (n - 1) / n;
}

struct Shape {
  double layers;
  double width;
};

Shape shape_of(double dense_parameters) {
  const double layers = std::max(
      1.0, std::round(std::cbrt(dense_parameters / (12 * width_per_layer * width_per_layer))));
  return {layers, width_per_layer * layers};
}

Traffic usual_traffic(const Layout& layout, double parameters) {
  const auto size = [&](Kind kind) { return static_cast<double>(layout.size(kind)); };
  const double tp = size(Kind::tp);
  const double cp = size(Kind::cp);
  const double pp = size(Kind::pp);
  const double ep = size(Kind::ep);
  const double etp = size(Kind::etp);
  const bool experts = ep > 1;
  const bool own_tensor = std::ranges::count(kinds_of(layout), Kind::etp) > 0;

  const Shape shape = shape_of(parameters * (experts ? dense_share_of_experts : 1));
  const double layers = shape.layers / pp;
  const double tokens = std::max(tokens_per_step / size(Kind::dp), sequence_tokens);
  const double activations = activation_bytes * shape.width * tokens / (cp * tp);  // per rank
  const double copies = experts ? experts_per_token : 1;

  Traffic traffic;
  const auto set = [&](Kind kind, double bytes) {
    traffic.bytes[static_cast<std::size_t>(kind)] = bytes;
  };
  // An all-reduce consists of a reduction and a gather: 2 of each 4 in the attention, 2 in the MLP.
  const auto half_of_tensor = [&](double n) {
    return 2 * 2 * ring_share(n) * n * activations * layers;
  };
  set(Kind::tp, half_of_tensor(tp) * (own_tensor ? 1 : 1 + copies));
  set(Kind::etp, half_of_tensor(etp) * copies);
  set(Kind::cp, 3 * (cp - 1) * 2 * activations / queries_per_key * layers);
  set(Kind::pp, 2 * activations);
  set(Kind::ep, 4 * ring_share(ep) * copies * activations * layers);
  const double of_experts = experts ? parameters_of_experts : 0;
  set(Kind::dp, bytes_per_parameter * ring_share(size(Kind::dp) * cp) * parameters *
                    (1 - of_experts) / (tp * pp));
  set(Kind::edp, bytes_per_parameter * ring_share(size(Kind::edp)) * parameters * of_experts /
                     (etp * ep * pp));
  return traffic;
}

struct Pair {
  std::uint32_t a, b;  // a < b
  double bytes;
};

// Collects the pairs of slots with traffic, up to a maximum number.
class Pairs {
 public:
  bool add_groups(const Layout& layout, Kind kind, double bytes,
                  std::span<const std::uint32_t> slot_of) {
    const Groups groups = groups_of(layout, kind);
    std::vector<std::uint32_t> slots(groups.offsets.size());
    std::vector<std::uint32_t> last;
    double times = 0;  // number of consecutive groups in the same slots
    for (std::size_t g = 0; g < groups.bases.size(); ++g) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        slots[i] = slot_of[static_cast<std::size_t>(groups.rank(g, i))];
      }
      if (slots != last) {
        add_group(last, pattern_of(kind), bytes * times);
        if (pairs_.size() > max_pairs) return false;
        last = slots;
        times = 0;
      }
      ++times;
    }
    add_group(last, pattern_of(kind), bytes * times);
    return pairs_.size() <= max_pairs;
  }

  Graph graph(std::size_t slots) {
    merge();
    Graph graph;
    graph.first.assign(slots + 1, 0);
    for (const Pair& pair : pairs_) ++graph.first[pair.a + 1], ++graph.first[pair.b + 1];
    for (std::size_t s = 0; s < slots; ++s) graph.first[s + 1] += graph.first[s];
    graph.edges.resize(2 * pairs_.size());
    std::vector<std::size_t> next = graph.first;
    for (const auto& [a, b, bytes] : pairs_) {
      graph.edges[next[a]++] = {b, bytes};
      graph.edges[next[b]++] = {a, bytes};
    }
    return graph;
  }

 private:
  void add(std::uint32_t a, std::uint32_t b, double bytes) {
    if (a != b) pairs_.push_back({std::min(a, b), std::max(a, b), bytes});
  }

  void add_group(const std::vector<std::uint32_t>& slots, Pattern pattern, double bytes) {
    if (slots.size() < 2) return;
    if (pattern == Pattern::all_to_all) return add_all_to_all(slots, bytes);
    for (std::size_t i = 0; i + 1 < slots.size(); ++i) add(slots[i], slots[i + 1], bytes);
    if (pattern == Pattern::ring) add(slots.back(), slots.front(), bytes);
  }

  void add_all_to_all(const std::vector<std::uint32_t>& slots, double bytes) {
    std::vector<std::pair<std::uint32_t, double>> members;  // slot, number of group members in it
    for (const std::uint32_t slot : slots) {
      if (members.empty() || members.back().first != slot) members.emplace_back(slot, 0);
      ++members.back().second;
    }
    const double each = 2 * bytes / static_cast<double>(slots.size() - 1);
    for (std::size_t i = 0; i < members.size() && pairs_.size() <= max_pairs; ++i) {
      for (std::size_t j = i + 1; j < members.size(); ++j) {
        add(members[i].first, members[j].first, each * members[i].second * members[j].second);
      }
    }
  }

  void merge() {
    std::ranges::sort(pairs_, {}, [](const Pair& pair) { return std::pair(pair.a, pair.b); });
    std::vector<Pair> merged;
    for (const Pair& pair : pairs_) {
      const bool same = !merged.empty() && merged.back().a == pair.a && merged.back().b == pair.b;
      if (same) {
        merged.back().bytes += pair.bytes;
      } else {
        merged.push_back(pair);
      }
    }
    pairs_ = std::move(merged);
  }

  std::vector<Pair> pairs_;
};

std::size_t parent_of(std::size_t position, std::size_t count) {
  if (position == 0) return 0;
  const std::size_t lowest = position & (~position + 1);
  const std::size_t rest = position ^ lowest;
  const std::size_t up = rest | (lowest << 1);
  return up < count ? up : rest;
}

}  // namespace

Pattern pattern_of(Kind kind) {
  if (kind == Kind::ep) return Pattern::all_to_all;
  return kind == Kind::pp ? Pattern::chain : Pattern::ring;
}

Result<double> parse_model(std::string_view text) {
  constexpr std::string_view units = "mbt";
  const std::size_t unit = text.empty() ? units.npos : units.find(lower(text).back());
  const auto number =
      unit == units.npos ? std::nullopt : parse_double(text.substr(0, text.size() - 1));
  if (!number || !std::isfinite(*number) || *number <= 0) {
    return usage(fmt::format("--model {}", printable(text)), "not a valid number of parameters",
                 "write the number with M, B or T, as in 70B");
  }
  return *number * std::pow(1e3, static_cast<double>(unit) + 2);
}

Traffic traffic_of(const Layout& layout, double parameters, const std::map<Kind, double>& given) {
  Traffic traffic = usual_traffic(layout, parameters);
  for (const auto& [kind, bytes] : given) traffic.bytes[static_cast<std::size_t>(kind)] = bytes;
  return traffic;
}

std::optional<Graph> graph_of(const Layout& layout, const Traffic& traffic,
                              std::span<const Kind> kinds, std::span<const std::uint32_t> slot_of,
                              std::size_t slots) {
  Pairs pairs;
  for (const Kind kind : kinds) {
    if (!pairs.add_groups(layout, kind, traffic.of(kind), slot_of)) return std::nullopt;
  }
  return pairs.graph(slots);
}

std::vector<std::uint32_t> slots_of_ranks(std::span<const int> processes) {
  std::vector<std::uint32_t> slots;
  for (std::size_t s = 0; s < processes.size(); ++s) {
    slots.insert(slots.end(), static_cast<std::size_t>(processes[s]),
                 static_cast<std::uint32_t>(s));
  }
  return slots;
}

DoubleTree::DoubleTree(std::size_t count) : cut_off_(count + 1) {
  parent[0].resize(count);
  parent[1].resize(count);
  std::vector<std::size_t> size(count, 1), depths(count), neighbours(count);
  const auto other = [&](std::size_t i) {
    return count % 2 == 0 ? count - 1 - i : (i + 1) % count;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t up = parent_of(i, count);
    parent[0][i] = up;
    parent[1][other(i)] = other(up);
    if (i == 0) continue;
    for (const std::size_t end : {i, up, other(i), other(up)}) ++neighbours[end];
  }
  // A parent's lowest bit is above its children's.
  std::size_t bit = 1;
  for (; bit < count; bit <<= 1) {
    for (std::size_t i = bit; i < count; i += bit << 1) size[parent[0][i]] += size[i];
  }
  while ((bit >>= 1) > 0) {
    for (std::size_t i = bit; i < count; i += bit << 1) {
      depths[i] = depths[parent[0][i]] + 1;
      cut_off_[size[i]] = cut_off_[count - size[i]] = true;
      depth = std::max(depth, depths[i]);
    }
  }
  if (count > 0) most_neighbours = std::ranges::max(neighbours);
}

std::size_t DoubleTree::fewest_leaving(std::size_t group) const {
  if (group == 0 || group + 1 >= cut_off_.size()) return 0;
  return cut_off_[group] ? 1 : 2;
}

}  // namespace toprun::cost
