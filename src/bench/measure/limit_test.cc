#include <gtest/gtest.h>

#include <numeric>

#include "bench/measure/cells.h"

namespace toprun::measure {
namespace {

using bench::Collective;

// One rank on each of the hosts h0, h1 …, in racks as given.
std::vector<Peer> job(std::string_view racks) {
  std::vector<Peer> peers;
  for (const char rack : racks) {
    Peer peer;
    peer.rank = peer.node = peers.size();
    peer.host = fmt::format("h{}", peer.rank);
    peer.location = fmt::format("/core/{}/{}", rack, peer.host);
    peers.push_back(peer);
  }
  return peers;
}

std::string text(Collective collective, std::string_view racks, const Rates& rates,
                 std::string backend = "tcp") {
  const auto peers = job(racks);
  Cell cell{std::move(backend), "", "topology", peers.size(),
            std::vector<std::size_t>(peers.size())};
  std::iota(cell.ranks.begin(), cell.ranks.end(), std::size_t{0});
  const auto limit = limit_of(collective, cell, peers, 0, rates);
  return limit ? fmt::format("{:.4g}: {}", limit->busbw_gbps, limit->link) : "";
}

TEST(Limit, IsThatOfTheBusiestLink) {
  const struct {
    const char* about;
    Collective collective;
    std::string_view racks;
    Rates rates;
    std::string_view expected;
  } rows[] = {
      {"nothing is known", Collective::all_reduce, "aabb", {}, ""},
      {"one rank", Collective::all_reduce, "a", {100, 100}, ""},
      {"one rack: its uplink carries nothing", Collective::all_reduce, "aaaa", {{}, 100}, ""},
      {"a ring in order",
       Collective::all_reduce,
       "aabb",
       {{}, 100},
       "100: the uplink of /core/a sends 1 × busbw"},
      {"a ring to and fro",
       Collective::all_reduce,
       "abab",
       {{}, 100},
       "50: the uplink of /core/a sends 2 × busbw"},
      {"the nodes' own links",
       Collective::all_reduce,
       "aabb",
       {60, 100},
       "60: host h0 sends 1 × busbw"},
      {"a chain crosses an uplink once",
       Collective::broadcast,
       "abab",
       {{}, 100},
       "50: the uplink of /core/a sends 2 × busbw"},
      {"all to all: 2 · 2 of 3 flows each",
       Collective::alltoall,
       "aabb",
       {{}, 100},
       "75: the uplink of /core/a sends 1.33 × busbw"},
      {"into the root", Collective::gather, "aabb", {90, {}}, "90: host h0 receives 1 × busbw"},
      {"out of the root", Collective::scatter, "aabb", {90, {}}, "90: host h0 sends 1 × busbw"},
      {"a barrier has no bytes", Collective::barrier, "aabb", {90, 90}, ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(text(row.collective, row.racks, row.rates), row.expected) << row.about;
  }
}

TEST(TcpShare, IsWhatTheHeadersLeave) {
  EXPECT_DOUBLE_EQ(tcp_share(1500, false), 1448.0 / 1514);
  EXPECT_DOUBLE_EQ(tcp_share(1500, true), 1428.0 / 1514);
  EXPECT_DOUBLE_EQ(tcp_share(9000, false), 8948.0 / 9014);
  EXPECT_EQ(tcp_share(0, false), 1);
}

TEST(Limit, OfBackendsThatUseTcpIsWhatTcpCanCarry) {
  const Rates rates{100, 400, 0.95};
  for (const char* backend : {"tcp", "gloo"}) {
    EXPECT_EQ(text(Collective::all_reduce, "aabb", rates, backend), "95: host h0 sends 1 × busbw");
  }
  EXPECT_EQ(text(Collective::all_reduce, "aabb", rates, "nccl"), "100: host h0 sends 1 × busbw");
  const Cell cell{"gloo", "", "topology", 2, {0, 1}};
  EXPECT_EQ(limit_of(Collective::all_reduce, cell, job("ab"), 0, rates)->share, 0.95);
}

// A host whose place is unknown counts for its own link only.
TEST(Limit, AnUnknownPlaceHasNoUplink) {
  auto peers = job("ab");
  peers[1].location.clear();
  const Cell cell{"tcp", "", "topology", 2, {0, 1}};
  EXPECT_FALSE(limit_of(Collective::all_reduce, cell, peers, 0, {{}, 100}));
  EXPECT_TRUE(limit_of(Collective::all_reduce, cell, peers, 0, {100, 100}));
}

}  // namespace
}  // namespace toprun::measure
