#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "decide/cost/layout.h"

namespace toprun::cost {

// Which ranks of a group send data to which other ranks.
enum class Pattern {
  ring,        // each member sends to the next member, the last member to the first: all-reduce,
               // reduce-scatter, all-gather
  all_to_all,  // each member sends an equal share to every other member
  chain,       // each member sends to the next and to the previous one: pipeline stages
};
Pattern pattern_of(Kind kind);

// The bytes that each rank sends per step, by kind.
struct Traffic {
  std::array<double, all_kinds.size()> bytes = {};

  double of(Kind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
};

inline constexpr double default_parameters = 70e9;
inline constexpr double tokens_per_step = 4'194'304;  // 2²²
inline constexpr double sequence_tokens = 4'096;

// Parses "70B", "1.5T", "350M": the number of a model's parameters. Error (usage): another form.
Result<double> parse_model(std::string_view text);

// Estimates the traffic from the model's size; the user's values in `given` have priority. Rules of
// thumb:
//   - The model has N = 12·L·h² parameters in L layers of width h (attention 4h², MLP 8h²), with
//     h = 128·L, as in GPT-3's 96 layers of 12,288.
//   - A step has 2²² tokens in all replicas together, but at least one sequence of 4,096 tokens in
//     each replica.
//   - Activations have 2 bytes. Gradients are reduced in 4 bytes, and parameters are gathered in 2,
//     as in Megatron's distributed optimizer.
// A replica processes T tokens per step. A ring of n ranks sends (n−1)/n of the reduced or gathered
// bytes. Traffic by kind:
//   - tp: in each pass, forward and backward, a layer has two all-reduces of T/cp · h: one for the
//     attention, one for the MLP. Sequence parallelism does not change the bytes.
//   - cp: per layer, the keys and values of a rank's tokens go to all other ranks: once in the
//     forward pass and, with their gradients, twice in the backward pass. Eight query heads share
//     one key-value head.
//   - pp: each stage sends T/(cp·tp) · h forward and the same backward.
//   - dp: there are 6 bytes for each of the rank's N/(tp·pp) parameters.
// A layer with experts has eight experts, and each token uses two (Mixtral's values). So N is 17/3
// times the parameters of a dense model with the same L and h, and 16/17 of N are the experts'
// parameters:
//   - ep: per layer, two copies of T/(cp·tp) · h go out and back, forward and backward.
//   - etp: the traffic is the half of tp's traffic that belongs to the MLP, but for two copies of
//     each token.
//   - edp: the traffic is like dp's, for the rank's N·16/17/(etp·ep·pp) parameters.
Traffic traffic_of(const Layout& layout, double parameters, const std::map<Kind, double>& given);

// The traffic between slots. A slot is a group of consecutive ranks that run on one node. An edge's
// bytes are the sum of both directions, although a link carries each direction separately.
struct Graph {
  struct Edge {
    std::uint32_t to;
    double bytes;
  };
  std::vector<std::size_t> first;  // the edges of slot s: edges[first[s]] … edges[first[s + 1] − 1]
  std::vector<Edge> edges;         // each pair of slots has two edges, one at each slot

  std::size_t slots() const { return first.size() - 1; }
  std::span<const Edge> of(std::size_t slot) const {
    return std::span(edges).subspan(first[slot], first[slot + 1] - first[slot]);
  }
};

// Returns the slot of each rank, if the i-th node in the order runs processes[i] processes.
std::vector<std::uint32_t> slots_of_ranks(std::span<const int> processes);

inline constexpr std::size_t max_pairs = 4'000'000;  // limit for the pairs of slots that exchange
                                                     // data

// Computes the traffic between slots. `slot_of[r]` is the slot of rank r; it never decreases with
// r. nullopt: more than max_pairs pairs of slots exchange data.
std::optional<Graph> graph_of(const Layout& layout, const Traffic& traffic,
                              std::span<const Kind> kinds, std::span<const std::uint32_t> slot_of,
                              std::size_t slots);

// NCCL's double binary tree over the positions of an order (NVIDIA/nccl, src/graph/trees.cc). In
// the first tree, a position's lowest bit determines its height: odd positions are leaves; 2, 6, 10
// … are above them; 0 is the root. The second tree is the first tree in reverse order or, for an
// odd count, shifted by one. So nearly every leaf of one tree is an inner position of the other.
// Each tree carries half of the message, upwards for the sum and downwards for the distribution.
struct DoubleTree {
  explicit DoubleTree(std::size_t count);

  // The parent of each position in the first and second tree; a root is its own parent.
  std::array<std::vector<std::size_t>, 2> parent;
  std::size_t depth = 0;  // edges from a root to its furthest leaf
  // The highest number of neighbours that a position has in both trees together.
  std::size_t most_neighbours = 0;

  // Returns the minimum number of tree edges that leave a group of `group` positions. It is 1 if a
  // single edge can cut off this number of positions, else 2. 0: the group is empty or contains all
  // positions.
  std::size_t fewest_leaving(std::size_t group) const;

 private:
  std::vector<bool> cut_off_;  // by group size: whether one edge cuts off this number of positions
};

}  // namespace toprun::cost
