#include "base/text/secrets.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "base/text/secret_forms.h"
#include "base/text/text.h"

namespace toprun {
namespace {

// AWS_* that configure and give no access (AWS SDKs and Tools Reference Guide, settings).
constexpr std::array<std::string_view, 20> open_names_of_aws = {"AWS_REGION",
                                                                "AWS_DEFAULT_REGION",
                                                                "AWS_PROFILE",
                                                                "AWS_DEFAULT_PROFILE",
                                                                "AWS_DEFAULT_OUTPUT",
                                                                "AWS_CONFIG_FILE",
                                                                "AWS_SHARED_CREDENTIALS_FILE",
                                                                "AWS_WEB_IDENTITY_TOKEN_FILE",
                                                                "AWS_CA_BUNDLE",
                                                                "AWS_ENDPOINT_URL",
                                                                "AWS_ENDPOINT_URL_S3",
                                                                "AWS_MAX_ATTEMPTS",
                                                                "AWS_RETRY_MODE",
                                                                "AWS_ROLE_ARN",
                                                                "AWS_ROLE_SESSION_NAME",
                                                                "AWS_STS_REGIONAL_ENDPOINTS",
                                                                "AWS_SDK_LOAD_CONFIG",
                                                                "AWS_EC2_METADATA_DISABLED",
                                                                "AWS_USE_FIPS_ENDPOINT",
                                                                "AWS_USE_DUALSTACK_ENDPOINT"};

// In a name they say all, wherever they stand.
constexpr std::array<std::string_view, 6> secret_parts = {"SECRET",     "PASSWORD",   "PASSWD",
                                                          "PASSPHRASE", "CREDENTIAL", "WEBHOOK"};
// A word of a name that is one of these, or ends with the first two: HF_TOKEN, MYAPIKEY, DB_PASS.
constexpr std::array<std::string_view, 2> secret_ends = {"TOKEN", "KEY"};
// Words of English that only end as secrets do.
constexpr std::array<std::string_view, 6> plain_words = {"MONKEY", "DONKEY", "TURKEY",
                                                         "HOCKEY", "JOCKEY", "WHISKEY"};
constexpr std::array<std::string_view, 14> secret_words = {
    "PASS", "PAT", "JWT", "BEARER", "SAS", "PSK", "COOKIE", "AUTH",
    // Short names of passwords. As an end of a word PW would be in too many others (NUM_GPW, RPW).
    "PW", "MYPW", "DBPW", "PGPW", "USERPW", "ROOTPW"};
// A name that ends with one of these says where something is.
constexpr std::array<std::string_view, 7> places = {"FILE", "PATH", "DIR", "FOLDER",
                                                    "SOCK", "ARN",  "MODE"};
// A name with one of these has values that are random and known to all.
constexpr std::array<std::string_view, 18> digests = {
    "SHA", "SHA1", "SHA256", "COMMIT", "HASH", "DIGEST", "REVISION", "REV",   "CHECKSUM",
    "MD5", "UUID", "GUID",   "ID",     "ETAG", "TAG",    "VERSION",  "IMAGE", "BUILD"};

template <std::size_t Count>
bool is_among(const std::array<std::string_view, Count>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Its words in capitals: "dbPass" and "db-pass" are DBPASS and DB, PASS.
std::string capitals(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_letter = c >= 'a' && c <= 'z';
    out += is_letter ? static_cast<char>(c - 'a' + 'A') : c == '-' || c == '.' ? '_' : c;
  }
  return out;
}

bool is_secret_word(std::string_view word) {
  const auto ends = [&](std::string_view end) { return word.ends_with(end); };
  if (is_among(plain_words, word)) return false;
  return is_among(secret_words, word) || std::ranges::any_of(secret_ends, ends);
}

bool names_a_digest(std::string_view name) {
  const std::string whole = capitals(name);
  const auto parts = split(whole, '_');
  return std::ranges::any_of(parts, [](std::string_view part) { return is_among(digests, part); });
}

// "hf-token" of --hf-token; empty: the word is not an option.
std::string_view option_name(std::string_view word) {
  if (!word.starts_with('-')) return {};
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return word.substr(0, word.find('='));
}

// Beside a name that may be a secret's or a tokenizer's the value decides.
bool is_secret_beside(std::string_view name, std::string_view value) {
  if (name.empty() || !is_given_here(value)) return false;
  if (names_a_secret(name)) return true;
  return is_secret_name(name) && looks_random(value);
}

// NAME=VALUE in capitals is a variable's, whose name is enough.
bool is_secret_variable(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  const bool is_variable = capitals(name) == name && !name.contains(' ');
  const bool shows_by_form = !is_secret_name(name) && has_secret_form(value);  // that part alone
  return is_variable && !shows_by_form && is_given_here(value) && holds_a_secret(name, value);
}

// NAME=VALUE or --name=VALUE, also --export=ALL,NAME=VALUE.
bool is_secret_pair(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view value = word.substr(equals + 1);
  if (!word.starts_with('-')) {
    return is_secret_variable(word) || is_secret_beside(word.substr(0, equals), value);
  }
  return is_secret_beside(option_name(word), value) ||
         std::ranges::any_of(split(value, ','), is_secret_variable);
}

// Behind runai's option a word names a Secret and a key in it: "HF_TOKEN=tokens,key=hf". Where the
// value is can be read by all.
bool names_a_key(std::span<const std::string> words, std::size_t i) {
  return i > 0 && words[i - 1] == "--env-secret" && words[i].contains(",key=");
}

// Which of the words is to be hidden: all of it, or what secret_forms_in() finds in it.
enum class Hidden { no, value_of_pair, whole };

Hidden hidden_part(std::span<const std::string> words, std::size_t i) {
  if (names_a_key(words, i)) return Hidden::no;
  const bool is_value = i > 0 && !words[i - 1].contains('=') && !words[i].starts_with('-') &&
                        is_secret_beside(option_name(words[i - 1]), words[i]);
  if (is_value) return Hidden::whole;
  return is_secret_pair(words[i]) ? Hidden::value_of_pair : Hidden::no;
}

// Names the word whose form shows that it contains a secret.
std::string place_of_secret(std::span<const std::string> words, std::size_t i) {
  std::string shown = without_secrets(words[i]);
  if (shown != hidden_secret || i == 0) return shown;
  const std::string before = without_secrets(words[i - 1]);
  const bool is_option = before.starts_with('-') && !before.contains('=');
  return is_option ? before + " " + shown : shown + " after " + before;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::string whole = capitals(name);
  const auto parts = split(whole, '_');
  if (is_among(places, parts.back()) && parts.size() > 1) return false;
  if (whole == "TOPRUN_NOTIFY")
    return true;  // anyone who knows a webhook's address may write to it
  if (whole.starts_with("AWS_")) return !is_among(open_names_of_aws, whole);
  const auto is_in = [&](std::string_view part) { return whole.contains(part); };
  if (std::ranges::any_of(secret_parts, is_in) || whole.ends_with("_PWD")) {
    return whole != "OLD_PWD";
  }
  // NUM_PW counts something.
  constexpr std::array<std::string_view, 3> counts = {"NUM", "N", "MAX"};
  if (parts.back() == "PW" && parts.size() > 1 && is_among(counts, parts[parts.size() - 2])) {
    return false;
  }
  return std::ranges::any_of(parts, is_secret_word);
}

bool has_secret_form(std::string_view text) {
  return !secret_forms_in(text).empty();
}

bool holds_a_secret(std::string_view name, std::string_view value) {
  if (value.empty()) return false;
  if (is_secret_name(name) || has_secret_form(value)) return true;
  return !names_a_digest(name) && looks_random(value);
}

std::optional<std::string> word_with_secret(std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Hidden hidden = hidden_part(words, i);
    if (hidden == Hidden::whole) return words[i - 1];
    if (hidden == Hidden::value_of_pair) return words[i].substr(0, words[i].find('='));
    if (has_secret_form(words[i])) return place_of_secret(words, i);
  }
  return std::nullopt;
}

std::vector<std::string> without_secrets(std::span<const std::string> words) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Hidden hidden = hidden_part(words, i);
    if (hidden == Hidden::no) {
      out.push_back(without_secrets(words[i]));
      continue;
    }
    const std::size_t kept = hidden == Hidden::whole ? 0 : words[i].find('=') + 1;
    out.push_back(words[i].substr(0, kept) + std::string(hidden_secret));
  }
  return out;
}

std::string without_secrets(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  for (const TextPart& part : secret_forms_in(text)) {
    out += text.substr(at, part.begin - at);
    out += hidden_secret;
    at = part.end;
  }
  return out += text.substr(at);
}

std::string line_without_secrets(std::string_view line) {
  std::string text = without_secrets(line);
  const bool names_some = text.contains('=') || text.starts_with('-') || text.contains(" -");
  if (!names_some) return text;
  const auto parts = words(text);
  const std::vector<std::string> plain(parts.begin(), parts.end());
  const auto hidden = without_secrets(std::span(plain));
  std::string out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto begin = static_cast<std::size_t>(parts[i].data() - text.data());
    out.append(text, at, begin - at).append(hidden[i]);
    at = begin + parts[i].size();
  }
  return out.append(text, at);
}

std::string shown_command(std::span<const std::string> argv) {
  return shell_quote(without_secrets(argv));
}

void leave_no_core_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &limit);
}

}  // namespace toprun
