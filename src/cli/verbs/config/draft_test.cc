#include "cli/verbs/config/draft.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/config/config_file.h"

namespace toprun::cli {
namespace {

engines::Partition partition(std::string name, bool is_default, std::int64_t limit_s) {
  engines::Partition made;
  made.name = std::move(name);
  made.is_default = is_default;
  made.state = "UP";
  if (limit_s > 0) made.limit = std::chrono::seconds(limit_s);
  return made;
}

void add_nodes(engines::Machines& machines, int count, const std::string& partition,
               std::int64_t gpus, std::string kind = {}) {
  for (int i = 0; i < count; ++i) {
    engines::ClusterNode node;
    node.name = fmt::format("{}{}", partition, i);
    node.partitions = {partition};
    node.cpus = 64;
    node.gpus = gpus;
    node.gpu_kind = kind;
    machines.nodes.push_back(std::move(node));
  }
}

// The settings among all that is said: its lines without comments and empty ones.
std::vector<std::string> settings(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view setting = trim(line.substr(0, line.find('#')));
    if (!setting.empty()) lines.emplace_back(setting);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ConfigDraft, WithoutAnEngineNothingIsSet) {
  const std::string text = config_draft({});
  EXPECT_EQ(settings(text), (Lines{"[profile.debug]", "nodes = 1"}));
  EXPECT_NE(text.find("no engine answered"), text.npos);
}

TEST(ConfigDraft, TheDefaultPartitionAndAProfileForTests) {
  ClusterPicture cluster;
  cluster.engine = engines::QueueKind::slurm;
  cluster.machines.partitions = {partition("gpu", true, 172'800), partition("debug", false, 1'800)};
  add_nodes(cluster.machines, 3, "gpu", 8, "h100");
  add_nodes(cluster.machines, 1, "debug", 4);
  cluster.choices = {{"physics", "astro"}, {"normal"}};
  cluster.facts.leaf_nodes = {2, 1};
  const std::string text = config_draft(cluster);
  EXPECT_EQ(settings(text), (Lines{"gpus-per-node = 8", "[profile.debug]", "partition = \"debug\"",
                                   "nodes = 1", "gpus-per-node = 4"}));
  for (const char* said :
       {"#   gpu (default): 3 nodes with 8 GPUs (h100) and 64 CPUs, at most 2-00:00:00\n",
        "#   debug: 1 node with 4 GPUs and 64 CPUs, at most 30:00\n", "# partition = \"gpu\"\n",
        "# time = \"2-00:00:00\"  # the partition's limit\n",
        "# account = \"physics\"  # yours: physics, astro\n",
        "1 to 2 nodes below each leaf switch"}) {
    EXPECT_NE(text.find(said), text.npos) << said << '\n' << text;
  }
}

TEST(ConfigDraft, OnlyAnotherThanTheDefaultPartitionHasGpus) {
  ClusterPicture cluster;
  cluster.machines.partitions = {partition("cpu", true, 0), partition("gpu", false, 0),
                                 partition("short", false, 3'600)};
  add_nodes(cluster.machines, 2, "cpu", 0);
  add_nodes(cluster.machines, 2, "gpu", 4);
  add_nodes(cluster.machines, 2, "short", 0);
  EXPECT_EQ(settings(config_draft(cluster)),
            (Lines{"partition = \"gpu\"", "gpus-per-node = 4", "[profile.debug]",
                   "partition = \"short\"", "nodes = 1", "gpus-per-node = false"}));
}

TEST(ConfigDraft, NodesThatDifferAreLeftToTheUser) {
  ClusterPicture cluster;
  cluster.machines.partitions = {partition("all", true, 0)};
  add_nodes(cluster.machines, 1, "all", 4);
  add_nodes(cluster.machines, 1, "all", 8);
  EXPECT_EQ(settings(config_draft(cluster)), (Lines{"[profile.debug]", "nodes = 1"}));
  EXPECT_NE(config_draft(cluster).find("4 to 8 GPUs"), std::string::npos);
}

ClusterPicture pods() {
  ClusterPicture cluster;
  cluster.engine = engines::QueueKind::kubernetes;
  cluster.machines.partitions = {partition("", false, 0), partition("a3", false, 0)};
  add_nodes(cluster.machines, 1, "", 0);
  add_nodes(cluster.machines, 2, "a3", 8, "H100");
  for (auto& node : cluster.machines.nodes)
    node.gpu_resource = node.gpus > 0 ? "nvidia.com/gpu" : "";
  cluster.machines.partitions[1].notes = "1 node cordoned";
  cluster.machines.queues = {{"ml-queue", "gpus", 0, 0}};
  cluster.pods.space = "ml";
  cluster.pods.operators = {"trainjob"};
  cluster.pods.claims = {{"scratch", "1Ti", true}, {"home", "10Gi", false}};
  return cluster;
}

TEST(ConfigDraft, PodsHaveAnOperatorAndClaims) {
  const std::string text = config_draft(pods());
  EXPECT_EQ(settings(text), (Lines{"on = \"kubernetes\"", "operator = \"trainjob\"",
                                   "gpus-per-node = 8", "[profile.debug]", "nodes = 1"}));
  for (const char* said :
       {"#   in no pool: 1 node with 64 CPUs\n",
        "#   a3: 2 nodes with 8 nvidia.com/gpu (H100) and 64 CPUs; 1 node cordoned\n",
        "# namespace = \"ml\"\n", "# queue = \"ml-queue\"  # Kueue's here: ml-queue\n",
        "operator = \"trainjob\"  # installed: trainjob\n",
        "# pvc = [\"scratch:/scratch\"]  # claims here: scratch of 1Ti, home of 10Gi (pods of one "
        "node)\n"}) {
    EXPECT_NE(text.find(said), text.npos) << said << '\n' << text;
  }
  ClusterPicture refused;
  refused.engine = engines::QueueKind::kubernetes;
  EXPECT_EQ(settings(config_draft(refused)),
            (Lines{"on = \"kubernetes\"", "[profile.debug]", "nodes = 1"}));
}

ClusterPicture runai() {
  ClusterPicture cluster;
  cluster.engine = engines::QueueKind::runai;
  return cluster;
}

TEST(ConfigDraft, OfRunaiAFormToFillIn) {
  const std::string text = config_draft(runai());
  EXPECT_EQ(settings(text), (Lines{"on = \"runai\"", "[profile.debug]", "nodes = 1"}));
  EXPECT_NE(text.find("# project = \"NAME\"\n"), text.npos) << text;
  EXPECT_EQ(text.find("namespace"), text.npos) << text;
}

// Also what stands in comments is right once it is taken out of them.
TEST(ConfigDraft, EveryLineIsAccepted) {
  ClusterPicture cluster;
  cluster.machines.partitions = {partition("a \"b\"\n\\", false, 60),
                                 partition("gpu", true, 7'200)};
  add_nodes(cluster.machines, 2, "gpu", 2);
  cluster.facts.block_nodes = 18;
  for (const ClusterPicture& picture : {ClusterPicture(), cluster, pods(), runai()}) {
    const std::string text = config_draft(picture);
    std::string opened;
    for (const std::string_view line : split(text, '\n')) {
      const bool is_setting = line.starts_with("# ") && !line.starts_with("#  ") &&
                              (line.contains(" = ") || line.contains("[profile"));
      opened += fmt::format("{}\n", is_setting && !line.contains("`") ? line.substr(2) : line);
    }
    for (const std::string& form : {text, opened}) {
      const auto parsed = config::parse_config(form, {"t", "/f", "/h"});
      EXPECT_TRUE(parsed) << parsed.error().line() << '\n' << form;
    }
  }
}

}  // namespace
}  // namespace toprun::cli
