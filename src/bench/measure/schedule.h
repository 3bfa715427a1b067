#pragma once

#include <cstddef>
#include <vector>

#include "bench/measure/lane.h"
#include "bench/tables/measurement.h"

namespace toprun::measure {

// This rank's position in the ring of ranks that run a collective. The functions below identify
// ranks by their positions in the ring. `root` is a position too.
struct RingPosition {
  std::size_t position = 0;
  std::size_t size = 1;  // number of positions
  std::size_t root = 0;
};

// One rank's memory. `part` is a size in bytes. If a collective's size in nccl-tests is the total
// of all ranks, `part` is one rank's part; otherwise, `part` is the whole message.
struct Buffers {
  std::byte* send = nullptr;
  std::byte* receive = nullptr;  // may overlap `send` (in place)
  std::byte* scratch = nullptr;  // Lengths::scratch bytes
  std::size_t part = 0;
  std::size_t element = 1;  // size of an element in bytes
};

// The required lengths of the buffers in bytes. For an in-place collective, send and receive share
// one buffer of the larger length.
struct Lengths {
  std::size_t send = 0;
  std::size_t receive = 0;
  std::size_t scratch = 0;
};
// `part`: as in Buffers. `size`: the number of ranks.
Lengths lengths(bench::Collective collective, std::size_t part, std::size_t size);
// The offset of each buffer in the shared buffer of an in-place collective.
struct InPlace {
  std::size_t send = 0;
  std::size_t receive = 0;
};
InPlace in_place(bench::Collective collective, std::size_t part, const RingPosition& ring);

// A lane (lane.h), and the positions to which it sends and from which it receives. The value
// RingPosition::size means that the lane does not send, or does not receive.
struct Planned {
  std::size_t to = 0;
  std::size_t from = 0;
  std::size_t stripe = 0;
  Lane lane;
};

// Returns the lanes (lane.h) on which this position sends and receives data. The data between two
// positions is divided among `stripes` connections, and each connection carries a range of the
// elements.
std::vector<Planned> plan(bench::Collective collective, const RingPosition& ring,
                          const Buffers& buffers, std::size_t stripes);
// Copies the part of a rank's own data that the rank keeps.
void keep_own(bench::Collective collective, const RingPosition& ring, const Buffers& buffers);

// Returns the positions in the ring with which this position exchanges data.
std::vector<std::size_t> peers(bench::Collective collective, const RingPosition& ring);

}  // namespace toprun::measure
