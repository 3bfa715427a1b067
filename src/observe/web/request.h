#pragma once

#include <span>
#include <string>
#include <string_view>

// What a request may ask: pure functions of a request's fields.
namespace toprun::web {

// Whether a Host field names this server by an address, as localhost, or by one of these names,
// with any port (a tunnel has its own). Another name may be one that a foreign page has made to
// point here (DNS rebinding).
bool is_known_host(std::string_view field, std::span<const std::string> names);

// Whether an Authorization field is "Bearer TOKEN". Takes as long for each wrong token of that
// length.
bool has_token(std::string_view field, std::string_view token);

// The path of a request's target: "/metrics" of "/metrics?x=1".
std::string_view path_of(std::string_view target);

}  // namespace toprun::web
