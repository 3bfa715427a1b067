#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace toprun {

// A part of a text: from `begin` on, up to `end`.
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextPart&) const = default;
};

// The secrets in a text that show by their form, in order and without overlaps. Pure. The forms are
// those that issuers document, and what RFC 3986 (user information), RFC 7468 (private keys), RFC
// 7519 (JWT) and RFC 6750 (Bearer) describe.
std::vector<TextPart> secret_forms_in(std::string_view text);

// Whether some run of letters and digits in the text is long and without any pattern that people
// give to names: base64, hexadecimal and the like. A path and a digest with its name ("sha256:…")
// are none.
bool looks_random(std::string_view text);

// Whether `name` of "name=value" gives a secret by itself: password, client_secret, api-key.
bool names_a_secret(std::string_view name);

// Whether a value that is given beside a secret's name is one, and not the place of one: $HF_TOKEN,
// a file's path, none.
bool is_given_here(std::string_view value);

}  // namespace toprun
