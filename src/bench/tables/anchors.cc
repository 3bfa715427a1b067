#include "bench/tables/anchors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::bench {
namespace {

constexpr std::array anchors = {
    Anchor{"H100", 8, 1, 1, 366, 482, "NVLink, the upper end with NVLS",
           "nccl-tests#212, ml-engineering"},
    Anchor{"H200", 8, 1, 1, 366, 482, "NVLink, the upper end with NVLS",
           "nccl-tests#212, ml-engineering"},
    Anchor{"B200", 8, 1, 1, 682, 846, "NVLink, the upper end with NVLS", "ml-engineering"},
    Anchor{"H100", 8, 2, 16, 373, 386, "8 NDR adapters of 400 Gbps per node",
           "coreweave/nccl-tests"},
    Anchor{"H100", 4, 4, 128, 79, 83, "800 Gbps per node", "MN5-Distributed-PyTorch"},
    Anchor{"A100", 8, 2, 16, 192, 192, "8 HDR adapters of 200 Gbps per node", "nccl#1576"},
    Anchor{"B200", 8, 2, 4, 382, 382, "8 EFA adapters of 400 Gbps per node", "ml-engineering"},
    Anchor{"GB200", 4, 2, 2, 811, 811, "NVLink between the nodes; 85 over InfiniBand",
           "lixueduan.com"},
    Anchor{"GB200", 4, 18, 18, 847, 847, "one NVLink domain", "coreweave/nccl-tests"},
    Anchor{"GB200", 4, 36, 36, 820, 820, "two NVLink domains", "coreweave/nccl-tests"},
    Anchor{"GB200", 4, 360, 360, 405, 405, "20 NVLink domains", "coreweave/nccl-tests"},
    Anchor{"GH200", 4, 2, 2, 123, 123, "Slingshot-11; 5 without its plugin",
           "cscs-docs, communication/nccl"},
};

// The same chip on a PCIe card, or with bridges between pairs, has another bus.
constexpr std::array other_buses = {std::string_view("PCIe"), std::string_view("NVL")};

// The words of a driver's name, such as "NVIDIA A100-SXM4-80GB".
std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> found;
  for (const std::string_view part : words(name)) {
    for (const std::string_view word : split(part, '-')) found.push_back(word);
  }
  return found;
}

bool is_gpu(const Anchor& anchor, std::string_view name) {
  const auto found = words_of(name);
  const auto has = [&](std::string_view word) {
    return std::ranges::find(found, word) != found.end();
  };
  return has(anchor.gpu) && std::ranges::none_of(other_buses, has);
}

bool fits(const Anchor& anchor, std::string_view gpu, const Series& series) {
  return series.nodes >= anchor.fewest_nodes && series.nodes <= anchor.most_nodes &&
         series.ranks == series.nodes * anchor.gpus_per_node && is_gpu(anchor, gpu);
}

}  // namespace

const Anchor* anchor_of(const Report& report, const Series& series) {
  if (series.collective != Collective::all_reduce || report.devices.empty()) return nullptr;
  const std::string& gpu = report.devices.front().name;
  const bool alike =
      std::ranges::all_of(report.devices, [&](const Device& device) { return device.name == gpu; });
  if (!alike) return nullptr;
  const auto found =
      std::ranges::find_if(anchors, [&](const Anchor& one) { return fits(one, gpu, series); });
  return found == anchors.end() ? nullptr : &*found;
}

std::string anchor_sentence(const Anchor& anchor, const Series& series) {
  const std::string range = anchor.low == anchor.high
                                ? fmt::format("{:.0f}", anchor.low)
                                : fmt::format("{:.0f} to {:.0f}", anchor.low, anchor.high);
  return fmt::format("{} GB/s is usual for {} × {} on {} ({}; {})", range, series.ranks, anchor.gpu,
                     counted(series.nodes, "node"), anchor.with, anchor.source);
}

}  // namespace toprun::bench
