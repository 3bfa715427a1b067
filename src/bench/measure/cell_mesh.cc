#include "bench/measure/cell_mesh.h"

namespace toprun::measure {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds connection_limit{30'000};

}  // namespace

Result<void> CellMesh::connect(bench::Collective collective, std::size_t stripes) {
  std::vector<std::size_t> ranks;
  for (const std::size_t position : peers(collective, ring_)) {
    ranks.push_back(cell_.ranks[position]);
  }
  return group_.mesh.connect(ranks, stripes, connection_limit);
}

std::vector<Lane> CellMesh::lanes(bench::Collective collective, const Buffers& buffers,
                                  std::size_t stripes) const {
  std::vector<Lane> lanes;
  for (Planned& planned : plan(collective, ring_, buffers, stripes)) {
    Lane& lane = planned.lane;
    if (planned.to < ring_.size) bind(planned.to, planned.stripe, lane.out_socket, lane.to);
    if (planned.from < ring_.size) {
      bind(planned.from, planned.stripe, lane.in_socket, lane.from);
    }
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

Result<void> CellMesh::combine_over_all(std::vector<double>& values, Op op,
                                        milliseconds limit) const {
  const std::size_t bytes = values.size() * sizeof(double);
  auto* const data = reinterpret_cast<std::byte*>(values.data());
  const Buffers buffers{data, data, nullptr, bytes, sizeof(double)};
  return transfer(lanes(bench::Collective::all_reduce, buffers, 1), combine_of(Type::float64, op),
                  sizeof(double), limit);
}

Result<void> CellMesh::barrier(milliseconds limit) const {
  std::vector<double> nothing(ring_.size);
  return combine_over_all(nothing, Op::sum, limit);
}

void CellMesh::bind(std::size_t position, std::size_t stripe, int& socket,
                    std::string& name) const {
  const std::size_t rank = cell_.ranks[position];
  socket = group_.mesh.socket(rank, stripe);
  name = group_.peers[rank].text();
}

}  // namespace toprun::measure
