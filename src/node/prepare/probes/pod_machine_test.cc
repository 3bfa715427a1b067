#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "node/prepare/probes/preflight.h"

namespace toprun::probes {
namespace {

namespace fs = std::filesystem;
using model::Join;
using model::PodMachine;

// Agents on p0, p1 …; nothing: not in a pod.
std::vector<Join> members(const std::vector<std::optional<PodMachine>>& machines) {
  std::vector<Join> joins;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    Join join;
    join.host = fmt::format("p{}", i);
    model::Evidence evidence;
    evidence.machine = machines[i];
    join.evidence = std::move(evidence);
    joins.push_back(join);
  }
  return joins;
}

TEST(PodWarnings, OnlyWherePodsWithGpusShareAMachine) {
  const std::string shared =
      "NCCL treats them as 2 hosts and sends their traffic over the network, although they share "
      "the "
      "network adapters; give each pod a whole machine: ";
  const std::string whole = "--gpus-per-node 8 (nvidia.com/gpu: 8 in a manifest)";
  const std::string unknown = "--gpus-per-node N with the number of a machine's GPUs";
  const std::string rest =
      "; other jobs can use the other GPUs and the network adapters, so request whole machines: " +
      whole;
  struct Case {
    std::string what;
    std::vector<std::optional<PodMachine>> machines;
    std::string expected;
  };
  for (const Case& one : std::vector<Case>{
           {"whole machines", {{{"a", 8, 8}}, {{"b", 8, 8}}}, ""},
           {"two on one",
            {{{"a", 4, 8}}, {{"a", 4, 8}}},
            "pods p0 and p1 are on one machine: " + shared + whole},
           {"… whose GPUs cannot be counted",
            {{{"a", 4, 0}}, {{"a", 4, 0}}},
            "pods p0 and p1 are on one machine: " + shared + unknown},
           {"two on each of two",
            {{{"b", 4, 8}}, {{"a", 4, 8}}, {{"b", 4, 8}}, {{"a", 4, 8}}},
            "pods p0 and p2 are on one machine (2 machines have several): " + shared + whole},
           {"half a machine each",
            {{{"a", 4, 8}}, {{"b", 4, 8}}},
            "pods have 4 of their machine's 8 GPUs: p[0-1]" + rest},
           {"two on one, half of another",
            {{{"a", 4, 8}}, {{"a", 4, 8}}, {{"b", 4, 8}}},
            "pods p0 and p1 are on one machine: " + shared + whole +
                "\npods have 4 of their machine's 8 GPUs: p2" + rest},
           {"a job of one pod", {{{"a", 1, 8}}}, ""},
           {"no GPUs: a test cluster on one machine", {{{"a", 0, 8}}, {{"a", 0, 8}}}, ""},
           {"boot ids that cannot be read", {{{"", 8, 0}}, {{"", 8, 0}}}, ""},
           {"not in pods", {std::nullopt, std::nullopt}, ""},
       }) {
    EXPECT_EQ(join(pod_warnings(members(one.machines)), "\n"), one.expected) << one.what;
  }
}

TEST(LookAtMachine, ReadsThePodsFiles) {
  const TemporaryFolder folder;
  const auto put = [&](const fs::path& name, std::string_view text) {
    fs::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << text;
  };
  const auto seen = [&](const Environment& environment = {}) {
    const PodMachine machine = look_at_machine(environment, folder.path());
    return fmt::format("{} {} {}", machine.boot_id, machine.gpus, machine.machine_gpus);
  };
  EXPECT_EQ(seen(), " 0 0");
  put("proc/sys/kernel/random/boot_id", "8c2f\n");
  EXPECT_EQ(seen(), "8c2f 0 0");
  for (const char* device : {"nvidia3", "nvidia5", "nvidiactl"}) put(fs::path("dev") / device, "");
  EXPECT_EQ(seen(), "8c2f 2 0");
  for (int i = 0; i < 8; ++i) put(fmt::format("sys/bus/pci/drivers/nvidia/0000:{}0:00.0", i), "");
  for (const char* other : {"bind", "new_id"})
    put(fs::path("sys/bus/pci/drivers/nvidia") / other, "");
  EXPECT_EQ(seen(), "8c2f 2 8");
  EXPECT_EQ(seen({{"CUDA_VISIBLE_DEVICES", "0"}}), "8c2f 2 8") << "chosen by the user";
  EXPECT_EQ(seen({{"NVIDIA_VISIBLE_DEVICES", "GPU-a"}}), "8c2f 1 8");
}

TEST(PodMachine, Travels) {
  model::Evidence evidence;
  evidence.machine = PodMachine{"8c2f", 4, 8};
  const auto back = nlohmann::json(evidence).get<model::Evidence>();
  ASSERT_TRUE(back.machine);
  EXPECT_EQ(back.machine->boot_id, "8c2f");
  EXPECT_EQ(back.machine->gpus, 4);
  EXPECT_EQ(back.machine->machine_gpus, 8);
  nlohmann::json wrong = evidence;
  wrong["machine"]["gpus"] = -1;
  EXPECT_THROW(wrong.get<model::Evidence>(), model::OutOfRange);
}

}  // namespace
}  // namespace toprun::probes
