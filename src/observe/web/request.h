#pragma once

#include <span>
#include <string>
#include <string_view>

// Access control: pure functions of a request's fields.
namespace toprun::web {

// Whether a Host field names this server: by an address, as localhost, or by one of these names.
// The port may be any, because a tunnel has its own. A foreign page may make another name resolve
// to this address (DNS rebinding).
bool is_known_host(std::string_view field, std::span<const std::string> names);

// Whether an Authorization field is "Bearer TOKEN". The time does not depend on the content of a
// wrong token with that length.
bool has_token(std::string_view field, std::string_view token);

// The path in a request's target: "/metrics" in "/metrics?x=1".
std::string_view path_of(std::string_view target);

}  // namespace toprun::web
