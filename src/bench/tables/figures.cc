#include "bench/tables/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/tables/live_table.h"

namespace toprun::bench {
namespace {

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
    out.emplace_back("with 1 rank no data moves between ranks, so busbw is 0: use algbw");
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
