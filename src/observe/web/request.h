#pragma once

#include <span>
#include <string>
#include <string_view>

// Access control: pure functions whose input is a request's header fields.
namespace toprun::web {

// Whether a Host field names this server: it contains an IP address, "localhost", or one of
// `names`. Every port is accepted, because a tunnel has its own port. Other names are refused,
// because a foreign page may make its own name resolve to this server's address (DNS rebinding).
bool is_known_host(std::string_view field, std::span<const std::string> names);

// Whether an Authorization field is "Bearer TOKEN". For a wrong token of the same length, the time
// does not depend on its content.
bool has_token(std::string_view field, std::string_view token);

// The path in a request's target: "/metrics" in "/metrics?x=1".
std::string_view path_of(std::string_view target);

}  // namespace toprun::web
