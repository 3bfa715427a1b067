#include "node/plan/root_place.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::plan {
namespace {

using engines::Allocation;

// A node of a launch on n0, n1 … that an engine lists.
Allocation listed_by_engine(int nodes, int own) {
  Allocation place;
  place.engine = engines::EngineKind::slurm;
  place.node_count = nodes;
  for (int i = 0; i < nodes; ++i) place.nodes.push_back({fmt::format("n{}", i), std::nullopt});
  place.my_node = own;
  place.node_name = fmt::format("n{}", own);
  return place;
}

// A process of an mpirun, which tells only where rank 0 may be.
Allocation of_mpirun(int task, int tasks, int here) {
  Allocation place;
  place.engine = engines::EngineKind::mpi;
  place.node_count = (tasks + here - 1) / here;
  place.task = task;
  place.tasks = tasks;
  place.tasks_on_my_node = here;
  place.local_rank = task % here;
  place.root_candidates = {"a", "b"};
  return place;
}

// A task of a Slurm step, of which each counts as a node.
Allocation task_as_node(int own, std::vector<std::string> hosts) {
  Allocation place;
  place.engine = engines::EngineKind::manual;
  place.node_count = 4;
  place.my_node = own;
  place.root_candidates = std::move(hosts);
  return place;
}

Options at(std::string host, std::string backend = "c10d", std::optional<int> node_rank = {}) {
  Options options;
  if (!host.empty()) options.rdzv_endpoint = {Endpoint{std::move(host), 29500}, "--rdzv-endpoint"};
  options.rdzv_backend = {std::move(backend), "--rdzv-backend"};
  options.node_rank = {node_rank, "--node-rank"};
  return options;
}

std::string text_of(const RootPlace& root) {
  const std::string role = !root.is_root ? "undecided" : *root.is_root ? "root" : "member";
  std::string text = role + " at " + root.host;
  if (!root.others.empty()) text += " or " + join(root.others, ",");
  if (!root.beside_endpoint.empty()) text += " beside the endpoint";
  if (root.if_no_other) text += ", root if no other is";
  if (!root.endpoint_is_meant) text += " not the endpoint";
  if (!root.note.empty()) text += ", said";
  return text;
}

TEST(RootPlace, WhereTheRootIs) {
  const Allocation by_hand;
  const struct {
    const char* what;
    Allocation place;
    Options options;
    const char* expected;
  } rows[] = {
      {"no endpoint", listed_by_engine(2, 0), at(""), "root at n0"},
      {"no endpoint", listed_by_engine(2, 1), at(""), "member at n0"},
      {"a node's name", listed_by_engine(3, 2), at("n2"), "root at n2"},
      {"a node's name", listed_by_engine(3, 0), at("n2.site"), "member at n2.site"},
      {"Debian's own address", listed_by_engine(2, 0), at("127.0.1.1"),
       "root at n0 not the endpoint, said"},
      {"Debian's own address", listed_by_engine(2, 1), at("127.0.1.1"),
       "member at n0 not the endpoint"},
      {"localhost", listed_by_engine(2, 1), at("localhost"), "member at n0 not the endpoint"},
      {"every address", listed_by_engine(2, 1), at("0.0.0.0"), "member at n0 not the endpoint"},
      {"one node", listed_by_engine(1, 0), at("localhost"), "root at localhost"},
      {"an address", listed_by_engine(2, 0), at("10.0.0.9"),
       "root at 10.0.0.9 or n0 beside the endpoint"},
      {"an address", listed_by_engine(2, 1), at("10.0.0.9"),
       "member at 10.0.0.9 or n0 beside the endpoint"},
      {"own numbers as the engine's", listed_by_engine(3, 1), at("localhost", "static", 1),
       "member at n0 not the endpoint"},
      {"own numbers in another order", listed_by_engine(3, 2), at("localhost", "static", 0),
       "root at n0 or n1,n2 not the endpoint, said"},
      {"own numbers without an order of the engine's", by_hand, at("localhost", "static", 1),
       "member at localhost"},
      {"by hand, two on one host", by_hand, at("localhost"), "undecided at localhost"},
      {"tasks on two hosts", task_as_node(3, {"n0", "n1"}), at("localhost"),
       "member at n0 or n1 not the endpoint"},
      {"tasks on one host", task_as_node(3, {"n0"}), at("localhost"), "member at localhost"},
      {"mpirun", of_mpirun(0, 4, 2), at("localhost"), "root at a or b not the endpoint, said"},
      {"mpirun", of_mpirun(2, 4, 2), at("127.0.1.1"), "member at a or b not the endpoint"},
      {"mpirun on one host", of_mpirun(0, 2, 2), at("localhost"), "undecided at localhost"},
      {"mpirun, an address", of_mpirun(0, 4, 2), at("10.0.0.9"),
       "undecided at 10.0.0.9 or a,b beside the endpoint, root if no other is"},
      {"mpirun, an address", of_mpirun(1, 4, 2), at("10.0.0.9"),
       "member at 10.0.0.9 or a,b beside the endpoint"},
      {"mpirun, an address", of_mpirun(2, 4, 2), at("10.0.0.9"),
       "undecided at 10.0.0.9 or a,b beside the endpoint"},
      {"mpirun on one host, an address", of_mpirun(0, 2, 2), at("10.0.0.9"),
       "undecided at 10.0.0.9"},
      {"mpirun, no endpoint", of_mpirun(1, 4, 2), at(""), "member at a or b"},
  };
  for (const auto& row : rows) {
    const auto root = place_root(row.options, row.place, hosts::Reach::everybody);
    EXPECT_EQ(text_of(root), row.expected) << row.what;
  }
}

// RANK and WORLD_SIZE do not tell on how many hosts the ranks are.
TEST(RootPlace, RanksByVariablesMayAllBeOnOneHost) {
  Allocation place = of_mpirun(1, 4, 2);
  place.engine = engines::EngineKind::manual;
  place.tasks_on_my_node.reset();
  place.root_candidates = {"localhost"};
  EXPECT_EQ(text_of(place_root(at("localhost"), place, hosts::Reach::everybody)),
            "member at localhost");
}

TEST(RootPlace, TheUserMaySayWhoIsTheRoot) {
  for (const auto& [reported, expected] : {std::pair("1", "root at localhost"),
                                           {"True", "root at localhost"},
                                           {"0", "member at localhost"}}) {
    Options options = at("localhost");
    options.rdzv_conf["is_host"] = reported;
    const auto root = place_root(options, listed_by_engine(2, 1), hosts::Reach::everybody);
    EXPECT_EQ(text_of(root), expected) << reported;
  }
}

TEST(RootPlace, WhereTheLauncherHasSaidTheRootIs) {
  Allocation place = listed_by_engine(2, 1);
  place.root_node = 0;
  place.root_address = "10.0.0.1";
  EXPECT_EQ(text_of(place_root(at("localhost"), place, hosts::Reach::everybody)),
            "member at 10.0.0.1 not the endpoint");
}

}  // namespace
}  // namespace toprun::plan
