#include "node/store/store_output.h"

#include <algorithm>

namespace toprun::store {

void Value::assign(std::string_view bytes) {
  content_.blob.reset();
  if (bytes.size() >= shared_value_bytes) {
    become_blob(bytes, {});
    return;
  }
  content_.small.assign(bytes);
  charge_.set(bytes.size());
}

void Value::append(std::string_view bytes) {
  Content& now = content_;
  // Replies that share the blob have taken its first bytes. A copy for them would let a client that
  // appends one byte and reads nothing hold a large value once more for each request.
  if (now.blob) {
    now.blob->bytes.append(bytes);
    now.blob->charge.set(now.blob->bytes.size());
    now.blob_size = now.blob->bytes.size();
    return;
  }
  if (view().size() + bytes.size() >= shared_value_bytes) return become_blob(view(), bytes);
  now.small.append(bytes);
  charge_.set(now.small.size());
}

void Value::share() {
  constexpr std::size_t least_bytes = 512;
  if (!content_.blob && content_.small.size() >= least_bytes) become_blob(content_.small, {});
}

void Value::become_blob(std::string_view first, std::string_view second) {
  auto blob = std::make_shared<Blob>(charge_.ledger(), first);
  blob->bytes.append(second);
  blob->charge.set(blob->bytes.size());
  const std::size_t size = blob->bytes.size();
  content_ = {{}, std::move(blob), size};
  charge_.set(0);
}

void Output::put_value(const Content& value) {
  if (!value.blob) return put_counted(value.small);
  put_integer<std::uint64_t>(value.view().size());
  shared_.push_back({text_.size(), value.blob, value.blob_size});
  size_ += value.view().size();
}

void Output::put(const Output& message) {
  for (const Shared& shared : message.shared_) {
    shared_.push_back({text_.size() + shared.position, shared.blob, shared.size});
  }
  text_.append(message.text_);
  size_ += message.size_;
}

void Output::share() {
  constexpr std::size_t least_bytes = 256;
  if (!shared_.empty() || text_.size() < least_bytes) return;
  shared_.push_back({0, std::make_shared<Blob>(charge_.ledger(), text_), text_.size()});
  text_.clear();
}

std::size_t Output::gather(std::span<iovec> pieces, std::size_t limit_bytes) const {
  std::size_t count = 0;
  std::size_t text_at = text_sent_;
  std::size_t shared_at = shared_sent_;
  std::size_t blob_at = blob_sent_;
  while (count < pieces.size() && limit_bytes > 0) {
    const bool more_shared = shared_at < shared_.size();
    const std::size_t text_end = more_shared ? shared_[shared_at].position : text_.size();
    const char* start = nullptr;
    std::size_t length = 0;
    if (text_at < text_end) {
      start = text_.data() + text_at;
      length = std::min(text_end - text_at, limit_bytes);
      text_at += length;
    } else if (more_shared) {
      const Shared& shared = shared_[shared_at];
      start = shared.blob->bytes.data() + blob_at;
      length = std::min(shared.size - blob_at, limit_bytes);
      blob_at += length;
      if (blob_at == shared.size) ++shared_at, blob_at = 0;
    } else {
      break;
    }
    limit_bytes -= length;
    pieces[count++] = {const_cast<char*>(start), length};
  }
  return count;
}

void Output::consume(std::size_t bytes) {
  size_ -= bytes;
  if (size_ == 0) return clear();
  while (bytes > 0) {
    const bool more_shared = shared_sent_ < shared_.size();
    const std::size_t text_end = more_shared ? shared_[shared_sent_].position : text_.size();
    if (text_sent_ < text_end) {
      const std::size_t step = std::min(text_end - text_sent_, bytes);
      text_sent_ += step;
      bytes -= step;
      continue;
    }
    Shared& shared = shared_[shared_sent_];
    const std::size_t step = std::min(shared.size - blob_sent_, bytes);
    blob_sent_ += step;
    bytes -= step;
    if (blob_sent_ < shared.size) continue;
    shared.blob.reset();
    ++shared_sent_;
    blob_sent_ = 0;
  }
}

bool Output::shrink() {
  text_.shrink_to_fit();
  return charge();
}

void Output::clear() {
  // A large buffer is not kept, because only a single reply needed it.
  constexpr std::size_t kept_bytes = 256u << 10;
  if (text_.capacity() > kept_bytes) text_ = {};
  text_.clear();
  shared_.clear();
  size_ = text_sent_ = shared_sent_ = blob_sent_ = 0;
  charge_.set(0);
}

}  // namespace toprun::store
