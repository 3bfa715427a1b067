#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace toprun {

// The part of a text from `begin` up to, not including, `end`.
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextPart&) const = default;
};

// Returns the parts of a text that look like secrets, in order and without overlaps. Pure. The
// forms are those in issuers' documentation and in RFC 3986 (user information), RFC 7468 (private
// keys), RFC 7519 (JWT) and RFC 6750 (Bearer).
std::vector<TextPart> secret_forms_in(std::string_view text);

// Whether the text contains a long run of random letters and digits: base64, hexadecimal and the
// like. Names that people choose do not count, nor do paths or digests with the name of the
// algorithm ("sha256:…").
bool looks_random(std::string_view text);

// Whether `name` in "name=value" shows that the value is a secret: password, client_secret,
// api-key.
bool names_a_secret(std::string_view name);

// Whether VALUE in text such as "--hf-token VALUE" is itself the secret. A reference such as
// $HF_TOKEN is not a secret, nor is a file's path or a word such as "none".
bool is_given_here(std::string_view value);

}  // namespace toprun
