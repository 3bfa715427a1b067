#include "decide/topology/slurm/address.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/text/text.h"
#include "decide/topology/torus.h"

namespace toprun::topology {
namespace {

constexpr std::string_view variable = "SLURM_TOPOLOGY_ADDR";
constexpr std::string_view advice = "choose one source with --topology";

constexpr std::string_view torus_kind = "torus:x:y:z";

// The content of one member's variables.
struct AddressPlace {
  std::vector<std::string> kinds;  // of the levels, from the pattern: "switch", "switch"
  Path path;
};

// Parses "t0:1:2:3" for the pattern "torus:x:y:z.node".
std::optional<AddressPlace> parse_torus(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 4 || parts[0].empty()) return std::nullopt;
  Coordinates at{};
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const auto number = parse_int(parts[axis + 1]);
    if (!number || *number < 0 || *number > std::numeric_limits<std::uint16_t>::max()) {
      return std::nullopt;
    }
    at[axis] = static_cast<std::uint16_t>(*number);
  }
  return AddressPlace{torus_level_names(), torus_path(parts[0], at)};
}

// Slurm does not escape dots in names, so only the number of parts in the pattern shows where the
// node's name begins.
std::optional<AddressPlace> parse_address(std::string_view address, std::string_view pattern) {
  const std::vector<std::string_view> kinds = split(pattern, '.');
  if (kinds.back() != "node" || kinds.size() > max_levels + 1) return std::nullopt;
  AddressPlace place;
  for (std::size_t i = 0; i + 1 < kinds.size(); ++i) {
    const std::size_t dot = address.find('.');
    if (dot == std::string_view::npos || kinds[i].empty()) return std::nullopt;
    const std::string_view name = address.substr(0, dot);
    if (kinds[i] == torus_kind) return parse_torus(name);
    place.kinds.emplace_back(kinds[i]);
    place.path.push_back(name.empty() ? Domain::none() : Domain(name));
    address.remove_prefix(dot + 1);
  }
  if (address.empty()) return std::nullopt;
  return place;
}

std::vector<std::string> level_names(const std::vector<std::string>& kinds) {
  if (std::ranges::all_of(kinds, [](const auto& kind) { return kind == "switch"; })) {
    return switch_level_names(kinds.size());
  }
  return kinds;
}

std::string evidence_text(const Member& member) {
  return fmt::format("{} says {} ({})", member.name, member.address, member.pattern);
}

std::unexpected<Error> contradiction(const Member& a, const Member& b, std::string why) {
  return fail(fmt::format("{} of {} and {} contradict each other", variable, a.name, b.name),
              fmt::format("{}: {}, {}", why, evidence_text(a), evidence_text(b)),
              std::string(advice));
}

// Collects members and checks each one against the earlier ones.
class Addresses {
 public:
  Result<void> add(const Member& member) {
    if (member.address.empty() || member.pattern.empty()) return {};
    const auto [earlier, is_new] = members_.emplace(member.name, &member);
    if (!is_new) {
      if (earlier->second->address == member.address) return {};
      return contradiction(*earlier->second, member, "one host is in two places");
    }
    auto place = parse_address(member.address, member.pattern);
    if (!place) {
      builder_.warn(fmt::format("{} of {} is malformed and ignored: {} ({})", variable, member.name,
                                member.address, member.pattern));
      return {};
    }
    if (auto agreed = check_against_others(*place, member); !agreed) return agreed;
    if (place->kinds.size() > kinds_.size()) kinds_ = place->kinds;
    return builder_.add(member.name, {std::move(place->path), std::string(variable), {}},
                        member.name);
  }

  Map finish() { return builder_.finish(level_names(kinds_)); }

 private:
  Result<void> check_against_others(const AddressPlace& place, const Member& member) {
    if (place.kinds.empty()) return {};
    if (!first_) first_ = &member;
    const std::size_t shared = std::min(kinds_.size(), place.kinds.size());
    if (!std::equal(kinds_.rbegin(), kinds_.rbegin() + static_cast<std::ptrdiff_t>(shared),
                    place.kinds.rbegin())) {
      return contradiction(*first_, member, "the kinds of the levels differ");
    }
    for (std::size_t level = 0; level + 1 < place.path.size(); ++level) {
      const auto& parent = place.path[level];
      const auto& child = place.path[level + 1];
      if (!parent || !child || place.path.seat() > 0) continue;
      const std::size_t height = place.path.size() - level;
      const auto [known, is_new] =
          parents_.emplace(fmt::format("{} {}", height, *child), Parent{*parent, &member});
      if (is_new || known->second.name == *parent) continue;
      return contradiction(
          *known->second.member, member,
          fmt::format("{} is below {} and below {}", *child, known->second.name, *parent));
    }
    return {};
  }

  struct Parent {
    std::string name;
    const Member* member;
  };
  MapBuilder builder_{"slurm"};
  std::vector<std::string> kinds_;  // of the deepest pattern
  const Member* first_ = nullptr;   // the first with a level
  std::unordered_map<std::string, const Member*> members_;
  std::unordered_map<std::string, Parent> parents_;  // by height above the node, and name
};

}  // namespace

Result<Map> map_of_addresses(std::span<const Member> members) {
  Addresses addresses;
  for (const Member& member : members) {
    TRY(addresses.add(member));
  }
  return addresses.finish();
}

Result<std::optional<Map>> read_slurm_addresses(const Request& request) {
  const bool any = std::ranges::any_of(request.members, [](const Member& member) {
    return !member.address.empty() && !member.pattern.empty();
  });
  if (!any) return std::nullopt;
  auto map = TRY(map_of_addresses(request.members));
  return std::move(map);
}

}  // namespace toprun::topology
