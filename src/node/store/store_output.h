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

// Replies to one connection, in the order in which they will be sent.
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
  // Adds a whole message that many connections receive. The message's large values are shared.
  void put(const Output& message);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Fills `pieces` with the first pieces that are not sent yet, up to `limit_bytes`. Returns the
  // number of pieces.
  std::size_t gather(std::span<iovec> pieces, std::size_t limit_bytes) const;
  void consume(std::size_t bytes);
  void clear();
  // Prepares the output for a wait until the client reads the output. Frees spare memory and counts
  // the rest in the ledger.
  bool shrink();
  // Counts the current content in the ledger. Shared values are already counted. False if the
  // ledger has no room.
  bool charge() { return charge_.try_set(text_.capacity()); }

 private:
  struct Shared {
    std::size_t position;  // a position in text_; the value is sent before the text at this
                           // position
    std::shared_ptr<Blob> blob;
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
