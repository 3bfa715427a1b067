#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace toprun {

// An optional value that most objects lack: it takes two pointers, whatever the size of the value.
// Copies share the value, which is immutable.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  Rare(std::optional<T> value) {
    if (value) value_ = std::make_shared<const T>(*std::move(value));
  }

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace toprun
