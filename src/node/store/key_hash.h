#pragma once

#include <cstddef>
#include <string_view>

namespace toprun::store {

// SipHash-2-4 with a random key per process. With a predictable hash, a client could create keys
// that all fall into one bucket. The time for n such keys would grow as n².
struct KeyHash {
  using is_avalanching = void;  // the bits are well mixed already

  std::size_t operator()(std::string_view key) const;
};

}  // namespace toprun::store
