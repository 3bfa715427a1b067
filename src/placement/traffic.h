#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/layout.h"

namespace toprun::placement {

// How the members of a group send to each other.
enum class Pattern {
  ring,        // each to the next, the last to the first: all-reduce, reduce-scatter, all-gather
  all_to_all,  // each to every other the same share
  chain,       // each to the next and back, the last not to the first: stages of a pipeline
};
Pattern pattern_of(Kind kind);

// What each rank sends per step, in bytes, by kind.
struct Traffic {
  std::array<double, all_kinds.size()> bytes = {};

  double of(Kind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
};

inline constexpr double default_parameters = 70e9;

// "70B", "1.5T", "350M": a model's parameters. Error (usage): not of that form.
Result<double> parse_model(std::string_view text);

// Given figures override those derived from the model's size. The rules of thumb: N parameters in
// L layers of width h with N = 12·L·h² (attention 4h², MLP 8h²) and h = 128·L, which GPT-3's 96
// layers of 12,288 have; 2²² tokens per step over all replicas, at least one sequence of 4,096 for
// each; activations of 2 bytes; gradients reduced in 4 bytes, parameters gathered in 2, as
// Megatron's distributed optimizer does. With T tokens per replica and step, and a ring of n
// sending (n−1)/n of what it reduces or gathers:
//   tp   two all-reduces forward and two backward per layer of T/cp · h, a half each of them
//        attention's and the MLP's (the same bytes with sequence parallelism)
//   cp   per layer keys and values of a rank's tokens to all others, forward once and, with their
//        gradients, backward twice; one head of them per eight of the queries
//   pp   T/(cp·tp) · h forward and as much backward
//   dp   6 bytes for each of the rank's N/(tp·pp) parameters
// Where there are experts: eight per layer, two for each token (Mixtral's figures), so that N is
// 17/3 of the dense model that L and h follow from, and 16/17 of it are the experts':
//   ep   per layer two copies of T/(cp·tp) · h out and back, forward and backward
//   etp  the MLP's half of tp, for two copies of each token
//   edp  as dp, of the rank's N·16/17/(etp·ep·pp)
Traffic traffic_of(const Layout& layout, double parameters, const std::map<Kind, double>& told);

// What slots send to each other. A slot is a row of consecutive ranks that one node will run. The
// directions are added up, since every link has both.
struct Graph {
  struct Edge {
    std::uint32_t to;
    double bytes;
  };
  std::vector<std::size_t> first;  // of slot s: edges[first[s]] … edges[first[s + 1] − 1]
  std::vector<Edge> edges;         // each pair of slots twice, once from either side

  std::size_t slots() const { return first.size() - 1; }
  std::span<const Edge> of(std::size_t slot) const {
    return std::span(edges).subspan(first[slot], first[slot + 1] - first[slot]);
  }
};

inline constexpr std::size_t max_pairs = 4'000'000;  // of slots that send to each other

// `slot_of[r]` is the slot of rank r, ascending. nullopt: more than max_pairs.
std::optional<Graph> graph_of(const Layout& layout, const Traffic& traffic,
                              std::span<const Kind> kinds, std::span<const std::uint32_t> slot_of,
                              std::size_t slots);

}  // namespace toprun::placement
