#include "store/memory.h"

namespace toprun::store {

void Value::assign(std::string_view bytes) {
  blob_.reset();
  if (bytes.size() >= shared_value_bytes) {
    become_blob(bytes, {});
    return;
  }
  small_.assign(bytes);
  charge_.set(small_.size());
}

void Value::append(std::string_view bytes) {
  if (blob_ && blob_.use_count() == 1) {
    blob_->bytes.append(bytes);
    blob_->charge.set(blob_->bytes.size());
    return;
  }
  if (view().size() + bytes.size() >= shared_value_bytes) {
    const std::shared_ptr<Blob> shared_with_replies = blob_;
    become_blob(view(), bytes);
    return;
  }
  small_.append(bytes);
  charge_.set(small_.size());
}

void Value::become_blob(std::string_view first, std::string_view second) {
  auto blob = std::make_shared<Blob>(charge_.ledger(), first);
  blob->bytes.append(second);
  blob->charge.set(blob->bytes.size());
  blob_ = std::move(blob);
  small_ = {};
  charge_.set(0);
}

}  // namespace toprun::store
