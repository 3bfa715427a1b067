#include "bench/measure/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace toprun::measure {
namespace {

constexpr std::size_t halves = 1u << 16;

std::vector<_Float16> every_half() {
  std::vector<_Float16> all(halves);
  for (std::size_t i = 0; i < halves; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(&all[i], &bits, sizeof bits);
  }
  return all;
}

std::vector<_Float16> combined(Op op, const std::vector<_Float16>& a, _Float16 b) {
  const std::vector<_Float16> second(a.size(), b);
  std::vector<_Float16> out(a.size());
  combine_of(Type::half, op)(reinterpret_cast<const std::byte*>(a.data()),
                             reinterpret_cast<const std::byte*>(second.data()),
                             reinterpret_cast<std::byte*>(out.data()), a.size());
  return out;
}

bool same(_Float16 a, _Float16 b) {
  if (std::isnan(static_cast<float>(a))) return std::isnan(static_cast<float>(b));
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// As the compiler's own type, for every half with some others.
TEST(Half, AddsAndMultipliesAsTheCompilersDoes) {
  const std::vector<_Float16> all = every_half();
  const float infinity = std::numeric_limits<float>::infinity();
  const float others[] = {0.0f,     -0.0f,       1.0f,    -1.0f, 0x1p-24f, 0x1.8p-24f, -0x1p-15f,
                          0x1p-14f, 0x1.ffcp15f, 2049.0f, 0.1f,  -1e-6f,   infinity,   3.0f};
  for (const float other : others) {
    const auto b = static_cast<_Float16>(other);
    const std::vector<_Float16> sums = combined(Op::sum, all, b);
    const std::vector<_Float16> products = combined(Op::prod, all, b);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < halves; ++i) {
      const auto sum = static_cast<_Float16>(static_cast<float>(all[i]) + static_cast<float>(b));
      const auto product =
          static_cast<_Float16>(static_cast<float>(all[i]) * static_cast<float>(b));
      wrong += same(sums[i], sum) && same(products[i], product) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0u) << other;
  }
}

// Odd numbers of elements, of which the last ones fill no block; types that wrap around or round.
TEST(Combine, OfEachTypeAndOp) {
  constexpr std::size_t elements = 71;
  for (const TypeFacts& facts : types()) {
    std::vector<std::byte> a(elements * facts.bytes);
    std::vector<std::byte> b(a.size());
    std::vector<std::byte> out(a.size());
    for (std::size_t i = 0; i < elements; ++i) {
      store(facts.type, a.data(), i, static_cast<double>(i % 8));
      store(facts.type, b.data(), i, 3);
    }
    for (const auto& [op, name] : ops()) {
      combine_of(facts.type, op)(a.data(), b.data(), out.data(), elements);
      for (std::size_t i = 0; i < elements; ++i) {
        const auto first = static_cast<double>(i % 8);
        const double expected = op == Op::prod  ? first * 3
                                : op == Op::max ? std::max(first, 3.0)
                                : op == Op::min ? std::min(first, 3.0)
                                                : first + 3;
        EXPECT_EQ(load(facts.type, out.data(), i), expected) << facts.name << " " << name;
      }
    }
  }
}

}  // namespace
}  // namespace toprun::measure
