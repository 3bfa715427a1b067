#pragma once

#include <cstddef>
#include <string_view>

namespace toprun::store {

// SipHash-2-4 with a key that this process chooses at random. With a hash that is the same
// everywhere, a client could create keys that all fall into one bucket, which costs the square of
// their number.
struct KeyHash {
  using is_avalanching = void;  // the bits are well mixed already

  std::size_t operator()(std::string_view key) const;
};

}  // namespace toprun::store
