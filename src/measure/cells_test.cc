#include "measure/cells.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace toprun::measure {
namespace {

// Two ranks on each node; racks as given, by node.
std::vector<Peer> job(const std::vector<std::string>& hosts, const std::string& racks) {
  std::vector<Peer> peers;
  for (std::size_t node = 0; node < hosts.size(); ++node) {
    for (int i = 0; i < 2; ++i) {
      Peer peer;
      peer.rank = peers.size();
      peer.node = node;
      peer.host = hosts[node];
      peer.location = fmt::format("/core/{}/{}", racks[node], hosts[node]);
      peers.push_back(peer);
    }
  }
  return peers;
}

std::string text(const Result<std::vector<Cell>>& cells) {
  if (!cells) return cells.error().line();
  std::string out;
  for (const Cell& cell : *cells) {
    out += fmt::format("{} {}: {}\n", cell.order, cell.nodes, fmt::join(cell.ranks, " "));
  }
  return out;
}

TEST(Cells, AllRanksInTheirOrderUnlessMoreIsAsked) {
  EXPECT_EQ(text(cells({}, job({"n2", "n10"}, "aa"))), "topology 2: 0 1 2 3\n");
}

// An order that is the same as an earlier one is left out.
TEST(Cells, OrdersOfTheSameRanks) {
  Request request;
  request.orders = {"topology", "hostname", "worst"};
  EXPECT_EQ(text(cells(request, job({"n0", "n10", "n9", "n11"}, "aabb"))),
            "topology 4: 0 1 2 3 4 5 6 7\n"
            "hostname 4: 0 1 4 5 2 3 6 7\n");
  EXPECT_EQ(text(cells(request, job({"n0", "n1", "n2", "n3"}, "aabb"))),
            "topology 4: 0 1 2 3 4 5 6 7\n"
            "worst 4: 0 1 4 5 2 3 6 7\n");
}

TEST(Cells, EachBackendHasAllOrders) {
  Request request;
  request.backends = {"tcp", "gloo"};
  request.orders = {"topology", "worst"};
  const auto found = cells(request, job({"n0", "n1", "n2", "n3"}, "aabb"));
  std::string out;
  for (const Cell& cell : found.value()) out += cell.backend + " " + cell.order + ", ";
  EXPECT_EQ(out, "tcp topology, gloo topology, tcp worst, gloo worst, ");
}

// Within one node the network does not matter.
TEST(Cells, FabricsOfSeveralNodes) {
  Request request;
  request.fabrics = {"rdma", "tcp"};
  request.nodes = {1, 2};
  const auto found = cells(request, job({"a", "b", "c"}, "xxx"));
  std::string out;
  for (const Cell& cell : found.value()) out += fmt::format("{} {}, ", cell.fabric, cell.nodes);
  EXPECT_EQ(out, "rdma 1, rdma 2, tcp 2, ");
}

TEST(Cells, TheFirstNodesOrRanks) {
  Request request;
  request.nodes = {1, 3};
  request.ranks = {3};
  EXPECT_EQ(text(cells(request, job({"a", "b", "c"}, "xxx"))),
            "topology 1: 0 1\ntopology 3: 0 1 2 3 4 5\ntopology 2: 0 1 2\n");
  request.nodes = {4};
  EXPECT_EQ(text(cells(request, job({"a", "b", "c"}, "xxx"))), "--nodes 4: the job has 3");
}

}  // namespace
}  // namespace toprun::measure
