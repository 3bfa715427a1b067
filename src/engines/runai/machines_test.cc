#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/runai/runai_jobs.h"

namespace toprun::engines::runai {
namespace {

std::string text_of(const Result<std::vector<ClusterNode>>& nodes) {
  if (!nodes) return nodes.error()->why;
  std::vector<std::string> texts;
  for (const ClusterNode& node : *nodes) {
    texts.push_back(fmt::format("{} {} in {}: {}-{} {}{}", node.name, node.state,
                                node.partitions.front(), node.gpus, node.used_gpus, node.gpu_kind,
                                node.idle ? " idle" : ""));
  }
  return join(texts, "; ");
}

std::string text_of(const Result<std::vector<AdmissionQueue>>& projects) {
  if (!projects) return projects.error()->why;
  std::vector<std::string> texts;
  for (const AdmissionQueue& project : *projects) {
    texts.push_back(fmt::format("{} of {}: {}", project.name, project.serves,
                                project.gpus ? fmt::to_string(*project.gpus) : "?"));
  }
  return join(texts, "; ");
}

TEST(RunaiMachines, Nodes) {
  constexpr std::string_view table =
      "                                 │ CPU                     │ MEMORY     │ GPU\n"
      "NAME  STATUS    IP Address  ROLE  │ ALLOCATABLE  ALLOCATED  │ ALLOCATED  │ ALLOCATABLE  "
      "FREE\n"
      "────  ──────    ──────────  ────  │ ───────────  ─────────  │ ─────────  │ ───────────  "
      "────\n"
      "g0    ready     10.0.0.1    node  │ 64           3.5        │ 12 GiB     │ 8            3\n"
      "g1    ready     10.0.0.2    node  │ 64           0          │ 0 B        │ 8            8\n"
      "g2    notReady  10.0.0.3    node  │ 64           0          │ 0 B        │ 8            8\n"
      "c0    ready     10.0.0.4    <none>  │ 64           0          │ 0 B        │ <none>       "
      "<none>\n";
  EXPECT_EQ(
      text_of(parse_nodes(table, Cli::v1)),
      "g0 ready in : 8-5 ; g1 ready in : 8-0  idle; g2 notready in : 8-0 ; c0 ready in : 0-0 ");
  EXPECT_EQ(text_of(parse_nodes(R"({"nodes": [{"name": "g0", "nodePool": "h100", "status": "Ready",
      "gpuInfo": {"gpuType": "NVIDIA-H100", "gpuCount": 8}}, {"name": 7, "gpuInfo": []}]})",
                                Cli::v2)),
            "g0 ready in h100: 8-0 NVIDIA-H100;  not ready in : 0-0 ");
  EXPECT_EQ(text_of(parse_nodes("[]", Cli::v2)), "");
  for (const Cli cli : {Cli::v1, Cli::v2}) {
    EXPECT_NE(text_of(parse_nodes("<html>", cli)).find("<html>"), std::string::npos);
    EXPECT_NE(text_of(parse_nodes("", cli)).find("runai did not print"), std::string::npos);
  }
  EXPECT_NE(text_of(parse_nodes("{}", Cli::v2)).find("did not print a list"), std::string::npos);
}

TEST(RunaiMachines, Projects) {
  EXPECT_EQ(
      text_of(parse_projects(
          "PROJECT        DEPARTMENT  DESERVED GPUs  INT LIMIT  INT AFFINITY  TRAIN AFFINITY\n"
          "mlo (default)  ic          4.5            -          \n"
          "vision         -           -              -          \n\n"
          "Additionally, there is 1 deleted project.\n",
          Cli::v1)),
      "mlo of ic: 4.5; vision of -: ?");
  EXPECT_EQ(text_of(parse_projects(R"({"projects": [{"name": "mlo", "resources": [
      {"gpu": {"deserved": 4}}, {"gpu": {"deserved": 2}}]}, {"name": "b", "resources": 1}]})",
                                   Cli::v2)),
            "mlo of : 6; b of : ?");
  for (const Cli cli : {Cli::v1, Cli::v2}) {
    EXPECT_NE(text_of(parse_projects("<html>", cli)).find("<html>"), std::string::npos);
  }
}

}  // namespace
}  // namespace toprun::engines::runai
