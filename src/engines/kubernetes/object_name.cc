#include "engines/kubernetes/object_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr std::size_t longest_label = 63;
constexpr std::size_t longest_domain = 253;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_lower_or_digit(char c) {
  return is_lower(c) || (c >= '0' && c <= '9');
}

bool is_letter_or_digit(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

// A domain in lower case, as RFC 1123 has it.
bool is_domain(std::string_view name) {
  if (name.empty() || name.size() > longest_domain) return false;
  return std::ranges::all_of(split(name, '.'), [](std::string_view part) {
    return !part.empty() && is_lower_or_digit(part.front()) && is_lower_or_digit(part.back()) &&
           std::ranges::all_of(part, [](char c) { return is_lower_or_digit(c) || c == '-'; });
  });
}

std::string without_dashes_at_the_end(std::string name) {
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

constexpr std::size_t most_digits = 6;

bool ends_in(std::string& base, std::string_view suffix) {
  if (base.size() <= suffix.size() || !base.ends_with(suffix)) return false;
  base.resize(base.size() - suffix.size());
  return true;
}

}  // namespace

bool is_label(std::string_view name) {
  return !name.empty() && name.size() <= longest_label && is_lower(name.front()) &&
         name.back() != '-' &&
         std::ranges::all_of(name, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_object_name(std::string_view name) {
  return is_domain(name);
}

bool is_label_value(std::string_view value) {
  if (value.empty()) return true;
  return value.size() <= longest_label && is_letter_or_digit(value.front()) &&
         is_letter_or_digit(value.back()) && std::ranges::all_of(value, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return !key.empty() && is_label_value(key);
  const std::string_view name = key.substr(slash + 1);
  return is_domain(key.substr(0, slash)) && !name.empty() && is_label_value(name);
}

std::string nearest_label(std::string_view name) {
  std::string near;
  for (const char c : lower(name)) {
    const bool fits = is_lower_or_digit(c);
    if (!fits && (near.empty() || near.back() == '-')) continue;
    if (near.empty() && !is_lower(c)) near = "job-";
    near += fits ? c : '-';
  }
  near = without_dashes_at_the_end(near.substr(0, longest_job_name));
  return near.empty() ? "job" : near;
}

Result<std::string> job_name(std::string_view name, std::string_view source) {
  if (is_label(name) && name.size() <= longest_job_name) return std::string(name);
  return usage(fmt::format("{} {}", source, printable(name)),
               fmt::format("a job's name in Kubernetes has at most {} characters of a-z, 0-9 and "
                           "-, and begins with a letter",
                           longest_job_name),
               fmt::format("use --job-name {}", nearest_label(name)));
}

std::string_view first_label(std::string_view name) {
  return name.substr(0, name.find('.'));
}

std::string service_domain(std::string_view name) {
  constexpr std::size_t at_svc = 3;  // POD.SERVICE.NAMESPACE.svc.…
  const auto labels = split(name, '.');
  if (labels.size() <= at_svc || labels[at_svc] != "svc") return {};
  return std::string(name.substr(labels[0].size() + 1));
}

std::optional<Numbered> numbered(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = name.substr(dash + 1);
  const bool is_number = !digits.empty() && digits.size() <= most_digits &&
                         digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  return Numbered{std::string(name.substr(0, dash)), static_cast<int>(*parse_int(digits))};
}

std::optional<Role> role_in(std::string_view name) {
  const auto own = numbered(name);
  if (!own) return std::nullopt;
  Role role{own->base, false, own->number};
  if (ends_in(role.job, "-master")) {
    role.is_master = true;
    return role;
  }
  return ends_in(role.job, "-worker") ? std::optional(role) : std::nullopt;
}

std::vector<std::string> numbered_like(const std::string& first, std::string_view own, int index,
                                       int count) {
  const std::string_view label = first_label(first);
  const auto pod0 = numbered(label);
  if (!pod0 || pod0->number != 0 || own != fmt::format("{}-{}", pod0->base, index)) return {};
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format("{}-{}{}", pod0->base, i, first.substr(label.size())));
  }
  return names;
}

}  // namespace toprun::engines::kubernetes
