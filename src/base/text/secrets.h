#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// Only the functions in this header decide which texts are secrets. All code that writes a
// manifest, a job script, a command line, a message or a report uses these functions.

// The text that replaces a secret.
inline constexpr std::string_view hidden_secret = "<secret>";

// Whether a variable with this name contains a secret, whatever its value. Examples are HF_TOKEN,
// DB_PASSWORD, and all of AWS_* except names that are known to be harmless. Case does not matter.
bool is_secret_name(std::string_view name);

// Whether the text contains a secret that can be recognised by its form alone. Examples: a token
// with its issuer's prefix (hf_…, ghp_…, AKIA…), a JWT, a private key, user:password@host, the
// address of a webhook.
bool has_secret_form(std::string_view text);

// Whether a variable's value must not be shown. The reason may be the variable's name or the
// value's form. A long random value counts too, unless the name says that it is a digest or an id.
bool holds_a_secret(std::string_view name, std::string_view value);

// Returns the first word of a command line that contains a secret or is followed by a secret:
// "--hf-token" in "--hf-token hf_…". nullopt: there is no such word. A name such as --pad-token
// does not count, nor does a reference such as $HF_TOKEN.
std::optional<std::string> word_with_secret(std::span<const std::string> words);

// Returns the words for people, with <secret> instead of each word or part of a word that
// word_with_secret() finds.
std::vector<std::string> without_secrets(std::span<const std::string> words);

// Replaces the secrets in one text.
std::string without_secrets(std::string_view text);
// Replaces the secrets in a line that a program printed, including values after a secret's name, as
// in HF_TOKEN=….
std::string line_without_secrets(std::string_view line);

// Returns a command for people: quoted for a shell, without secrets.
std::string shown_command(std::span<const std::string> argv);

// Switches off core files for this process and its children, because a core file would contain the
// job's secret. A child process that sets another limit for its core files may still write one.
void leave_no_core_file();

}  // namespace toprun
