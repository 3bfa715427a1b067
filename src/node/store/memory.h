#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace toprun::store {

// Counts the memory that the server uses for clients. The limit is Limits::total_bytes.
struct Ledger {
  std::size_t limit = 0;
  std::size_t used = 0;

  bool fits(std::size_t more) const { return used <= limit && more <= limit - used; }
};

// A number of bytes counted in a Ledger. The destructor subtracts the bytes again.
class Charge {
 public:
  explicit Charge(Ledger& ledger, std::size_t bytes = 0) : ledger_(&ledger) { set(bytes); }
  Charge(Charge&& other) noexcept : ledger_(other.ledger_), bytes_(other.bytes_) {
    other.bytes_ = 0;
  }
  Charge& operator=(Charge&& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() { set(0); }

  void set(std::size_t bytes) {
    // If `bytes` is smaller than `bytes_`, the unsigned difference wraps around, but the sum is
    // right.
    ledger_->used += bytes - bytes_;
    bytes_ = bytes;
  }
  // If the ledger has no room, returns false and changes nothing.
  bool try_set(std::size_t bytes) {
    if (bytes > bytes_ && !ledger_->fits(bytes - bytes_)) return false;
    set(bytes);
    return true;
  }
  void add(std::size_t bytes) { set(bytes_ + bytes); }
  Ledger& ledger() const { return *ledger_; }

 private:
  Ledger* ledger_;
  std::size_t bytes_ = 0;
};

// The bytes of a large value. Unsent replies share these bytes instead of copying them.
struct Blob {
  Charge charge;
  std::string bytes;

  Blob(Ledger& ledger, std::string_view text) : charge(ledger, text.size()), bytes(text) {}
};

// Values smaller than this are copied into replies, because a copy is cheaper than reference
// counting.
inline constexpr std::size_t shared_value_bytes = 16u << 10;

// The content of a value at one moment. A copy of this object copies at most shared_value_bytes.
struct Content {
  std::string small;
  std::shared_ptr<Blob> blob;  // null for a small value

  std::string_view view() const { return blob ? std::string_view(blob->bytes) : small; }
};

// The value of a key.
class Value {
 public:
  explicit Value(Ledger& ledger) : charge_(ledger) {}

  std::string_view view() const { return content_.view(); }
  const Content& content() const { return content_; }

  void assign(std::string_view bytes);
  void append(std::string_view bytes);

 private:
  void become_blob(std::string_view first, std::string_view second);

  // The charge for a small value. A blob has its own charge, because it may outlive this object.
  Charge charge_;
  Content content_;
};

}  // namespace toprun::store
