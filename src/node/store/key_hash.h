#pragma once

#include <cstddef>
#include <string_view>

namespace toprun::store {

// SipHash-2-4 under a key that this process drew by lot: keys that fall into one bucket of a table
// can be made for any hash that is the same everywhere, and cost the square of their number.
struct KeyHash {
  using is_avalanching = void;  // the bits are well mixed already

  std::size_t operator()(std::string_view key) const;
};

}  // namespace toprun::store
