#include "base/os/signals.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun {
namespace {

struct Alias {
  std::string_view name;
  int signal;
};
// Alternative names that sigabbrev_np(3) does not know.
constexpr std::array aliases = {Alias{"cld", SIGCHLD}, Alias{"io", SIGIO}, Alias{"iot", SIGIOT}};

// "term"; empty if the signal has no name.
std::string short_name(int signal) {
  if (signal == SIGRTMIN) return "rtmin";
  if (signal == SIGRTMAX) return "rtmax";
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? std::string() : lower(name);
}

}  // namespace

std::optional<int> parse_signal(std::string_view name) {
  std::string requested = lower(name);
  if (requested.starts_with("sig")) requested.erase(0, 3);
  if (requested.empty()) return std::nullopt;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (short_name(signal) == requested) return signal;
  }
  const auto alias = std::ranges::find(aliases, requested, &Alias::name);
  if (alias == aliases.end()) return std::nullopt;
  return alias->signal;
}

std::string signal_name(int signal) {
  std::string name = short_name(signal);
  if (name.empty()) return fmt::format("signal {}", signal);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return "SIG" + name;
}

}  // namespace toprun
