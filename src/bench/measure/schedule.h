#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/measure/lane.h"
#include "bench/tables/collective.h"

namespace toprun::measure {

// The ranks that run a collective, in the order of the ring; the position in it is what counts
// below, and `root` is a position.
struct RingPosition {
  std::size_t position = 0;
  std::size_t size = 1;  // positions
  std::size_t root = 0;
};

// One rank's memory. `part` is the number of bytes of one rank's part where nccl-tests' size is
// that of all ranks together, else of the whole message.
struct Buffers {
  std::byte* send = nullptr;
  std::byte* receive = nullptr;  // may be where `send` is (in place)
  std::byte* scratch = nullptr;  // scratch_bytes()
  std::size_t part = 0;
  std::size_t element = 1;  // bytes
};

// How long both buffers must be for a part, in bytes. In place they are one, of the larger length.
struct Lengths {
  std::size_t send = 0;
  std::size_t receive = 0;
  std::size_t scratch = 0;
};
Lengths lengths(bench::Collective collective, std::size_t part, std::size_t size);
// Where each buffer begins in the common buffer when a collective runs in place.
struct InPlace {
  std::size_t send = 0;
  std::size_t receive = 0;
};
InPlace in_place(bench::Collective collective, std::size_t part, const RingPosition& ring);

// A lane whose connections are named by position; unset where the position is RingPosition::size.
struct Planned {
  std::size_t to = 0;
  std::size_t from = 0;
  std::size_t stripe = 0;
  Lane lane;
};

// What this position sends and receives. The work is divided over `stripes` connections to the same
// position, each with a range of the elements.
std::vector<Planned> plan(bench::Collective collective, const RingPosition& ring,
                          const Buffers& buffers, std::size_t stripes);
// Copies the part of a rank's own data that the rank keeps.
void keep_own(bench::Collective collective, const RingPosition& ring, const Buffers& buffers);

// The positions with which this one exchanges bytes.
std::vector<std::size_t> peers(bench::Collective collective, const RingPosition& ring);

}  // namespace toprun::measure
