#include "node/link/preamble.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/text.h"

namespace toprun::link {
namespace {

constexpr std::pair<Role, std::string_view> role_names[] = {{Role::root, "root"},
                                                            {Role::member, "member"},
                                                            {Role::agent, "agent"},
                                                            {Role::probe, "probe"},
                                                            {Role::stage, "stage"}};

constexpr std::pair<Turned, std::string_view> turned_names[] = {{Turned::version, "version"},
                                                                {Turned::job, "job"},
                                                                {Turned::secret, "secret"},
                                                                {Turned::not_root, "not-root"},
                                                                {Turned::busy, "busy"}};

template <class Enum, std::size_t N>
std::string_view name_of(Enum value, const std::pair<Enum, std::string_view> (&names)[N]) {
  return std::ranges::find(names, value, &std::pair<Enum, std::string_view>::first)->second;
}

template <class Enum, std::size_t N>
std::optional<Enum> by_name(std::string_view name,
                            const std::pair<Enum, std::string_view> (&names)[N]) {
  const auto* found = std::ranges::find(names, name, &std::pair<Enum, std::string_view>::second);
  if (found == std::end(names)) return std::nullopt;
  return found->first;
}

// An agent of another version may have a longer name; it is to hear that its version is refused.
constexpr std::size_t most_agent_digits = 32;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_agent(std::string_view text) {
  return !text.empty() && text.size() <= most_agent_digits && is_hex(text);
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= max_version_bytes && is_printable(text);
}

std::string hex(const unsigned char* bytes, std::size_t size) {
  std::string text(size * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes, size);
  text.pop_back();
  return text;
}

}  // namespace

std::string Preamble::line() const {
  return fmt::format("{} {} {} {} {} {} {}\n", protocol, version, name_of(role, role_names), job,
                     agent, random, proof);
}

std::optional<Preamble> Preamble::parse(std::string_view line) {
  if (line.size() > max_line_bytes || !is_printable(line)) return std::nullopt;
  const std::vector<std::string_view> fields = split(line, ' ');
  if (fields.size() != 7 || fields[0] != protocol) return std::nullopt;
  const auto role = by_name(fields[2], role_names);
  if (!role || !is_version(fields[1]) || fields[3].empty() || fields[6].empty()) {
    return std::nullopt;
  }
  if (!is_agent(fields[4]) || fields[5].size() != 64 || !is_hex(fields[5])) return std::nullopt;
  return Preamble{std::string(fields[1]), *role,
                  std::string(fields[3]), std::string(fields[4]),
                  std::string(fields[5]), std::string(fields[6])};
}

std::string TurnedAway::line() const {
  return fmt::format("{} refused {} {}\n", protocol, name_of(why, turned_names), version);
}

std::optional<TurnedAway> TurnedAway::parse(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, ' ');
  if (fields.size() != 4 || fields[0] != protocol || fields[1] != "refused") return std::nullopt;
  const auto why = by_name(fields[2], turned_names);
  if (!why || !is_version(fields[3])) return std::nullopt;
  return TurnedAway{*why, std::string(fields[3])};
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> buffer(bytes);
  randombytes_buf(buffer.data(), buffer.size());
  return hex(buffer.data(), buffer.size());
}

std::string new_agent_id() {
  return random_hex(agent_id_bytes);
}

std::string content_hash(std::string_view text) {
  unsigned char hash[crypto_generichash_BYTES_MIN];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  return hex(hash, sizeof hash);
}

std::string job_hash(std::string_view job) {
  return content_hash(fmt::format("job {}", job));
}

}  // namespace toprun::link
