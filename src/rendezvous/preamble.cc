#include "rendezvous/preamble.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace toprun::rendezvous {
namespace {

constexpr std::pair<Role, std::string_view> role_names[] = {
    {Role::root, "root"}, {Role::member, "member"}, {Role::agent, "agent"}, {Role::probe, "probe"}};

constexpr std::pair<Refusal, std::string_view> refusal_names[] = {
    {Refusal::version, "version"},  {Refusal::secret, "secret"},         {Refusal::job, "job"},
    {Refusal::attempt, "attempt"},  {Refusal::rank_taken, "rank-taken"}, {Refusal::full, "full"},
    {Refusal::not_root, "not-root"}};

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

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
  if (line.size() > max_line_bytes) return std::nullopt;
  const std::vector<std::string_view> fields = split(line, ' ');
  if (fields.size() != 7 || fields[0] != protocol) return std::nullopt;
  const auto role = by_name(fields[2], role_names);
  if (!role || fields[1].empty() || fields[3].empty() || fields[6].empty()) return std::nullopt;
  if (!is_hex(fields[4], 16) || !is_hex(fields[5], 64)) return std::nullopt;
  return Preamble{std::string(fields[1]), *role,
                  std::string(fields[3]), std::string(fields[4]),
                  std::string(fields[5]), std::string(fields[6])};
}

std::string refusal_line(Refusal code, std::string_view text) {
  std::string line =
      fmt::format("{} refused {} {}", protocol, name_of(code, refusal_names), printable(text));
  line.resize(std::min(line.size(), max_line_bytes - 1));
  return line + "\n";
}

std::optional<Refused> parse_refusal(std::string_view line) {
  const std::string start = fmt::format("{} refused ", protocol);
  if (!line.starts_with(start)) return std::nullopt;
  line.remove_prefix(start.size());
  const std::size_t space = line.find(' ');
  const auto code = by_name(line.substr(0, space), refusal_names);
  if (!code) return std::nullopt;
  return Refused{
      *code, space == std::string_view::npos ? std::string() : std::string(line.substr(space + 1))};
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> buffer(bytes);
  randombytes_buf(buffer.data(), buffer.size());
  return hex(buffer.data(), buffer.size());
}

std::string content_hash(std::string_view text) {
  unsigned char hash[crypto_generichash_BYTES_MIN];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  return hex(hash, sizeof hash);
}

std::string wire_job(std::string_view job) {
  std::string encoded;
  for (const char c : job) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02x}", byte);
    }
  }
  if (encoded.empty()) return "-";
  if (encoded.size() <= max_job_bytes) return encoded;
  unsigned char hash[16];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(job.data()),
                     job.size(), nullptr, 0);
  return "hash-" + hex(hash, sizeof hash);
}

}  // namespace toprun::rendezvous
