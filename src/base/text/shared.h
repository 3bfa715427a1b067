#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace toprun {

// A large value that is passed on more often than it is read. A Shared has the size of two
// pointers, whatever the size of the value. Copies share the value, which is immutable. A Shared
// must not be read after it was moved from.
template <class T>
class Shared {
 public:
  Shared() : value_(default_value()) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  operator const T&() const { return *value_; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  static const std::shared_ptr<const T>& default_value() {
    static const auto value = std::make_shared<const T>();
    return value;
  }

  std::shared_ptr<const T> value_;
};

// An optional value that is unset in most objects. Copies share the value, like copies of Shared.
template <class T>
class SharedOptional {
 public:
  SharedOptional() = default;
  SharedOptional(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  SharedOptional(std::optional<T> value) {
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
