#include "bench/tables/collective.h"

#include <algorithm>
#include <array>

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

}  // namespace toprun::bench
