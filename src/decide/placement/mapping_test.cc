#include "decide/placement/mapping.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "base/os/os_testing.h"
#include "decide/placement/exact_mapping.h"
#include "decide/placement/order.h"

namespace toprun::placement {
namespace {

using Indexes = std::vector<std::size_t>;
using topology::Path;

struct MappedJob {
  std::vector<Host> hosts;
  topology::Map map{"test", {}, {}, {}};

  void add(const Path& path, int nproc) {
    hosts.push_back({fmt::format("n{}", hosts.size()), nproc});
    map.hosts.push_back({hosts.back().name, {path, "here", {}}});
  }
};

// The cost of a byte between two hosts, computed from the definition: host adapters at either end
// and uplinks of the domains that are not shared, or only NVLink. All values are given, none are
// derived.
struct Network {
  const topology::Map& map;
  const cost::Links& links;

  bool share(std::size_t a, std::size_t b, std::size_t level) const {
    const Path& first = map.hosts[a].location.path;
    const Path& second = map.hosts[b].location.path;
    for (std::size_t l = level; l < map.levels.size(); ++l) {
      // Hosts that share an inner domain share the domains around it, known or not.
      const auto end = static_cast<std::ptrdiff_t>(l) + 1;
      if (first[l] && std::equal(first.begin(), first.begin() + end, second.begin())) return true;
    }
    return false;
  }

  double seconds(std::size_t a, std::size_t b) const {
    double gigabits = 0;
    for (std::size_t level = 0; level < links.levels.size(); ++level) {
      if (links.levels[level].nvlink && share(a, b, level)) {
        return 2 * 8 / (links.levels[level].gbps * 1e9);
      }
      if (!links.levels[level].nvlink && !share(a, b, level)) {
        gigabits += 2 / links.levels[level].gbps;
      }
    }
    return 8 * (gigabits + 2 / links.host.gbps) / 1e9;
  }
};

// Bytes between the nodes' slots, from the definition of the patterns.
using Matrix = std::vector<std::vector<double>>;
Matrix bytes_between(const Prepared& prepared, const std::vector<int>& processes) {
  std::vector<std::size_t> slot_of;
  for (std::size_t s = 0; s < processes.size(); ++s) {
    for (int i = 0; i < processes[s]; ++i) slot_of.push_back(s);
  }
  Matrix bytes(processes.size(), std::vector<double>(processes.size()));
  const auto send = [&](int from, int to, double amount) {
    const std::size_t a = slot_of[static_cast<std::size_t>(from)];
    const std::size_t b = slot_of[static_cast<std::size_t>(to)];
    if (a == b) return;
    bytes[a][b] += amount;
    bytes[b][a] += amount;
  };
  for (const cost::Kind kind : prepared.kinds) {
    const cost::Groups groups = cost::groups_of(prepared.layout, kind);
    const std::size_t n = groups.offsets.size();
    const double amount = prepared.traffic.of(kind);
    for (std::size_t g = 0; g < groups.bases.size(); ++g) {
      for (std::size_t i = 0; i < n; ++i) {
        if (kind == cost::Kind::ep) {
          for (std::size_t j = 0; j < n; ++j) {
            if (i != j) {
              send(groups.rank(g, i), groups.rank(g, j), amount / static_cast<double>(n - 1));
            }
          }
        } else if (i + 1 < n || kind != cost::Kind::pp) {
          send(groups.rank(g, i), groups.rank(g, (i + 1) % n), amount);
        }
      }
    }
  }
  return bytes;
}

Matrix seconds_between(const Network& network) {
  const std::size_t count = network.map.hosts.size();
  Matrix seconds(count, std::vector<double>(count));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) seconds[a][b] = network.seconds(a, b);
  }
  return seconds;
}

double cost(const Matrix& bytes, const Matrix& seconds, const Indexes& nodes) {
  double sum = 0;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) sum += bytes[a][b] * seconds[nodes[a]][nodes[b]];
  }
  return sum;
}

// A job with random levels, domains, unknown domains, values, layout and traffic.
struct Random {
  std::mt19937 engine;
  std::size_t operator()(std::size_t below) { return engine() % below; }

  MappedJob job(std::size_t count, bool mixed) {
    MappedJob job;
    const std::vector<std::vector<std::string>> levels = {
        {"rack"},           {"nvlink"},         {"spine", "leaf"},
        {"leaf", "nvlink"}, {"nvlink", "leaf"}, {"core", "spine", "leaf"}};
    job.map.levels = levels[(*this)(levels.size())];
    const std::size_t width = 2 + (*this)(2);
    const int nproc = 1 << (*this)(2);
    for (std::size_t i = 0; i < count; ++i) {
      Path path;
      for (std::size_t l = 0; l < job.map.levels.size(); ++l) {
        const bool unknown = (*this)(12) == 0;
        path.push_back(unknown ? std::nullopt : std::optional(fmt::format("d{}", (*this)(width))));
      }
      job.add(path, mixed && (*this)(3) == 0 ? 2 * nproc : nproc);
    }
    return job;
  }

  Plan plan(const MappedJob& job) {
    Plan plan;
    int left = 0;
    for (const Host& host : job.hosts) left += host.nproc;
    for (const cost::Kind kind : {cost::Kind::tp, cost::Kind::cp, cost::Kind::pp}) {
      const auto size = static_cast<int>(1 + (*this)(4));
      if (left % size != 0) continue;
      plan.parallel.sizes[kind] = size;
      left /= size;
    }
    if (const int ep = static_cast<int>(2 + (*this)(3)); left % ep == 0) {
      plan.parallel.sizes[cost::Kind::ep] = ep;
    }
    for (const cost::Kind kind : cost::all_kinds) {
      plan.traffic[kind] = static_cast<double>(1 + (*this)(1000)) * 1e6;
    }
    for (const std::string& level : job.map.levels) {
      const bool nvlink = level == topology::nvlink_level;
      plan.links[level].gbps = nvlink ? 5000 : static_cast<double>(10 + (*this)(400));
    }
    plan.links["host"].gbps = static_cast<double>(100 + (*this)(400));
    return plan;
  }
};

std::vector<int> processes_of(const MappedJob& job) {
  std::vector<int> processes;
  for (const Host& host : job.hosts) processes.push_back(host.nproc);
  return processes;
}

Indexes indexes_of(const Placement& placement) {
  Indexes nodes;
  for (const Node& node : placement.nodes) nodes.push_back(node.index);
  return nodes;
}

TEST(Mapping, IsTheBestOfAllOrdersOfSmallJobs) {
  Random random{std::mt19937(7)};
  std::size_t better_than_plain = 0;
  for (int round = 0; round < 300; ++round) {
    const MappedJob job = random.job(2 + random(7), round % 4 == 0);
    const Plan plan = random.plan(job);
    const auto prepared = prepare(plan, job.map, processes_of(job));
    ASSERT_TRUE(prepared) << prepared.error().line();
    const auto plain = place(job.hosts, job.map);
    const auto placement = place(job.hosts, job.map, {.plan = plan});
    ASSERT_TRUE(placement) << placement.error().line();
    ASSERT_TRUE(placement->mapping->exact);

    const Matrix seconds = seconds_between({job.map, prepared->links});
    std::vector<int> slots;
    for (const Node& node : plain->nodes) slots.push_back(node.nproc);
    const Matrix bytes = bytes_between(*prepared, slots);
    Indexes nodes(job.hosts.size());
    std::iota(nodes.begin(), nodes.end(), std::size_t{0});
    double least = cost(bytes, seconds, indexes_of(*plain));
    EXPECT_NEAR(placement->mapping->plain, least, 1e-9 * least);
    do {
      bool fits = true;
      for (std::size_t s = 0; s < nodes.size(); ++s) {
        fits = fits && job.hosts[nodes[s]].nproc == slots[s];
      }
      if (fits) least = std::min(least, cost(bytes, seconds, nodes));
    } while (std::ranges::next_permutation(nodes).found);
    EXPECT_NEAR(cost(bytes, seconds, indexes_of(*placement)), least, 1e-8 * least) << round;
    EXPECT_NEAR(placement->mapping->cost, least, 1e-8 * least) << round;
    EXPECT_LE(placement->mapping->bound, least * (1 + 1e-9)) << round;
    if (placement->mapping->cost < placement->mapping->plain) ++better_than_plain;
  }
  EXPECT_GT(better_than_plain, 50u);
}

TEST(Mapping, IsNeverWorseThanThePlainOrder) {
  Random random{std::mt19937(11)};
  for (int round = 0; round < tried(500); ++round) {
    const MappedJob job = random.job(2 + random(32), round % 4 == 0);
    const Plan plan = random.plan(job);
    const auto prepared = prepare(plan, job.map, processes_of(job));
    const auto plain = place(job.hosts, job.map);
    const auto placement = place(job.hosts, job.map, {.plan = plan});
    ASSERT_TRUE(placement) << placement.error().line();
    std::vector<int> slots;
    for (const Node& node : plain->nodes) slots.push_back(node.nproc);
    const Matrix seconds = seconds_between({job.map, prepared->links});
    const Matrix bytes = bytes_between(*prepared, slots);
    const double before = cost(bytes, seconds, indexes_of(*plain));
    const double after = cost(bytes, seconds, indexes_of(*placement));
    EXPECT_LE(after, before * (1 + 1e-9)) << round;
    EXPECT_NEAR(after, placement->mapping->cost, 1e-8 * before) << round;
    EXPECT_LE(placement->mapping->bound, after * (1 + 1e-9)) << round;
    for (std::size_t s = 0; s < slots.size(); ++s) EXPECT_EQ(placement->nodes[s].nproc, slots[s]);
    Indexes sorted = indexes_of(*placement);
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
  }
}

// All ways to divide 16 slots among four leaves of four. Pairs of leaves, and the leaves of a pair,
// occur in one order only: slot 0 is in leaf 0, and leaf 2 contains the first slot that is not in
// leaves 0 and 1. A cost is a sum over the level's groups of the bytes that stay inside. Two tables
// contain these bytes: for each set of four slots, and for each set of eight.
double least_of_16(const Matrix& bytes, double in_leaf, double in_pair, double outside) {
  constexpr unsigned all = 0xffff;
  std::vector<double> inside(all + 1);
  for (unsigned set = 1; set <= all; ++set) {
    if (std::popcount(set) > 8) continue;
    const auto low = static_cast<std::size_t>(std::countr_zero(set));
    inside[set] = inside[set & (set - 1)];
    for (std::size_t s = low + 1; s < 16; ++s) {
      if ((set >> s & 1) != 0) inside[set] += bytes[low][s];
    }
  }
  double total = 0;
  for (std::size_t a = 0; a < 16; ++a) {
    for (std::size_t b = 0; b < a; ++b) total += bytes[a][b];
  }
  // The maximum of the bytes inside the leaves of a pair is independent of the slots outside it.
  const auto saved = [&](unsigned pair) {
    double best = 0;
    for (unsigned leaf = (pair - 1) & pair; leaf > 0; leaf = (leaf - 1) & pair) {
      if (std::popcount(leaf) == 4) best = std::max(best, inside[leaf] + inside[pair ^ leaf]);
    }
    return best * (in_pair - in_leaf) + inside[pair] * (outside - in_pair);
  };
  double most = 0;
  for (unsigned pair = 1; pair <= all; pair += 2) {
    if (std::popcount(pair) == 8) most = std::max(most, saved(pair) + saved(all ^ pair));
  }
  return total * outside - most;
}

struct Nesting {
  std::vector<std::string> levels;  // outermost first
  std::size_t outer, inner;         // nodes per domain of each
};

TEST(Mapping, IsTheBestOfAllOrdersOf16NodesInTwoDomainsAndFourLeaves) {
  const std::vector<std::string> layouts = {"tp=8,pp=4",
                                            "tp=8,pp=2",
                                            "tp=8,cp=2,pp=2",
                                            "tp=8,cp=4,pp=2",
                                            "tp=16,pp=4",
                                            "tp=32,pp=2",
                                            "tp=4,pp=8",
                                            "tp=8,pp=16",
                                            "tp=8,ep=4,pp=2",
                                            "tp=8,ep=8",
                                            "tp=8,dp=4,pp=4,order=tp-pp-dp",
                                            "tp=8,cp=2,ep=4,pp=2",
                                            "tp=1,ep=64",
                                            "tp=2,pp=4,order=pp-tp-dp"};
  const std::vector<Nesting> nestings = {{{"nvlink", "leaf"}, 8, 4},
                                         {{"spine", "nvlink"}, 8, 4},
                                         {{"spine", "leaf"}, 8, 4},
                                         {{"leaf", "nvlink"}, 8, 4}};
  Random random{std::mt19937(3)};
  for (const auto& [levels, outer, inner] : nestings) {
    MappedJob job;
    job.map.levels = levels;
    // An order that does not help the mapping.
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t at = i * 5 % 16;
      job.add({fmt::format("o{}", at / outer), fmt::format("i{}", at / inner)}, 8);
    }
    for (const std::string& text : layouts) {
      Plan plan;
      plan.parallel = *cost::parse_parallel(text);
      for (const cost::Kind kind : cost::all_kinds) {
        if (random(2) == 0) plan.traffic[kind] = static_cast<double>(1 + random(1000)) * 1e6;
      }
      for (const std::string& level : levels) {
        plan.links[level].gbps =
            level == topology::nvlink_level ? 57'600 : 100 + 100.0 * static_cast<double>(random(9));
      }
      const auto prepared = prepare(plan, job.map, processes_of(job));
      ASSERT_TRUE(prepared) << prepared.error().line();
      const Matrix seconds = seconds_between({job.map, prepared->links});
      const auto placement = place(job.hosts, job.map, {.plan = plan});
      const Matrix bytes = bytes_between(*prepared, processes_of(job));
      // Nodes by their place in the tree: 0 and 1 share a leaf, 0 and 4 a pair, 0 and 8 neither.
      Indexes at(16);
      for (std::size_t i = 0; i < 16; ++i) at[i * 5 % 16] = i;
      const double least =
          least_of_16(bytes, seconds[at[0]][at[1]], seconds[at[0]][at[4]], seconds[at[0]][at[8]]);
      EXPECT_TRUE(placement->mapping->exact) << text;
      EXPECT_NEAR(cost(bytes, seconds, indexes_of(*placement)), least, 1e-8 * least)
          << text << " in " << levels[0] << "/" << levels[1];
      EXPECT_NEAR(placement->mapping->cost, least, 1e-8 * least) << text;
    }
  }
}

TEST(Mapping, WaysNeverGetCheaperOutwards) {
  const std::vector<Path> paths = {{"a", "x"},
                                   {"a", "x"},
                                   {"a", "y"},
                                   {"b", "z"},
                                   {std::nullopt, "x"},
                                   {std::nullopt, "x"},
                                   {std::nullopt, std::nullopt}};
  std::vector<const Path*> pointers;
  for (const Path& path : paths) pointers.push_back(&path);
  const cost::Domains domains(pointers, 2);
  const cost::Links links{{{"leaf", false, 0, 1, true}, {"nvlink", true, 57'600, 2, true}},
                          {"host", false, 3'200, 5, true}};
  const cost::Ways ways(domains, paths.size(), links);
  EXPECT_EQ(ways.shared(0, 1), 2u);
  EXPECT_EQ(ways.shared(0, 2), 1u);
  EXPECT_EQ(ways.shared(0, 3), 0u);
  EXPECT_EQ(ways.shared(0, 4), 0u);
  EXPECT_EQ(ways.shared(4, 5), 2u);
  EXPECT_EQ(ways.shared(4, 6), 0u);
  EXPECT_EQ(ways.shared(6, 6), 2u);
  EXPECT_DOUBLE_EQ(ways.seconds(2), 2 * 8 / 57'600e9);
  EXPECT_DOUBLE_EQ(ways.seconds(1), 2 * 8 / 3'200e9);
  // 7 hosts in 5 leaves: a, b and three unknown ones.
  EXPECT_DOUBLE_EQ(ways.seconds(0), 2 * 8 / 3'200e9 + 2 * 8 / (7.0 / 5 * 3'200e9));
}

}  // namespace
}  // namespace toprun::placement
