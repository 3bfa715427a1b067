#include "engines/kubernetes/pod_name.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr std::size_t most_digits = 6;

bool ends_in(std::string& base, std::string_view suffix) {
  if (base.size() <= suffix.size() || !base.ends_with(suffix)) return false;
  base.resize(base.size() - suffix.size());
  return true;
}

}  // namespace

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
