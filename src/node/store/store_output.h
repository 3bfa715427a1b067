#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::store {

// Counts the memory that the server uses for clients. The limit is Limits::total_bytes.
struct Ledger {
  std::size_t limit = 0;
  std::size_t used = 0;

  bool fits(std::size_t more) const { return used <= limit && more <= limit - used; }
};

// A number of bytes that a Ledger counts until the destructor of this object subtracts them again.
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
  // Like set(), but returns false and changes nothing if the ledger's limit would be exceeded.
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
  std::shared_ptr<Blob> blob = nullptr;  // null for a small value
  // How many bytes of the blob were the value at that moment: APPEND extends the blob in place.
  std::size_t blob_size = 0;

  std::string_view view() const {
    return blob ? std::string_view(blob->bytes).substr(0, blob_size) : small;
  }
};

// The value of a key.
class Value {
 public:
  explicit Value(Ledger& ledger) : charge_(ledger) {}

  std::string_view view() const { return content_.view(); }
  const Content& content() const { return content_; }

  void assign(std::string_view bytes);
  void append(std::string_view bytes);
  void share();  // replies share the value from now on, unless it is very small

 private:
  void become_blob(std::string_view first, std::string_view second);

  // The charge for a small value. A blob has its own charge, because it may outlive this object.
  Charge charge_;
  Content content_;
};

// The queue of replies that wait to be sent to one client, in the order of sending.
class Output {
 public:
  explicit Output(Ledger& ledger) : charge_(ledger) {}

  void put(std::string_view bytes) {
    text_.append(bytes);
    size_ += bytes.size();
  }
  template <class Integer>
  void put_integer(Integer number) {
    put({reinterpret_cast<const char*>(&number), sizeof number});
  }
  // Adds a u64 length and the bytes. Keys and values are sent in this form.
  void put_counted(std::string_view bytes) {
    put_integer<std::uint64_t>(bytes.size());
    put(bytes);
  }
  void put_value(const Content& value);
  // Adds a whole message that many connections receive. Large values of the message are shared, not
  // copied.
  void put(const Output& message);

  // Moves the text of a message without large values to a shared value, for many receivers.
  void share();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Fills `pieces` with the first pieces that are not sent yet, up to `limit_bytes`. Returns the
  // number of pieces.
  std::size_t gather(std::span<iovec> pieces, std::size_t limit_bytes) const;
  void consume(std::size_t bytes);
  void clear();
  // Called when the client does not read its replies. Frees the output's spare memory, and counts
  // the remaining memory in the ledger. False if the ledger's limit would be exceeded.
  bool shrink();
  // Counts the memory of the current content in the ledger. Shared values are already counted.
  // False if the ledger's limit would be exceeded.
  bool charge() { return charge_.try_set(text_.capacity()); }

 private:
  struct Shared {
    std::size_t position;  // a position in text_; the value is sent before the text at this
                           // position
    std::shared_ptr<Blob> blob;
    std::size_t size;  // how many bytes of the blob are sent
  };

  Charge charge_;
  std::string text_;
  std::vector<Shared> shared_;
  std::size_t size_ = 0;         // bytes that are not sent yet
  std::size_t text_sent_ = 0;    // how many bytes of text_ are sent
  std::size_t shared_sent_ = 0;  // how many whole entries of shared_ are sent
  std::size_t blob_sent_ = 0;    // how many bytes of the next entry are sent
};

}  // namespace toprun::store
