#include "bench/gloo/gloo_store.h"

#include <stdexcept>

namespace toprun::libgloo {
namespace {

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().line());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace

void GlooStore::set(const std::string& key, const std::vector<char>& data) {
  or_throw(client_.set(prefix_ + key, std::string_view(data.data(), data.size())));
}

std::vector<char> GlooStore::get(const std::string& key) {
  wait({key}, kDefaultTimeout);
  const std::string value = or_throw(client_.get(prefix_ + key));
  return {value.begin(), value.end()};
}

void GlooStore::wait(const std::vector<std::string>& keys,
                     const std::chrono::milliseconds& timeout) {
  std::vector<std::string> full;
  for (const std::string& key : keys) full.push_back(prefix_ + key);
  const std::vector<std::string_view> views(full.begin(), full.end());
  if (!or_throw(client_.wait(views, timeout))) {
    throw std::runtime_error("not all ranks came within " + std::to_string(timeout.count() / 1000) +
                             " s");
  }
}

}  // namespace toprun::libgloo
