#include "bench/measure/cells.h"

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

std::string text(const Result<Compared>& found) {
  if (!found) return found.error().line();
  std::string out;
  for (const Cell& cell : found->cells) {
    out += fmt::format("{} {}: {}\n", cell.order, cell.nodes, fmt::join(cell.ranks, " "));
  }
  for (const std::string& line : found->dropped) out += line + "\n";
  return out;
}

TEST(Cells, AllRanksInTheirOrderUnlessMoreIsAsked) {
  EXPECT_EQ(text(compared({}, job({"n2", "n10"}, "aa"), "topology")), "topology 2: 0 1 2 3\n");
}

// An order that is the same as an earlier one is left out, and named.
TEST(Cells, OrdersOfTheSameRanks) {
  Request request;
  request.orders = {"topology", "hostname", "worst"};
  EXPECT_EQ(text(compared(request, job({"n0", "n10", "n9", "n11"}, "aabb"), "topology")),
            "topology 4: 0 1 2 3 4 5 6 7\n"
            "hostname 4: 0 1 4 5 2 3 6 7\n"
            "order worst is left out: it is the same as order hostname\n");
  EXPECT_EQ(text(compared(request, job({"n0", "n1", "n2", "n3"}, "aabb"), "topology")),
            "topology 4: 0 1 2 3 4 5 6 7\n"
            "worst 4: 0 1 4 5 2 3 6 7\n"
            "order hostname is left out: it is the same as order topology\n");
}

// "topology" names toprun's own order, and the launch says which one it is.
TEST(Cells, TheOrderOfTheLaunch) {
  const auto peers = job({"n0", "n1", "n2"}, "aba");
  EXPECT_EQ(text(compared({}, peers, "scheduler")), "scheduler 3: 0 1 2 3 4 5\n");
  EXPECT_EQ(text(compared({}, peers, "")), " 3: 0 1 2 3 4 5\n");
  EXPECT_EQ(text(compared({}, job({"n0"}, "a"), "given")), " 1: 0 1\n");
  Request request;
  request.orders = {"topology", "hostname"};
  EXPECT_EQ(text(compared(request, peers, "name")),
            "name 3: 0 1 2 3 4 5\n"
            "--orders topology: the job was started in another order (toprun -v says why), so "
            "toprun measures the order of the host names instead\n"
            "order hostname is left out: it is the same as order name\n");
  EXPECT_TRUE(text(compared(request, peers, "file"))
                  .contains("(toprun -v says why), so toprun measures the job's order instead\n"));
  std::vector<Peer> nowhere = peers;
  for (Peer& peer : nowhere) peer.location.clear();
  for (const auto& [order, words] :
       {std::pair{"scheduler", "the scheduler's order"},
        std::pair{"given", "the order in which the hosts were given"}}) {
    EXPECT_TRUE(text(compared(request, nowhere, order))
                    .contains(fmt::format("--orders topology: no topology is known (--topology "
                                          "FILE gives one), so toprun measures {} instead\n",
                                          words)));
  }
  EXPECT_EQ(text(compared(request, job({"n0"}, "a"), "given")),
            " 1: 0 1\n--orders has no effect: all ranks are on one node\n");
}

TEST(Cells, RanksThatAreNamedTwice) {
  Request request;
  request.nodes = {1, 2};
  request.ranks = {4};
  EXPECT_EQ(text(compared(request, job({"n0", "n1"}, "aa"), "topology")),
            "topology 1: 0 1\n"
            "topology 2: 0 1 2 3\n"
            "order topology of 4 ranks on 2 nodes is given twice, but measured only once\n");
}

TEST(Cells, EachBackendHasAllOrders) {
  Request request;
  request.backends = {"tcp", "gloo"};
  request.orders = {"topology", "worst"};
  const auto found = compared(request, job({"n0", "n1", "n2", "n3"}, "aabb"), "topology");
  std::string out;
  for (const Cell& cell : found.value().cells) out += cell.backend + " " + cell.order + ", ";
  EXPECT_EQ(out, "tcp topology, gloo topology, tcp worst, gloo worst, ");
}

// Within one node the network does not matter.
TEST(Cells, FabricsOfSeveralNodes) {
  Request request;
  request.fabrics = {"rdma", "tcp"};
  request.nodes = {1, 2};
  const auto found = compared(request, job({"a", "b", "c"}, "xxx"), "topology");
  std::string out;
  for (const Cell& cell : found.value().cells)
    out += fmt::format("{} {}, ", cell.fabric, cell.nodes);
  EXPECT_EQ(out, "rdma 1, rdma 2, tcp 2, ");
}

TEST(Cells, TheFirstNodesOrRanks) {
  Request request;
  request.nodes = {1, 3};
  request.ranks = {3};
  EXPECT_EQ(text(compared(request, job({"a", "b", "c"}, "xxx"), "topology")),
            "topology 1: 0 1\ntopology 3: 0 1 2 3 4 5\ntopology 2: 0 1 2\n");
  request.nodes = {4};
  EXPECT_EQ(text(compared(request, job({"a", "b", "c"}, "xxx"), "topology")),
            "--nodes 4: the job has 3 nodes");
}

}  // namespace
}  // namespace toprun::measure
