#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// The one place that decides what a secret is. Whatever writes a manifest, a job script, a command
// line of another program, a line for people or a report asks here.

// What stands instead of a secret.
inline constexpr std::string_view hidden_secret = "<secret>";

// Whether a variable of this name holds a secret, whatever its value: HF_TOKEN, DB_PASSWORD, all of
// AWS_* but for names that are known to hold none. Capital and small letters are alike.
bool is_secret_name(std::string_view name);

// Whether the text has a secret in it that shows by its form alone: a token with its issuer's
// prefix (hf_…, ghp_…, AKIA…), a JWT, a private key, user:password@host, the address of a webhook.
bool has_secret_form(std::string_view text);

// Whether a variable's value must not be shown: by its name, by its form, or because it is long and
// random and the name does not say that it is a digest or an id.
bool holds_a_secret(std::string_view name, std::string_view value);

// The first of these words of a command line that gives a secret, or the one before it that names
// it: "--hf-token" of "--hf-token hf_…". nullopt: none does. A name such as --pad-token is not
// enough, nor is a reference such as $HF_TOKEN.
std::optional<std::string> word_with_secret(std::span<const std::string> words);

// The words with <secret> instead of what word_with_secret() finds; for people.
std::vector<std::string> without_secrets(std::span<const std::string> words);

// The same of one text.
std::string without_secrets(std::string_view text);
// The same of a line that a program printed: also what its words give by name, as in HF_TOKEN=….
std::string line_without_secrets(std::string_view line);

// A command for people: its words as a shell takes them, without secrets.
std::string shown_command(std::span<const std::string> argv);

// From now on this process leaves no core file, which would hold the job's secret. A child inherits
// that, unless it gets other limits.
void leave_no_core_file();

}  // namespace toprun
