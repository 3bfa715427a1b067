#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace toprun::stage {

inline constexpr std::size_t hash_bytes = 32;
// The BLAKE2b hash of a chunk or of a manifest.
using Hash = std::array<std::uint8_t, hash_bytes>;

Hash hash_of(std::string_view bytes);
// The hash with a key of hash_bytes bytes. Only a process that has the key can compute this hash.
Hash keyed_hash_of(const Hash& key, std::string_view bytes);
bool is_equal(const Hash& a, const Hash& b);  // takes constant time

// The hash itself, as bytes of text.
std::string_view bytes_of(const Hash& hash);

std::string hex(std::span<const std::uint8_t> bytes);

}  // namespace toprun::stage
