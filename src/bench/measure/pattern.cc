#include "bench/measure/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace toprun::measure {
namespace {

using bench::Collective;

constexpr std::size_t least_block_bytes = 64u << 10;
// A prime, and small enough for int8.
constexpr std::size_t copied_period = 97;
// Elements that are not neutral, of one place in all ranks: 2^6 fits into int8.
constexpr std::size_t most_ones = 64;
constexpr std::size_t most_twos = 6;
constexpr std::size_t least_reduced_period = 4;
constexpr std::size_t extreme_period = 5;

std::size_t reduced_period(Op op, std::size_t ranks) {
  if (op == Op::max || op == Op::min) return extreme_period;
  const std::size_t most = op == Op::prod ? most_twos : most_ones;
  return std::max(least_reduced_period, (ranks + most - 1) / most);
}

double contribution(Op op, std::size_t position, std::size_t index, std::size_t period) {
  const std::size_t phase = (position + index) % period;
  if (op == Op::max || op == Op::min) return static_cast<double>(phase);
  const bool is_neutral = phase != 0;
  if (op == Op::prod) return is_neutral ? 1 : 2;
  return is_neutral ? 0 : 1;
}

double joined(Op op, double a, double b) {
  switch (op) {
    case Op::prod:
      return a * b;
    case Op::max:
      return std::max(a, b);
    case Op::min:
      return std::min(a, b);
    default:
      return a + b;
  }
}

bool is_integer(Type type) {
  return type != Type::half && type != Type::float32 && type != Type::float64 &&
         type != Type::bfloat16;
}

}  // namespace

Repeating::Repeating(Type type, std::vector<double> period)
    : type_(type), element_(facts_of(type).bytes), period_(period.size()) {
  const std::size_t periods = 1 + least_block_bytes / (period_ * element_);
  block_.resize((periods + 1) * period_ * element_);
  for (std::size_t i = 0; i < period_; ++i) store(type, block_.data(), i, period[i]);
  for (std::size_t filled = period_ * element_; filled < block_.size(); filled *= 2) {
    std::memcpy(block_.data() + filled, block_.data(), std::min(filled, block_.size() - filled));
  }
}

void Repeating::fill(std::byte* target, std::size_t first, std::size_t bytes) const {
  const std::size_t whole = block_.size() - period_ * element_;
  const std::byte* const source = block_.data() + first % period_ * element_;
  for (std::size_t at = 0; at < bytes; at += whole) {
    std::memcpy(target + at, source, std::min(whole, bytes - at));
  }
}

std::uint64_t Repeating::wrong(const std::byte* data, std::size_t first, std::size_t bytes) const {
  const std::size_t whole = block_.size() - period_ * element_;
  const std::byte* const expected = block_.data() + first % period_ * element_;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < bytes; at += whole) {
    const std::size_t length = std::min(whole, bytes - at);
    if (std::memcmp(data + at, expected, length) == 0) continue;
    for (std::size_t i = 0; i < length / element_; ++i) {
      // Negative zero equals zero.
      if (load(type_, data + at, i) != load(type_, expected, i)) ++count;
    }
  }
  return count;
}

Check::Check(Collective collective, Type type, Op op, const RingPosition& ring)
    : collective_(collective), type_(type), op_(op), ring_(ring) {}

Repeating Check::sent_by(std::size_t position) const {
  const bool reduces = bench::facts_of(collective_).reduces;
  std::vector<double> period(reduces ? reduced_period(op_, ring_.size) : copied_period);
  for (std::size_t i = 0; i < period.size(); ++i) {
    period[i] = reduces ? contribution(op_, position, i, period.size())
                        : static_cast<double>((position * 31 + i) % copied_period);
  }
  return {type_, std::move(period)};
}

Repeating Check::reduced() const {
  std::vector<double> period(reduced_period(op_, ring_.size));
  for (std::size_t i = 0; i < period.size(); ++i) {
    double value = contribution(op_, 0, i, period.size());
    for (std::size_t position = 1; position < ring_.size; ++position) {
      value = joined(op_, value, contribution(op_, position, i, period.size()));
    }
    if (op_ == Op::avg) {
      value /= static_cast<double>(ring_.size);
      if (is_integer(type_)) value = std::trunc(value);
    }
    period[i] = value;
  }
  return {type_, std::move(period)};
}

void Check::fill(const Buffers& buffers) const {
  const auto bytes = lengths(collective_, buffers.part, ring_.size).send;
  sent_by(ring_.position).fill(buffers.send, 0, bytes);
}

std::uint64_t Check::wrong(const Buffers& buffers) const {
  const std::size_t part = buffers.part;
  const std::size_t elements = part / buffers.element;
  const std::size_t own = ring_.position * elements;
  const bool is_root = ring_.position == ring_.root;
  const auto parts_of_all = [&](std::size_t first) {
    std::uint64_t count = 0;
    for (std::size_t position = 0; position < ring_.size; ++position) {
      count += sent_by(position).wrong(buffers.receive + position * part, first, part);
    }
    return count;
  };
  switch (collective_) {
    case Collective::all_reduce:
      return reduced().wrong(buffers.receive, 0, part);
    case Collective::reduce:
      return is_root ? reduced().wrong(buffers.receive, 0, part) : 0;
    case Collective::reduce_scatter:
      return reduced().wrong(buffers.receive, own, part);
    case Collective::all_gather:
      return parts_of_all(0);
    case Collective::gather:
      return is_root ? parts_of_all(0) : 0;
    case Collective::alltoall:
      return parts_of_all(own);
    case Collective::scatter:
      return sent_by(ring_.root).wrong(buffers.receive, own, part);
    case Collective::broadcast:
      return sent_by(ring_.root).wrong(buffers.receive, 0, part);
    case Collective::sendrecv: {
      const std::size_t before = (ring_.position + ring_.size - 1) % ring_.size;
      return sent_by(before).wrong(buffers.receive, 0, part);
    }
    case Collective::barrier:
      break;
  }
  return 0;
}

}  // namespace toprun::measure
