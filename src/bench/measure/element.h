#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace toprun::measure {

// The element types that the -d option of nccl-tests accepts.
// Each enumerator has the same number as in NCCL's ncclDataType_t.
enum class Type { int8, uint8, int32, uint32, int64, uint64, half, float32, float64, bfloat16 };

struct TypeFacts {
  Type type;
  std::string_view name;  // the name in nccl-tests
  std::size_t bytes;
};
std::span<const TypeFacts> types();
const TypeFacts& facts_of(Type type);

// The reductions that the -o option of nccl-tests accepts. For avg, the elements are summed, and
// divide() then divides the sums.
// In the order of ncclRedOp_t.
enum class Op { sum, prod, max, min, avg };

struct OpName {
  Op op;
  std::string_view name;
};
std::span<const OpName> ops();
std::string_view name_of(Op op);

// Sets out[i] = a[i] op b[i]. `out` may be `a` or `b`.
using Combine = void (*)(const std::byte* a, const std::byte* b, std::byte* out,
                         std::size_t elements);
// Returns the function that combines elements of this type by `op`.
Combine combine_of(Type type, Op op);

// Divides each element by `divisor`. The quotient of integers is rounded towards zero, as in C++.
void divide(Type type, std::span<std::byte> data, std::size_t divisor);

// Read and write element i as a number. Both functions are exact for small numbers, such as the
// test data.
double load(Type type, const std::byte* data, std::size_t i);
void store(Type type, std::byte* data, std::size_t i, double value);

}  // namespace toprun::measure
