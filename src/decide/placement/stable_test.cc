#include <gtest/gtest.h>

#include "base/text/text.h"
#include "decide/placement/order.h"
#include "decide/placement/segments.h"

namespace toprun::placement {
namespace {

// Hosts a0, a1 … are in rack a, b0 … in rack b.
std::string order_after(const std::vector<std::string>& hosts,
                        const std::vector<std::string>& before) {
  topology::Map map;
  map.source = "test";
  map.levels = {"rack"};
  std::vector<Host> job;
  for (const std::string& host : hosts) {
    job.push_back({host, 1});
    if (host[0] != 'x') map.hosts.push_back({host, {{host.substr(0, 1)}, "here", {}}});
  }
  const auto placed = place(job, map, {.before = before});
  std::vector<std::string> names;
  for (const Node& node : placed->nodes) names.push_back(node.name);
  return join(names, " ");
}

TEST(Stable, Table) {
  using Names = std::vector<std::string>;
  const Names before = {"a0", "a1", "a2", "b0", "b1", "b2"};
  struct Case {
    const char* what;
    Names hosts;
    Names before;
    std::string order;
  };
  for (const auto& [what, hosts, earlier, order] : std::vector<Case>{
           {"nobody is lost", {"b2", "b1", "b0", "a2", "a1", "a0"}, before, "a0 a1 a2 b0 b1 b2"},
           {"one is lost: the last takes its seat",
            {"a0", "a2", "b0", "b1", "b2"},
            before,
            "a0 b2 a2 b0 b1"},
           {"the last is lost: nobody moves",
            {"a0", "a1", "a2", "b0", "b1"},
            before,
            "a0 a1 a2 b0 b1"},
           {"a new one takes the seat of one that is lost",
            {"a0", "a3", "a2", "b0", "b1", "b2"},
            before,
            "a0 a3 a2 b0 b1 b2"},
           {"two new ones: each where its neighbours are",
            {"b9", "a9", "a0", "a2", "b0", "b2"},
            before,
            "a0 a9 a2 b0 b9 b2"},
           {"more than before: they come behind",
            {"a0", "a1", "a2", "b0", "b1", "b2", "b3"},
            before,
            "a0 a1 a2 b0 b1 b2 b3"},
           {"nobody stayed: as by topology", {"b1", "a1", "b0"}, {"x1", "x2"}, "a1 b0 b1"},
           {"two agents on one host", {"a0", "a0", "b0"}, {"b0", "a0", "a0"}, "b0 a0 a0"},
           {"an unknown place", {"a0", "x0", "b0"}, {"x0", "b0", "a0"}, "x0 b0 a0"},
       }) {
    EXPECT_EQ(order_after(hosts, earlier), order) << what;
  }
}

}  // namespace
}  // namespace toprun::placement
