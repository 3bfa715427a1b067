#include <algorithm>

#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "engines/login/login.h"

namespace toprun::engines {
namespace {

// Of OpenSSH 9. The first match counts; ssh's own line counts from these words on.
constexpr KnownTrouble ssh_troubles[] = {
    {"remote host identification has changed", "its host key has changed",
     "if the new key is right, remove the old key: ssh-keygen -R HOST"},
    {"host key is known for", "its host key is not known",
     "log in once by hand and confirm the key: ssh HOST"},
    {"host key verification failed", "its host key could not be verified",
     "log in once by hand: ssh HOST"},
    {"could not resolve hostname", "no such name",
     "check the name's spelling, DNS and ~/.ssh/config"},
    {"connection timed out", "", "is the host up, and its sshd reachable?"},
    {"operation timed out", "", "is the host up, and its sshd reachable?"},
    {"timed out during banner exchange", "no answer in time", "is the host overloaded?"},
    {"connection refused", "", "is an sshd running there?"},
    {"no route to host", "", "is the host up?"},
    {"network is unreachable", "", "is this host connected to that network?"},
    {"too many authentication failures", "", "name the one key to use in ~/.ssh/config"},
    {"kex_exchange_identification", "", "its sshd may have turned the login away (MaxStartups)"},
    {"connection reset by", "connection reset", "see sshd's log on HOST"},
    {"connection closed by", "connection closed", "see sshd's log on HOST"},
};

std::string_view line_at(std::string_view text, std::size_t at) {
  return trim(text.substr(at, text.find_first_of("\r\n", at) - at));
}

// "root@n1: Permission denied (publickey,password)."
std::optional<LoginTrouble> denied(std::string_view said) {
  constexpr std::string_view words = "Permission denied (";
  const std::size_t at = said.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view why = line_at(said, at);
  if (why.ends_with('.')) why.remove_suffix(1);
  const bool wants_password = why.find("password") != std::string_view::npos ||
                              why.find("keyboard-interactive") != std::string_view::npos;
  return LoginTrouble{
      lower(why), wants_password ? "no password is asked for here: set up a key (ssh-copy-id HOST)"
                                 : "check user and key: `ssh HOST true` has to work"};
}

}  // namespace

LoginTrouble ssh_trouble(std::string_view said) {
  if (auto found = denied(said)) return *found;
  const std::string searched = lower(said);
  for (const KnownTrouble& known : ssh_troubles) {
    const std::size_t at = searched.find(known.words);
    if (at == std::string::npos) continue;
    const std::string_view own = line_at(searched, at);
    return {std::string(known.why.empty() ? own : known.why), std::string(known.fix)};
  }
  const std::string last = last_words(said);
  if (last.empty()) return {"ssh ended without a message", "try `ssh HOST true`"};
  return {last, "try `ssh HOST true`"};
}

}  // namespace toprun::engines
