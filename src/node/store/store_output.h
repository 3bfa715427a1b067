#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/store/memory.h"

namespace toprun::store {

// Replies to one connection in the order in which they are to be sent.
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
  // A u64 length and the bytes, as both keys and values are sent.
  void put_counted(std::string_view bytes) {
    put_integer<std::uint64_t>(bytes.size());
    put(bytes);
  }
  void put_value(const Content& value);
  // All of a message that many connections get, whose large values are shared.
  void put(const Output& message);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The first pieces still to be sent, at most `limit_bytes` of them; returns how many there are.
  std::size_t gather(std::span<iovec> pieces, std::size_t limit_bytes) const;
  void consume(std::size_t bytes);
  void clear();
  // Makes it fit to be kept until the client reads: no spare memory, counted in the ledger.
  bool shrink();
  // Counts what it holds by now in the ledger, where shared values already are; false if that has
  // no room for it.
  bool charge() { return charge_.try_set(text_.capacity()); }

 private:
  struct Shared {
    std::size_t position;  // in text_ before which the value goes
    std::shared_ptr<Blob> blob;
  };

  Charge charge_;
  std::string text_;
  std::vector<Shared> shared_;
  std::size_t size_ = 0;         // bytes still to be sent
  std::size_t text_sent_ = 0;    // of text_
  std::size_t shared_sent_ = 0;  // whole entries of shared_
  std::size_t blob_sent_ = 0;    // of the next one
};

}  // namespace toprun::store
