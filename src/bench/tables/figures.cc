#include "bench/tables/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/text.h"
#include "bench/tables/live_table.h"

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

// Bytes that cross a node's network in one direction per byte of S.
double wire_factor(Collective collective, double nodes, double ranks) {
  const double elsewhere = (nodes - 1) / nodes;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * elsewhere;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::gather:
    case Collective::scatter:
      return elsewhere;
    case Collective::alltoall:  // S is what each rank sends
      return elsewhere * ranks / nodes;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv:  // the ring enters and leaves each node once
      return 1;
    case Collective::barrier:
      return 0;
  }
  return 0;
}

// In the unit of the tables.
std::string rate_of(double gbps) {
  return rate_text(gbps / 8) + " GB/s";
}

// As its maker and as the tables write it.
std::string line_of(double gbps) {
  return fmt::format("{} ({:.4g} Gbps)", rate_of(gbps), gbps);
}

// busbw is held against the line rate only where a ring would make it the wire's.
std::optional<std::string> wire_remark(const Series& series, const Side& side) {
  if (series.nodes < 2 || !series.line_gbps) return std::nullopt;
  const double line = *series.line_gbps;
  const double busbw = gbps_of(side.busbw);
  const double floor =
      gbps_of(wire_floor(series.collective, side.algbw, series.nodes, series.ranks));
  if (floor > line) {
    return fmt::format(
        "each node's network would have to carry {}, more than its {}: the line rate or the number "
        "of nodes is wrong, or the network itself computes the reduction (SHARP)",
        rate_of(floor), line_of(line));
  }
  if (series.collective != Collective::all_reduce || busbw <= line) return std::nullopt;
  if (series.nodes == 2) {
    return fmt::format(
        "busbw {} is above the line rate, {}: between two nodes a tree sends each byte once, so "
        "compare algbw with the line rate: {}, {:.0f} %",
        rate_of(busbw), line_of(line), rate_of(gbps_of(side.algbw)),
        100 * gbps_of(side.algbw) / line);
  }
  return fmt::format(
      "busbw {} is above the line rate, {}: busbw assumes one ring over all ranks, but the library "
      "used another algorithm; the network carried at least {}",
      rate_of(busbw), line_of(line), rate_of(floor));
}

std::optional<std::string> bus_remark(const Series& series, const Side& side) {
  if (series.nodes != 1 || !series.limit_gbps || gbps_of(side.busbw) <= *series.limit_gbps) {
    return std::nullopt;
  }
  return fmt::format(
      "busbw {} is above the node's bus, {}: the node's switches compute the reduction (NVLS), so "
      "fewer bytes move than busbw assumes",
      rate_of(gbps_of(side.busbw)), rate_of(*series.limit_gbps));
}

// Small messages are slow on any network.
std::optional<std::string> advice(const Series& series, const Row& row, double limit_gbps) {
  const double busbw = gbps_of(side_of(row)->busbw);
  if (series.nodes < 2 || busbw >= limit_gbps || row.bytes < smallest_advised) return std::nullopt;
  return fmt::format(
      "{} between nodes: a model that is sharded across nodes (FSDP, ZeRO-3) needs about {}; shard "
      "the model inside a node and replicate it across nodes (HYBRID_SHARD)",
      rate_of(busbw), fmt::format("{:.4g} GB/s", limit_gbps / 8));
}

bool is_level(double busbw, double reference) {
  return std::abs(busbw - reference) <= plateau_tolerance * reference;
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

void set_bandwidths(Side& side, Collective collective, std::uint64_t bytes, std::size_t ranks) {
  const bool moves = side.times.mean_us > 0 && collective != Collective::barrier;
  side.algbw = moves ? static_cast<double>(bytes) / side.times.mean_us / 1e3 : 0;
  side.busbw = side.algbw * bus_factor(collective, ranks);
}

double wire_floor(Collective collective, double algbw, std::size_t nodes, std::size_t ranks) {
  if (nodes < 2) return 0;
  return algbw * wire_factor(collective, static_cast<double>(nodes), static_cast<double>(ranks));
}

std::optional<double> wire_share(const Series& series, const Side& side) {
  if (series.nodes < 2 || !series.line_gbps || *series.line_gbps <= 0) return std::nullopt;
  return gbps_of(wire_floor(series.collective, side.algbw, series.nodes, series.ranks)) /
         *series.line_gbps;
}

const Side* side_of(const Row& row) {
  if (row.out_of_place) return &*row.out_of_place;
  return row.in_place ? &*row.in_place : nullptr;
}

std::optional<Plateau> plateau_of(const Series& series) {
  std::vector<const Row*> measured;
  for (const Row& row : series.rows) {
    if (side_of(row) != nullptr) measured.push_back(&row);
  }
  if (measured.empty()) return std::nullopt;
  std::ranges::stable_sort(measured, {}, &Row::bytes);
  const double reference = side_of(*measured.back())->busbw;
  Plateau plateau{*measured.back(), measured.back()->bytes, false};
  for (auto row = measured.rbegin() + 1; row != measured.rend(); ++row) {
    if (!is_level(side_of(**row)->busbw, reference)) break;
    plateau.from_bytes = (*row)->bytes;
    plateau.is_level = true;
  }
  return plateau;
}

std::vector<std::string> remarks(const Series& series, double sharding_limit_gbps) {
  const auto plateau = plateau_of(series);
  if (!plateau || series.collective == Collective::barrier) return {};
  const Side& side = *side_of(plateau->row);
  std::vector<std::string> out;
  if (series.ranks == 1 && bus_factor(series.collective, series.ranks) == 0) {
    out.emplace_back("with 1 rank no data moves between ranks, so there is no busbw");
  }
  if (series.collective == Collective::all_reduce && series.ranks == 2) {
    out.emplace_back("with 2 ranks busbw equals algbw: the factor 2(n-1)/n is 1");
  }
  for (auto& remark : {wire_remark(series, side), bus_remark(series, side),
                       advice(series, plateau->row, sharding_limit_gbps)}) {
    if (remark) out.push_back(*remark);
  }
  return out;
}

}  // namespace toprun::bench
