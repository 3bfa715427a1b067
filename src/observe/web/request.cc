#include "observe/web/request.h"

#include <sodium.h>

#include <algorithm>

#include "base/net/address.h"
#include "base/text/text.h"

namespace toprun::web {
namespace {

constexpr std::string_view scheme = "bearer ";

// "host" of "host:80", "::1" of "[::1]:80"; empty: it is neither.
std::string_view host_of(std::string_view field) {
  if (field.starts_with('[')) {
    const auto end = field.find(']');
    if (end == field.npos) return {};
    const std::string_view behind = field.substr(end + 1);
    return behind.empty() || behind.starts_with(':') ? field.substr(1, end - 1)
                                                     : std::string_view();
  }
  return field.substr(0, field.find(':'));
}

}  // namespace

bool is_known_host(std::string_view field, std::span<const std::string> names) {
  const std::string host = lower(host_of(field));
  if (host.empty()) return false;
  if (host == "localhost" || hosts::Address::parse(host)) return true;
  return std::ranges::any_of(names, [&](const std::string& name) { return lower(name) == host; });
}

bool has_token(std::string_view field, std::string_view token) {
  if (lower(field.substr(0, scheme.size())) != scheme) return false;
  field.remove_prefix(scheme.size());
  return field.size() == token.size() && !token.empty() &&
         ::sodium_memcmp(field.data(), token.data(), token.size()) == 0;
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

}  // namespace toprun::web
