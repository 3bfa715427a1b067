#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace toprun::measure {

// The types of nccl-tests' -d.
enum class Type { int8, uint8, int32, uint32, int64, uint64, half, float32, float64, bfloat16 };

struct TypeFacts {
  Type type;
  std::string_view name;  // nccl-tests'
  std::size_t bytes;
};
std::span<const TypeFacts> types();
const TypeFacts& facts_of(Type type);
std::optional<Type> find_type(std::string_view name);

// The reductions of nccl-tests' -o. avg is a sum that divide() completes.
enum class Op { sum, prod, max, min, avg };

struct OpName {
  Op op;
  std::string_view name;
};
std::span<const OpName> ops();
std::string_view name_of(Op op);
std::optional<Op> find_op(std::string_view name);

// out[i] = a[i] op b[i]; out may be a or b.
using Combine = void (*)(const std::byte* a, const std::byte* b, std::byte* out,
                         std::size_t elements);
Combine combine_of(Type type, Op op);

// Divides each element, as integers divide.
void divide(Type type, std::span<std::byte> data, std::size_t divisor);

// Element i as a number, and its opposite; exact for the small numbers that checks use.
double load(Type type, const std::byte* data, std::size_t i);
void store(Type type, std::byte* data, std::size_t i, double value);

}  // namespace toprun::measure
