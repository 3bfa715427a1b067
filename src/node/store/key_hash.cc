#include "node/store/key_hash.h"

#include <sodium/crypto_shorthash.h>
#include <sodium/randombytes.h>

#include <array>
#include <cstdint>

namespace toprun::store {
namespace {

using Seed = std::array<unsigned char, crypto_shorthash_KEYBYTES>;

Seed draw() {
  Seed seed;
  randombytes_buf(seed.data(), seed.size());
  return seed;
}

}  // namespace

std::size_t KeyHash::operator()(std::string_view key) const {
  static const Seed seed = draw();
  std::uint64_t hash = 0;
  static_assert(sizeof hash == crypto_shorthash_BYTES);
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   reinterpret_cast<const unsigned char*>(key.data()), key.size(), seed.data());
  return hash;
}

}  // namespace toprun::store
