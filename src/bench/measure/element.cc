#include "bench/measure/element.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace toprun::measure {
namespace {

// The upper half of a float. A sum is rounded to the nearest, ties to even.
struct Bfloat16 {
  std::uint16_t bits;
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static Bfloat16 from(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16)};
  }
};

// IEEE 754's half. g++'s _Float16 converts one element at a time in a function of libgcc; these are
// instructions for vectors.
struct Half {
  std::uint16_t bits;

  operator float() const {
    const std::int32_t size = bits & 0x7fff;
    // A factor moves the exponent's bias, and makes normal what is not.
    const float scaled = std::bit_cast<float>(size << 13) * 0x1p112f;
    const std::int32_t infinite = choose(size >= 0x7c00, 0x7f80'0000, 0);
    const std::int32_t sign = (bits & 0x8000) << 16;
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(scaled) | infinite | sign);
  }

  // Rounded to the nearest, ties to even.
  static Half from(float value) {
    const auto wide = std::bit_cast<std::int32_t>(value);
    const std::int32_t size = wide & 0x7fff'ffff;
    constexpr std::int32_t bias = (127 - 15) << 23;
    const std::int32_t normal = (size - bias + 0xfff + ((size >> 13) & 1)) >> 13;
    // The last place of 0.5 is that of the smallest half.
    const std::int32_t small =
        std::bit_cast<std::int32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f00'0000;
    const std::int32_t large =
        choose(size > 0x7f80'0000, 0x7e00, 0x7c00);  // not a number, or infinite
    const std::int32_t finite = choose(size < 0x3880'0000, small, normal);
    const std::int32_t found = choose(size >= 0x4780'0000, large, finite);
    return {static_cast<std::uint16_t>(found | (wide >> 16 & 0x8000))};
  }

 private:
  // Without a branch, which would not become vector instructions.
  static std::int32_t choose(bool first, std::int32_t a, std::int32_t b) {
    const std::int32_t mask = -std::int32_t{first};
    return (a & mask) | (b & ~mask);
  }
};

template <class T>
struct Arithmetic {
  using Wide = T;
};
template <>
struct Arithmetic<Bfloat16> {
  using Wide = float;
};
template <>
struct Arithmetic<Half> {
  using Wide = float;
};

template <class T>
T narrow(typename Arithmetic<T>::Wide value) {
  if constexpr (requires { T::from(value); }) {
    return T::from(value);
  } else {
    return static_cast<T>(value);
  }
}

// Sums and products of integers wrap around.
template <class T, Op op>
T combined(T first, T second) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && op != Op::max && op != Op::min) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(
        combined<Unsigned, op>(static_cast<Unsigned>(first), static_cast<Unsigned>(second)));
  }
  using Wide = typename Arithmetic<T>::Wide;
  const Wide a = first;
  const Wide b = second;
  if constexpr (op == Op::prod) return narrow<T>(static_cast<Wide>(a * b));
  if constexpr (op == Op::max) return narrow<T>(std::max(a, b));
  if constexpr (op == Op::min) return narrow<T>(std::min(a, b));
  return narrow<T>(static_cast<Wide>(a + b));
}

// A part of a message may lie anywhere in memory, hence memcpy.
template <class T, Op op, std::size_t elements>
void combine_block(const std::byte* a, const std::byte* b, std::byte* out) {
  std::array<T, elements> first;
  std::array<T, elements> second;
  std::memcpy(first.data(), a, sizeof first);
  std::memcpy(second.data(), b, sizeof second);
  for (std::size_t i = 0; i < elements; ++i) first[i] = combined<T, op>(first[i], second[i]);
  std::memcpy(out, first.data(), sizeof first);
}

// Blocks of a fixed length become vector instructions.
template <class T, Op op>
void combine(const std::byte* a, const std::byte* b, std::byte* out, std::size_t elements) {
  constexpr std::size_t block = 32;
  std::size_t at = 0;
  for (; at + block <= elements; at += block) {
    const std::size_t offset = at * sizeof(T);
    combine_block<T, op, block>(a + offset, b + offset, out + offset);
  }
  for (; at < elements; ++at) {
    const std::size_t offset = at * sizeof(T);
    combine_block<T, op, 1>(a + offset, b + offset, out + offset);
  }
}

template <class T>
Combine combine_for(Op op) {
  switch (op) {
    case Op::prod:
      return combine<T, Op::prod>;
    case Op::max:
      return combine<T, Op::max>;
    case Op::min:
      return combine<T, Op::min>;
    case Op::sum:
    case Op::avg:
      break;
  }
  return combine<T, Op::sum>;
}

template <class Visitor>
auto with_type(Type type, Visitor visit) {
  switch (type) {
    case Type::int8:
      return visit(std::int8_t{});
    case Type::uint8:
      return visit(std::uint8_t{});
    case Type::int32:
      return visit(std::int32_t{});
    case Type::uint32:
      return visit(std::uint32_t{});
    case Type::int64:
      return visit(std::int64_t{});
    case Type::uint64:
      return visit(std::uint64_t{});
    case Type::half:
      return visit(Half{});
    case Type::float64:
      return visit(double{});
    case Type::bfloat16:
      return visit(Bfloat16{});
    case Type::float32:
      break;
  }
  return visit(float{});
}

constexpr std::array type_table = {
    TypeFacts{Type::int8, "int8", 1},      TypeFacts{Type::uint8, "uint8", 1},
    TypeFacts{Type::int32, "int32", 4},    TypeFacts{Type::uint32, "uint32", 4},
    TypeFacts{Type::int64, "int64", 8},    TypeFacts{Type::uint64, "uint64", 8},
    TypeFacts{Type::half, "half", 2},      TypeFacts{Type::float32, "float", 4},
    TypeFacts{Type::float64, "double", 8}, TypeFacts{Type::bfloat16, "bfloat16", 2},
};

constexpr std::array op_table = {
    OpName{Op::sum, "sum"}, OpName{Op::prod, "prod"}, OpName{Op::max, "max"},
    OpName{Op::min, "min"}, OpName{Op::avg, "avg"},
};

}  // namespace

std::span<const TypeFacts> types() {
  return type_table;
}

const TypeFacts& facts_of(Type type) {
  return *std::ranges::find(type_table, type, &TypeFacts::type);
}

std::span<const OpName> ops() {
  return op_table;
}

std::string_view name_of(Op op) {
  return std::ranges::find(op_table, op, &OpName::op)->name;
}

Combine combine_of(Type type, Op op) {
  return with_type(type, [op]<class T>(T) -> Combine { return combine_for<T>(op); });
}

void divide(Type type, std::span<std::byte> data, std::size_t divisor) {
  with_type(type, [&]<class T>(T) {
    using Wide = typename Arithmetic<T>::Wide;
    for (std::size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
      T element;
      std::memcpy(&element, data.data() + at, sizeof(T));
      const Wide value = element;
      element = narrow<T>(static_cast<Wide>(value / static_cast<Wide>(divisor)));
      std::memcpy(data.data() + at, &element, sizeof(T));
    }
  });
}

double load(Type type, const std::byte* data, std::size_t i) {
  return with_type(type, [&]<class T>(T element) {
    std::memcpy(&element, data + i * sizeof(T), sizeof(T));
    return static_cast<double>(static_cast<typename Arithmetic<T>::Wide>(element));
  });
}

void store(Type type, std::byte* data, std::size_t i, double value) {
  with_type(type, [&]<class T>(T element) {
    element = narrow<T>(static_cast<typename Arithmetic<T>::Wide>(value));
    std::memcpy(data + i * sizeof(T), &element, sizeof(T));
  });
}

}  // namespace toprun::measure
