#include "bench/tables/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

// In the order of the enum.
constexpr std::array<CollectiveFacts, 10> all_facts = {{
    {Collective::all_reduce, "all_reduce", true, false, false},
    {Collective::all_gather, "all_gather", false, false, true},
    {Collective::reduce_scatter, "reduce_scatter", true, false, true},
    {Collective::broadcast, "broadcast", false, true, false},
    {Collective::reduce, "reduce", true, true, false},
    {Collective::alltoall, "alltoall", false, false, true},
    {Collective::sendrecv, "sendrecv", false, false, false},
    {Collective::gather, "gather", false, true, true},
    {Collective::scatter, "scatter", false, true, true},
    {Collective::barrier, "barrier", false, false, false},
}};

// nccl-tests keeps the parts of ranks aligned for the vector loads of GPUs.
constexpr std::size_t part_alignment_bytes = 16;

constexpr auto type_column = "  {:<8}";
constexpr auto redop_column = "  {:<5}";
constexpr auto root_column = "  {:>4}";

std::string columns(const Kinds& kinds, std::string_view type, std::string_view redop,
                    std::string_view root) {
  std::string out;
  if (kinds.type) out += fmt::format(type_column, type);
  if (kinds.redop) out += fmt::format(redop_column, redop);
  if (kinds.root) out += fmt::format(root_column, root);
  return out;
}

bool may_agree(const std::string& a, const std::string& b) {
  return a == b || a.empty() || b.empty();
}

}  // namespace

std::span<const CollectiveFacts> collectives() {
  return all_facts;
}

const CollectiveFacts& facts_of(Collective collective) {
  return all_facts[static_cast<std::size_t>(collective)];
}

std::optional<Collective> find_collective(std::string_view name) {
  const auto found = std::ranges::find(all_facts, name, &CollectiveFacts::name);
  if (found == all_facts.end()) return std::nullopt;
  return found->collective;
}

double bus_factor(Collective collective, std::size_t ranks) {
  if (collective == Collective::barrier || ranks == 0) return 0;
  const auto n = static_cast<double>(ranks);
  if (collective == Collective::all_reduce) return 2 * (n - 1) / n;
  return facts_of(collective).size_is_total ? (n - 1) / n : 1;
}

std::uint64_t rounded_size(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                           std::size_t ranks) {
  if (element_bytes == 0 || ranks == 0 || collective == Collective::barrier) return 0;
  std::uint64_t elements = bytes / element_bytes;
  if (!facts_of(collective).size_is_total) return elements * element_bytes;
  elements /= ranks;
  if (element_bytes < part_alignment_bytes) {
    elements -= elements % (part_alignment_bytes / element_bytes);
  }
  return elements * element_bytes * ranks;
}

Kinds kinds_in(std::span<const Series> all) {
  Kinds kinds;
  const Row* first = nullptr;
  for (const Series& series : all) {
    for (const Row& row : series.rows) {
      if (first == nullptr) first = &row;
      kinds.type = kinds.type || row.type != first->type;
      kinds.redop = kinds.redop || row.redop != first->redop;
      kinds.root = kinds.root || row.root != first->root;
    }
  }
  return kinds;
}

bool is_same_kind(const Row& a, const Row& b) {
  return a.type == b.type && a.redop == b.redop && a.root == b.root;
}

bool may_be_same_kind(Collective collective, const Row& a, const Row& b) {
  const bool is_root_unknown = facts_of(collective).has_root && (a.root == -1 || b.root == -1);
  return may_agree(a.type, b.type) && may_agree(a.redop, b.redop) &&
         (a.root == b.root || is_root_unknown);
}

std::string kind_text(const Row& row, const Kinds& kinds) {
  std::string out;
  if (kinds.type) out += name_or_dash(row.type);
  if (kinds.redop) out += (out.empty() ? "" : " ") + name_or_dash(row.redop);
  if (kinds.root) out += fmt::format("{}root {}", out.empty() ? "" : ", ", row.root);
  return out;
}

std::string kind_heading(const Kinds& kinds) {
  return columns(kinds, "type", "redop", "root");
}

std::string kind_columns(const Row& row, const Kinds& kinds) {
  return columns(kinds, name_or_dash(row.type), name_or_dash(row.redop),
                 fmt::format("{}", row.root));
}

std::string kind_blanks(const Kinds& kinds) {
  return columns(kinds, "", "", "");
}

std::vector<Series> by_kind(const Series& series, const Kinds& kinds) {
  std::vector<Series> out;
  for (const Row& row : series.rows) {
    const std::string kind = kind_text(row, kinds);
    const std::string source =
        series.source.empty() || kind.empty() ? series.source + kind : series.source + " " + kind;
    auto found = std::ranges::find(out, source, &Series::source);
    if (found == out.end()) {
      Series part = series;
      part.rows.clear();
      part.source = source;
      out.push_back(std::move(part));
      found = std::prev(out.end());
    }
    found->rows.push_back(row);
  }
  return out;
}

}  // namespace toprun::bench
