#include "bench/measure/schedule.h"

#include <cstring>

namespace toprun::measure {
namespace {

using bench::Collective;

// A range of the elements of a message or part, in bytes.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t bytes() const { return end - begin; }
};

// The i-th of n nearly equal ranges of whole elements.
Range share(Range whole, std::size_t i, std::size_t n, std::size_t element) {
  const std::size_t elements = whole.bytes() / element;
  return {whole.begin + elements * i / n * element, whole.begin + elements * (i + 1) / n * element};
}

// The lanes of a ring, one for each stripe.
class Ring {
 public:
  Ring(const RingPosition& ring, const Buffers& buffers, std::size_t stripe, std::size_t stripes)
      : ring_(ring),
        buffers_(buffers),
        range_(share({0, buffers.part}, stripe, stripes, buffers.element)) {
    planned_.to = back(ring.size - 1);
    planned_.from = back(1);
    planned_.stripe = stripe;
  }

  Planned all_reduce() {
    const std::size_t n = ring_.size;
    wait_for_head(chunk(0).bytes());
    out(buffers_.send, chunk(0));
    for (std::size_t step = 1; step < n; ++step) reduce(chunk(step), buffers_.receive);
    for (std::size_t step = 1; step < n - 1; ++step) out(buffers_.receive, chunk(step));
    // The last sum of the first round is the first that goes around in the second.
    out(buffers_.receive, chunk(n - 1));
    for (std::size_t step = 0; step + 2 < n; ++step) out(buffers_.receive, chunk(step));
    for (std::size_t step = 0; step + 1 < n; ++step) copy(chunk(step));
    return take();
  }

  Planned all_gather() {
    const std::size_t n = ring_.size;
    wait_for_head(range_.bytes());
    out(buffers_.send, range_);
    for (std::size_t step = 1; step + 1 < n; ++step) out(buffers_.receive, part(step));
    for (std::size_t step = 1; step < n; ++step) copy(part(step));
    return take();
  }

  Planned reduce_scatter() {
    const std::size_t n = ring_.size;
    wait_for_head(range_.bytes());
    for (std::size_t step = 1; step < n; ++step) {
      out(step == 1 ? buffers_.send : buffers_.scratch, part(step));
      const bool is_last = step + 1 == n;
      const Range next = part(is_last ? 0 : step + 1);
      std::byte* const target =
          is_last ? buffers_.receive + range_.begin : buffers_.scratch + next.begin;
      planned_.lane.in.push_back({target, buffers_.send + next.begin, next.bytes()});
    }
    return take();
  }

  // Down the chain that begins at the root.
  Planned broadcast() {
    const std::size_t distance = back(ring_.root);
    const bool is_root = distance == 0;
    const bool is_last = distance + 1 == ring_.size;
    if (!is_root) copy(range_);
    if (!is_last) out(is_root ? buffers_.send : buffers_.receive, range_);
    if (!is_root) wait_for_head(0);
    return take();
  }

  // Along the chain that ends at the root.
  Planned reduce_to_root() {
    const std::size_t distance = back(ring_.root);
    const bool is_root = distance == 0;
    const bool is_first = distance == 1;
    if (!is_first) reduce(range_, is_root ? buffers_.receive : buffers_.scratch);
    if (!is_root) out(is_first ? buffers_.send : buffers_.scratch, range_);
    if (!is_first) wait_for_head(0);
    return take();
  }

  Planned shift() {
    out(buffers_.send, range_);
    copy(range_);
    return take();
  }

 private:
  // The position so many places before this one.
  std::size_t back(std::size_t distance) const {
    return (ring_.position + ring_.size - distance % ring_.size) % ring_.size;
  }
  // Of the message, of the position so many places before this one.
  Range chunk(std::size_t distance) const {
    return share(range_, back(distance), ring_.size, buffers_.element);
  }
  std::size_t part_offset(std::size_t distance) const { return back(distance) * buffers_.part; }
  Range part(std::size_t distance) const {
    return {part_offset(distance) + range_.begin, part_offset(distance) + range_.end};
  }

  void wait_for_head(std::size_t bytes) { planned_.lane.head = bytes; }
  void out(const std::byte* base, Range range) {
    planned_.lane.out.push_back({base + range.begin, range.bytes()});
  }
  void copy(Range range) {
    planned_.lane.in.push_back({buffers_.receive + range.begin, nullptr, range.bytes()});
  }
  void reduce(Range range, std::byte* base) {
    planned_.lane.in.push_back({base + range.begin, buffers_.send + range.begin, range.bytes()});
  }
  Planned take() {
    if (planned_.lane.out.empty()) planned_.to = ring_.size;
    if (planned_.lane.in.empty()) planned_.from = ring_.size;
    return std::move(planned_);
  }

  const RingPosition& ring_;
  const Buffers& buffers_;
  const Range range_;
  Planned planned_;
};

Planned ring_lane(Collective collective, Ring ring) {
  switch (collective) {
    case Collective::all_gather:
      return ring.all_gather();
    case Collective::reduce_scatter:
      return ring.reduce_scatter();
    case Collective::broadcast:
      return ring.broadcast();
    case Collective::reduce:
      return ring.reduce_to_root();
    case Collective::sendrecv:
      return ring.shift();
    default:
      return ring.all_reduce();
  }
}

bool is_ring(Collective collective) {
  return collective != Collective::alltoall && collective != Collective::gather &&
         collective != Collective::scatter;
}

// One exchange with one other position: what goes there and what comes from there, of a range of
// each part.
Planned exchange(Collective collective, const RingPosition& ring, const Buffers& buffers,
                 std::size_t peer, Range range) {
  const bool is_root = ring.position == ring.root;
  const bool sends =
      collective == Collective::alltoall || (collective == Collective::gather) != is_root;
  const bool receives =
      collective == Collective::alltoall || (collective == Collective::gather) == is_root;
  const bool sends_a_part = collective != Collective::gather;
  const bool receives_a_part = collective != Collective::scatter;
  Planned planned{ring.size, ring.size, 0, {}};
  const std::size_t of_peer = peer * buffers.part + range.begin;
  if (sends) {
    planned.to = peer;
    planned.lane.out.push_back(
        {buffers.send + (sends_a_part ? of_peer : range.begin), range.bytes()});
  }
  if (receives) {
    planned.from = peer;
    planned.lane.in.push_back(
        {buffers.receive + (receives_a_part ? of_peer : range.begin), nullptr, range.bytes()});
  }
  return planned;
}

}  // namespace

Lengths lengths(Collective collective, std::size_t part, std::size_t size) {
  const std::size_t all = part * size;
  switch (collective) {
    case Collective::all_gather:
    case Collective::gather:
      return {part, all, 0};
    case Collective::reduce_scatter:
      return {all, part, all};
    case Collective::scatter:
      return {all, part, 0};
    case Collective::alltoall:
      return {all, all, 0};
    case Collective::reduce:
      return {part, part, part};
    default:
      return {part, part, 0};
  }
}

InPlace in_place(Collective collective, std::size_t part, const RingPosition& ring) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::gather:
      return {ring.position * part, 0};
    case Collective::reduce_scatter:
    case Collective::scatter:
      return {0, ring.position * part};
    default:
      return {};
  }
}

std::vector<std::size_t> peers(Collective collective, const RingPosition& ring) {
  std::vector<std::size_t> found;
  if (ring.size == 1) return found;
  if (is_ring(collective)) {
    found = {(ring.position + 1) % ring.size, (ring.position + ring.size - 1) % ring.size};
    if (found[0] == found[1]) found.pop_back();
    return found;
  }
  if (collective != Collective::alltoall && ring.position != ring.root) return {ring.root};
  for (std::size_t step = 1; step < ring.size; ++step) {
    found.push_back((ring.position + step) % ring.size);
  }
  return found;
}

std::vector<Planned> plan(Collective collective, const RingPosition& ring, const Buffers& buffers,
                          std::size_t stripes) {
  std::vector<Planned> planned;
  if (ring.size == 1) return planned;
  const std::vector<std::size_t> others =
      is_ring(collective) ? std::vector<std::size_t>() : peers(collective, ring);
  for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
    if (is_ring(collective)) {
      planned.push_back(ring_lane(collective, Ring(ring, buffers, stripe, stripes)));
    }
    for (const std::size_t peer : others) {
      const Range range = share({0, buffers.part}, stripe, stripes, buffers.element);
      planned.push_back(exchange(collective, ring, buffers, peer, range));
      planned.back().stripe = stripe;
    }
  }
  return planned;
}

void keep_own(Collective collective, const RingPosition& ring, const Buffers& buffers) {
  const std::size_t own = ring.position * buffers.part;
  const bool is_root = ring.position == ring.root;
  const std::byte* source = buffers.send;
  std::byte* target = buffers.receive;
  switch (collective) {
    case Collective::alltoall:
      source += own;
      target += own;
      break;
    case Collective::all_gather:
      target += own;
      break;
    case Collective::gather:
      if (!is_root) return;
      target += own;
      break;
    case Collective::scatter:
      if (!is_root) return;
      source += own;
      break;
    case Collective::broadcast:
      if (!is_root) return;
      break;
    case Collective::reduce_scatter:
      if (ring.size > 1) return;
      break;
    default:
      if (ring.size > 1) return;
  }
  if (source != target) std::memcpy(target, source, buffers.part);
}

}  // namespace toprun::measure
