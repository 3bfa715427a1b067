#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "node/store/keyspace.h"

namespace toprun::store {
namespace {

// libstdc++'s std::hash of strings: MurmurHash64A with a public seed.
constexpr std::uint64_t multiplier = 0xc6a4a7935bd1e995;
constexpr std::uint64_t known_seed = 0xc70f6907;

std::uint64_t shift_mix(std::uint64_t bits) {
  return bits ^ (bits >> 47);  // its own inverse
}

// Modulo 2^64, by Newton's iteration.
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t result = odd;
  for (int i = 0; i < 5; ++i) result *= 2 - odd * result;
  return result;
}

// 16 bytes: the second eight undo what the first eight did to the hash.
std::string colliding_key(std::uint64_t first) {
  const std::uint64_t mixed = shift_mix(first * multiplier) * multiplier;
  const std::uint64_t requested = ((known_seed ^ (16 * multiplier)) ^ mixed) * multiplier;
  const std::uint64_t back = inverse(multiplier);
  const std::uint64_t second = shift_mix(requested * back) * back;
  std::string key(16, '\0');
  std::memcpy(key.data(), &first, 8);
  std::memcpy(key.data() + 8, &second, 8);
  return key;
}

TEST(KeyHash, KeysMadeForAKnownHashDoNotMeet) {
  std::set<std::size_t> known;
  std::set<std::size_t> ours;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::string key = colliding_key(i);
    known.insert(std::hash<std::string_view>()(key));
    ours.insert(KeyHash()(key));
  }
  EXPECT_EQ(known.size(), 1u);  // or these keys would show nothing
  EXPECT_EQ(ours.size(), 1000u);
}

TEST(KeyHash, IsTheSameForTheSameBytes) {
  EXPECT_EQ(KeyHash()(std::string("key")), KeyHash()("key"));
  EXPECT_EQ(KeyHash()(""), KeyHash()(std::string_view()));
}

}  // namespace
}  // namespace toprun::store
