#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace toprun::stage {

inline constexpr std::int64_t ns_per_second = 1'000'000'000;

// Appends a number as little-endian bytes.
template <class Integer>
void put(std::string& out, Integer number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    out += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
}

// Reads what put() wrote. After the first read for which bytes are missing, all results are zeros
// and empty texts.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  Integer number() {
    const std::string_view bytes = text(sizeof(Integer));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return static_cast<Integer>(value);
  }
  std::string_view text(std::size_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::size_t left() const { return rest_.size(); }
  bool is_short() const { return is_short_; }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

}  // namespace toprun::stage
