#include "decide/topology/physical_host.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::topology {
namespace {

// Without separators between the parts: "not-available", "not available", "Not_Available".
constexpr std::array<std::string_view, 16> placeholder_words = {
    "none",       "null",   "nil",          "novalue",      "unknown",     "undefined",
    "unset",      "n/a",    "notsupported", "notavailable", "unavailable", "noimdsdata",
    "notopology", "notset", "nodata",       "notapplicable"};
constexpr std::size_t longest = 24;  // of these words, with brackets and blanks

bool is_separator(char c) {
  return c == '-' || c == '_' || c == ' ';
}

std::string_view without_brackets(std::string_view text) {
  constexpr std::array<std::string_view, 3> pairs = {"[]", "<>", "()"};
  for (const std::string_view pair : pairs) {
    if (text.size() > 1 && text.front() == pair[0] && text.back() == pair[1]) {
      return text.substr(1, text.size() - 2);
    }
  }
  return text;
}

// Whether it is an identifier that consists of zeros. A short row of zeros may be a rack's number.
bool is_zero_id(std::string_view text) {
  constexpr std::ptrdiff_t least_zeros = 16;
  if (text == "0x0") return true;
  if (text.empty() || text.front() != '0') return false;
  if (text.starts_with("0x")) text.remove_prefix(2);
  const std::string_view id = text.substr(0, text.find('.'));  // ".CLIQUE"
  return id.find_first_not_of("0-") == id.npos && std::ranges::count(id, '0') >= least_zeros;
}

}  // namespace

std::expected<Path, std::string> parse_domains(std::string_view text) {
  if (!text.starts_with('/')) {
    return std::unexpected(fmt::format("'{}' does not begin with '/'", text));
  }
  std::vector<Domain> path;
  path.reserve(std::min(max_levels, static_cast<std::size_t>(std::ranges::count(text, '/'))));
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view domain = text.substr(0, text.find('/'));
    if (path.size() > max_levels) {
      return std::unexpected(fmt::format("the path has more than {} levels", max_levels));
    }
    path.push_back(domain.empty()           ? Domain()
                   : domain == written_none ? Domain::none()
                                            : Domain(domain));
    text.remove_prefix(domain.size());
  }
  return Path(std::move(path));
}

std::expected<Path, std::string> parse_physical_host(std::string_view text) {
  auto path = TRY(parse_domains(text));
  path.pop_back();
  if (path.empty())
    return std::unexpected(fmt::format("'{}' does not name a domain above the host", text));
  return path;
}

std::string_view own_id(std::string_view text) {
  return text.substr(text.rfind('/') + 1);
}

std::expected<Path, std::string> PlaceTexts::domains(std::string_view text) {
  const auto found = paths_.find(text);
  if (found != paths_.end()) return found->second;
  auto path = parse_domains(text);
  if (path) paths_.emplace(text, *path);
  return path;
}

std::expected<Path, std::string> PlaceTexts::physical_host(std::string_view text) {
  const std::string_view above = text.substr(0, std::min(text.rfind('/'), text.size()));
  const auto found = paths_.find(above);
  if (found != paths_.end()) return found->second;
  auto path = parse_physical_host(text);
  if (path) paths_.emplace(above, *path);
  return path;
}

std::vector<std::string> physical_level_names(std::size_t count) {
  switch (count) {
    case 0:
      return {};
    case 1:
      return {"rack"};
    case 2:
      return {"cluster", "rack"};
    case 3:
      return {"cluster", "block", "rack"};
    default:
      break;
  }
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("level{}", i));
  return names;
}

bool is_placeholder(std::string_view name) {
  // A fast check that decides nearly all names.
  constexpr std::string_view first_letters = "nNuU0-_ [<(";
  if (!name.empty() && first_letters.find(name.front()) == name.npos) return false;
  if (name.size() > longest || name.starts_with('0')) return is_zero_id(name);
  std::string word;
  for (const char c : without_brackets(name)) {
    if (!is_separator(c)) word += c;
  }
  return word.empty() ||
         std::ranges::find(placeholder_words, lower(word)) != placeholder_words.end();
}

}  // namespace toprun::topology
