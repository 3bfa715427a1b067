#include "node/store/memory.h"

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
  if (now.blob && now.blob.use_count() == 1) {
    now.blob->bytes.append(bytes);
    now.blob->charge.set(now.blob->bytes.size());
    return;
  }
  if (view().size() + bytes.size() >= shared_value_bytes) {
    const std::shared_ptr<Blob> shared_with_replies = now.blob;
    become_blob(view(), bytes);
    return;
  }
  now.small.append(bytes);
  charge_.set(now.small.size());
}

void Value::become_blob(std::string_view first, std::string_view second) {
  auto blob = std::make_shared<Blob>(charge_.ledger(), first);
  blob->bytes.append(second);
  blob->charge.set(blob->bytes.size());
  content_ = {{}, std::move(blob)};
  charge_.set(0);
}

}  // namespace toprun::store
