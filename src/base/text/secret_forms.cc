#include "base/text/secret_forms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/text/text.h"

namespace toprun {
namespace {

constexpr std::string_view::size_type none = std::string_view::npos;
constexpr std::size_t fewest_random = 20;  // letters and digits; 100 bits of base64
constexpr std::size_t fewest_hexadecimal = 32;
constexpr std::size_t longest_value = 8192;  // a JWT with its claims
constexpr std::size_t longest_name = 128;    // of a user, a variable
constexpr std::size_t fewest_of_a_parameter = 8;
constexpr std::size_t fewest_of_a_credential = 16;

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_alnum(char c) {
  return is_decimal(c) || is_lower(c) || is_upper(c);
}
bool is_word(char c) {
  return is_alnum(c) || c == '_' || c == '-';
}
bool is_credential(char c) {
  return is_word(c) || c == '.' || c == '+' || c == '/' || c == '=' || c == '~';
}
bool ends_a_word(char c) {
  return c <= ' ' || c == '"' || c == '\'' || c == '`' || c == ',' || c == ';' || c == '<' ||
         c == '>' || c == ')' || c == '}';
}

// Where a run that begins at `at` ends, or where it has become longer than anything that is meant:
// else a text of beginnings alone would be read once from each.
template <class Is>
std::size_t run_end(std::string_view text, std::size_t at, Is is,
                    std::size_t longest = longest_value) {
  const std::size_t last = std::min(text.size(), at + longest);
  while (at < last && is(text[at])) ++at;
  return at;
}
std::size_t word_end(std::string_view text, std::size_t at) {
  return run_end(text, at, [](char c) { return !ends_a_word(c); });
}

// What issuers put in front of their tokens, and how much follows at least.
struct Prefix {
  std::string_view text;
  std::size_t least;
  bool (*is)(char) = is_alnum;
};
constexpr std::array prefixes = {
    // Hugging Face, GitHub, GitLab
    Prefix{"hf_", 20},
    Prefix{"api_org_", 20},
    Prefix{"ghp_", 20},
    Prefix{"gho_", 20},
    Prefix{"ghu_", 20},
    Prefix{"ghs_", 20},
    Prefix{"ghr_", 20},
    Prefix{"github_pat_", 20, is_word},
    Prefix{"glpat-", 15, is_word},
    Prefix{"gldt-", 15, is_word},
    Prefix{"glrt-", 15, is_word},
    // Slack, Google, NVIDIA, Weights & Biases
    Prefix{"xoxb-", 10, is_word},
    Prefix{"xoxp-", 10, is_word},
    Prefix{"xoxa-", 10, is_word},
    Prefix{"xoxe-", 10, is_word},
    Prefix{"xoxs-", 10, is_word},
    Prefix{"xapp-", 10, is_word},
    Prefix{"AIza", 30, is_word},
    Prefix{"ya29.", 20, is_word},
    Prefix{"GOCSPX-", 20, is_word},
    Prefix{"nvapi-", 30, is_word},
    Prefix{"wandb_v1_", 20, is_word},
    // Anthropic, Stripe, npm, PyPI, Docker, DigitalOcean, Shopify, Replicate, Groq, xAI and others
    Prefix{"sk-ant-", 20, is_word},
    Prefix{"sk-proj-", 20, is_word},
    Prefix{"sk_live_", 16},
    Prefix{"sk_test_", 16},
    Prefix{"rk_live_", 16},
    Prefix{"whsec_", 20},
    Prefix{"npm_", 30},
    Prefix{"pypi-", 30, is_word},
    Prefix{"dckr_pat_", 20, is_word},
    Prefix{"dop_v1_", 30},
    Prefix{"shpat_", 30},
    Prefix{"r8_", 30},
    Prefix{"gsk_", 30},
    Prefix{"xai-", 30},
    Prefix{"lin_api_", 30},
    Prefix{"tskey-", 20, is_word},
    Prefix{"hvs.", 20, is_word},
    Prefix{"AGE-SECRET-KEY-1", 40},
    Prefix{"ATATT3", 20, is_word},
    Prefix{"dapi", 32},
};

std::optional<TextPart> prefixed_token(std::string_view text, std::size_t at) {
  for (const Prefix& prefix : prefixes) {
    if (!text.substr(at).starts_with(prefix.text)) continue;
    const std::size_t begin = at + prefix.text.size();
    const std::size_t end = run_end(text, begin, prefix.is);
    if (end - begin >= prefix.least) return TextPart{at, end};
  }
  return std::nullopt;
}

// OpenAI's older keys: sk- and a run of letters and digits. "sk-learn-…" has no such run.
std::optional<TextPart> openai_key(std::string_view text, std::size_t at) {
  constexpr std::string_view prefix = "sk-";
  if (!text.substr(at).starts_with(prefix)) return std::nullopt;
  const std::size_t begin = at + prefix.size();
  const std::size_t end = run_end(text, begin, is_alnum);
  const std::string_view run = text.substr(begin, end - begin);
  const bool mixed = std::ranges::any_of(run, is_decimal) && !std::ranges::all_of(run, is_decimal);
  return run.size() >= fewest_random && mixed ? std::optional(TextPart{at, end}) : std::nullopt;
}

// Ids of AWS' keys: four letters that say what it is, and 16 of A-Z, 2-7 (and 0-9 in newer ones).
std::optional<TextPart> aws_key(std::string_view text, std::size_t at) {
  constexpr std::size_t length = 20;
  constexpr std::array<std::string_view, 5> kinds = {"AKIA", "ASIA", "ABIA", "ACCA", "AROA"};
  const std::string_view rest = text.substr(at);
  if (std::ranges::none_of(kinds, [&](auto kind) { return rest.starts_with(kind); })) {
    return std::nullopt;
  }
  const std::size_t end = run_end(text, at, [](char c) { return is_upper(c) || is_decimal(c); });
  const bool ends = end == text.size() || !is_word(text[end]);
  return end - at == length && ends ? std::optional(TextPart{at, end}) : std::nullopt;
}

// Three parts of base64url with dots between; the first is JSON, and so begins with eyJ.
std::optional<TextPart> jwt(std::string_view text, std::size_t at) {
  constexpr std::size_t least = 8;
  if (!text.substr(at).starts_with("eyJ")) return std::nullopt;
  std::size_t end = at;
  for (int part = 0; part < 3; ++part) {
    if (part > 0 && (end >= text.size() || text[end] != '.')) return std::nullopt;
    const std::size_t begin = part > 0 ? end + 1 : end;
    end = run_end(text, begin, is_word);
    if (end - begin < least && part < 2) return std::nullopt;
  }
  return TextPart{at, end};
}

std::optional<TextPart> private_key(std::string_view text, std::size_t at) {
  constexpr std::string_view begin = "-----BEGIN ";
  constexpr std::string_view dashes = "-----";
  if (!text.substr(at).starts_with(begin)) return std::nullopt;
  const std::size_t label_end = text.find(dashes, at + begin.size());
  const std::string_view label = text.substr(at, std::min(label_end, text.size()) - at);
  if (!label.contains("PRIVATE KEY")) return std::nullopt;
  const std::size_t last = text.find("-----END ", at);
  if (last == none) return TextPart{at, text.size()};
  const std::size_t end = text.find(dashes, last + dashes.size());
  return TextPart{at, end == none ? text.size() : end + dashes.size()};
}

// "Authorization: Bearer …", "Basic …".
std::optional<TextPart> authorization(std::string_view text, std::size_t at) {
  for (const std::string_view scheme : {"Bearer ", "bearer ", "Basic "}) {
    if (!text.substr(at).starts_with(scheme)) continue;
    const std::size_t begin = at + scheme.size();
    const std::size_t end = run_end(text, begin, is_credential);
    const std::string_view token = text.substr(begin, end - begin);
    if (token.size() >= fewest_of_a_credential && std::ranges::any_of(token, is_decimal)) {
      return TextPart{begin, end};
    }
  }
  return std::nullopt;
}

// Addresses that each are a right to write to a channel.
std::optional<TextPart> webhook(std::string_view text, std::size_t at) {
  for (const std::string_view place :
       {"hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
        "outlook.office.com/webhook/", "webhook.office.com/", "chat.googleapis.com/v1/spaces/",
        "oapi.dingtalk.com/robot/send", "open.feishu.cn/open-apis/bot/"}) {
    if (!text.substr(at).starts_with(place)) continue;
    const std::size_t begin = at + place.size();
    const std::size_t end = word_end(text, begin);
    if (end > begin) return TextPart{begin, end};
  }
  return std::nullopt;
}

// The user information of scheme://USER:PASSWORD@HOST. Without a password that of http(s) too,
// where it is a token; "git" of ssh://git@host is none.
std::optional<TextPart> user_of_url(std::string_view text, std::size_t at) {
  constexpr std::string_view mark = "://";
  if (!text.substr(at).starts_with(mark)) return std::nullopt;
  const std::size_t begin = at + mark.size();
  const std::size_t end = run_end(
      text, begin, [](char c) { return !ends_a_word(c) && c != '/' && c != '?' && c != '#'; });
  const std::size_t at_sign = text.substr(begin, end - begin).rfind('@');
  if (at_sign == none || at_sign == 0) return std::nullopt;
  const std::string_view user = text.substr(begin, at_sign);
  const bool is_http =
      text.substr(0, at).ends_with("http") || text.substr(0, at).ends_with("https");
  const std::size_t colon = user.find(':');
  const bool has_password = colon != none && is_given_here(user.substr(colon + 1));
  const bool is_token = colon == none && is_http && is_given_here(user);
  return has_password || is_token ? std::optional(TextPart{begin, begin + at_sign}) : std::nullopt;
}

// USER:PASSWORD@HOST, at a word's beginning. The host tells it from Slurm's B:USR2@120 and an
// image's NAME:TAG@sha256:….
std::optional<TextPart> user_before_host(std::string_view text, std::size_t at) {
  const auto is_part = [](char c) { return !ends_a_word(c) && c != ':' && c != '@' && c != '/'; };
  const std::size_t colon = run_end(text, at, is_part, longest_name);
  if (colon == at || colon >= text.size() || text[colon] != ':') return std::nullopt;
  const std::string_view user = text.substr(at, colon - at);
  if (user == "mailto" || user == "sip" || user == "acct") return std::nullopt;
  const std::size_t end = run_end(
      text, colon + 1, [](char c) { return !ends_a_word(c) && c != '@' && c != '/'; },
      longest_name);
  if (end == colon + 1 || end >= text.size() || text[end] != '@') return std::nullopt;
  const std::string_view host = text.substr(end + 1, word_end(text, end + 1) - end - 1);
  if (host.empty() || host.starts_with("sha256:") || host.starts_with("sha512:")) {
    return std::nullopt;
  }
  const bool is_host = is_lower(host[0]) || is_upper(host[0]) || host[0] == '[' ||
                       (is_decimal(host[0]) && host.contains('.'));
  if (!is_host || !is_given_here(text.substr(colon + 1, end - colon - 1))) return std::nullopt;
  return TextPart{at, end};
}

// ?sig=…&token=…: a signature or a token in an address.
std::optional<TextPart> parameter(std::string_view text, std::size_t at) {
  if (text[at] != '?' && text[at] != '&') return std::nullopt;
  const std::size_t equals = run_end(text, at + 1, is_word, longest_name);
  if (equals >= text.size() || text[equals] != '=') return std::nullopt;
  constexpr std::array<std::string_view, 7> signs = {"sig",
                                                     "signature",
                                                     "token",
                                                     "key",
                                                     "x-amz-signature",
                                                     "x-goog-signature",
                                                     "x-amz-security-token"};
  const std::string name = lower(text.substr(at + 1, equals - at - 1));
  if (std::ranges::find(signs, name) == signs.end() && !names_a_secret(name)) return std::nullopt;
  const std::size_t end =
      run_end(text, equals + 1, [](char c) { return !ends_a_word(c) && c != '&' && c != '#'; });
  const bool is_long = end - equals > fewest_of_a_parameter;
  return is_long ? std::optional(TextPart{equals + 1, end}) : std::nullopt;
}

// NAME=VALUE and "NAME": "VALUE" whose name says what the value is: a connection's password=…,
// Azure's AccountKey=….
std::optional<TextPart> assignment(std::string_view text, std::size_t at) {
  const std::size_t name_end = run_end(
      text, at, [](char c) { return is_word(c) || c == '.'; }, longest_name);
  if (name_end == at || name_end >= text.size() ||
      !names_a_secret(text.substr(at, name_end - at))) {
    return std::nullopt;
  }
  std::size_t begin = name_end;
  const bool quoted = text[begin] == '"' || text[begin] == '\'';
  if (quoted) ++begin;
  if (quoted) begin = run_end(text, begin, [](char c) { return c == ' '; });
  if (begin >= text.size() || (text[begin] != '=' && !(quoted && text[begin] == ':'))) {
    return std::nullopt;
  }
  begin = run_end(text, begin + 1, [](char c) { return c == ' ' || c == '"' || c == '\''; });
  const std::size_t end = word_end(text, begin);
  const bool given = end > begin && is_given_here(text.substr(begin, end - begin));
  return given ? std::optional(TextPart{begin, end}) : std::nullopt;
}

using Find = std::optional<TextPart> (*)(std::string_view text, std::size_t at);
// Those that begin at the beginning of a word, and those that may begin anywhere.
constexpr std::array<Find, 7> at_words = {prefixed_token, openai_key,       aws_key,   jwt,
                                          authorization,  user_before_host, assignment};
constexpr std::array<Find, 4> anywhere = {private_key, webhook, user_of_url, parameter};

std::optional<TextPart> form_at(std::string_view text, std::size_t at) {
  for (const Find find : anywhere) {
    if (const auto found = find(text, at)) return found;
  }
  if (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '_')) return std::nullopt;
  for (const Find find : at_words) {
    if (const auto found = find(text, at)) return found;
  }
  return std::nullopt;
}

// How often the kind of character changes in a run: of a random one in most places, of a name in
// few.
struct Mixture {
  std::size_t digits = 0;
  std::size_t letters = 0;
  std::size_t changes = 0;
};
int kind_of(char c) {
  if (is_decimal(c)) return 0;
  return is_lower(c) ? 1 : 2;
}
Mixture mixture_of(std::string_view run) {
  Mixture out;
  for (std::size_t i = 0; i < run.size(); ++i) {
    ++(is_decimal(run[i]) ? out.digits : out.letters);
    if (i > 0 && kind_of(run[i]) != kind_of(run[i - 1])) ++out.changes;
  }
  return out;
}

bool is_hexadecimal(std::string_view run) {
  const auto small = [](char c) { return is_decimal(c) || (c >= 'a' && c <= 'f'); };
  const auto large = [](char c) { return is_decimal(c) || (c >= 'A' && c <= 'F'); };
  return std::ranges::all_of(run, small) || std::ranges::all_of(run, large);
}

// Of random letters of both cases and digits every second neighbour is of another kind, of small
// letters and digits two in five. Of CamelCase a third are, of names with numbers a quarter.
bool changes_often(std::string_view text, const Mixture& mixture) {
  const bool has_capitals = std::ranges::any_of(text, is_upper);
  const std::size_t percent = has_capitals ? 35 : text.size() < fewest_hexadecimal ? 30 : 25;
  return mixture.changes * 100 >= text.size() * percent;
}

bool is_random_run(std::string_view run) {
  const Mixture mixture = mixture_of(run);
  if (is_hexadecimal(run)) {
    return run.size() >= fewest_hexadecimal && mixture.digits > 0 && mixture.letters > 0;
  }
  return run.size() >= fewest_random && mixture.digits > 0 && changes_often(run, mixture);
}

}  // namespace

std::vector<TextPart> secret_forms_in(std::string_view text) {
  std::vector<TextPart> found;
  for (std::size_t at = 0; at < text.size();) {
    const auto part = form_at(text, at);
    if (part) found.push_back(*part);
    at = part ? std::max(part->end, at + 1) : at + 1;
  }
  return found;
}

bool looks_random(std::string_view text) {
  const bool is_path = text.starts_with('/') && std::ranges::count(text, '/') > 1;
  if (is_path || text.contains("sha256:") || text.contains("sha512:")) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = run_end(text, at, is_alnum);
    if (is_random_run(text.substr(at, end - at))) return true;
    at = end + 1;
  }
  // Of base64 with its + and /, or base64url with its - and _, the runs are shorter. The digits and
  // changes of such a text are still many more than those of words with marks between.
  std::string letters;
  std::ranges::copy_if(text, std::back_inserter(letters), is_alnum);
  const bool is_one = std::ranges::all_of(text, is_credential) && !is_hexadecimal(letters) &&
                      text.size() >= fewest_hexadecimal;  // hexadecimal in groups is a UUID
  const std::size_t marks = text.size() - letters.size();
  constexpr std::size_t few = 8;  // a mark in every eighth place at most
  const Mixture mixture = mixture_of(letters);
  return is_one && marks * few <= text.size() && mixture.digits > 0 &&
         changes_often(letters, mixture);
}

bool names_a_secret(std::string_view name) {
  std::string plain;
  for (const char c : lower(name)) {
    if (is_alnum(c)) plain += c;
  }
  constexpr std::array<std::string_view, 14> parts = {
      "password",  "passwd",       "passphrase",  "secretkey",    "privatekey",
      "accesskey", "accountkey",   "apikey",      "clientsecret", "accesstoken",
      "authtoken", "refreshtoken", "bearertoken", "secretaccess"};
  const auto is_in = [&](std::string_view part) { return plain.ends_with(part); };
  return plain == "secret" || plain == "pwd" || std::ranges::any_of(parts, is_in);
}

bool is_given_here(std::string_view value) {
  constexpr std::array<std::string_view, 8> nothing = {"none", "null", "true", "false",
                                                       "",     "\"\"", "''",   "None"};
  if (std::ranges::find(nothing, value) != nothing.end()) return false;
  constexpr std::string_view place = "$<{/~*%.";
  return !place.contains(value.front()) && !value.starts_with("file:") &&
         !value.starts_with("env:");
}

}  // namespace toprun
