#pragma once

#include <chrono>
#include <vector>

#include "bench/measure/cells.h"
#include "bench/measure/element.h"
#include "bench/measure/join.h"
#include "bench/measure/schedule.h"
#include "bench/tables/collective.h"

namespace toprun::measure {

// The TCP connections of one cell, seen from one of its ranks.
class CellMesh {
 public:
  CellMesh(Group& group, const Cell& cell, const RingPosition& ring)
      : group_(group), cell_(cell), ring_(ring) {}

  const Cell& cell() const { return cell_; }
  const RingPosition& ring() const { return ring_; }

  // All ranks of the cell must call connect(). `stripes`: the number of connections to each peer.
  Result<void> connect(bench::Collective collective, std::size_t stripes);
  // The lanes of plan(), with the sockets of connect().
  std::vector<Lane> lanes(bench::Collective collective, const Buffers& buffers,
                          std::size_t stripes) const;
  // Replaces each number by the result of `op` over all ranks.
  Result<void> combine_over_all(std::vector<double>& values, Op op,
                                std::chrono::milliseconds limit) const;
  // Returns when all ranks of the cell have called barrier().
  Result<void> barrier(std::chrono::milliseconds limit) const;

 private:
  void bind(std::size_t position, std::size_t stripe, int& socket, std::string& name) const;

  Group& group_;
  const Cell& cell_;
  RingPosition ring_;
};

}  // namespace toprun::measure
