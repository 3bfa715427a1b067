#include "decide/topology/name_rule.h"

#include <algorithm>
#include <unordered_set>

#include "decide/topology/pattern.h"

namespace toprun::topology {
namespace {

constexpr std::string_view rule_prefix = "name:";
constexpr std::string_view example = "as in name:(?<pod>p[0-9]+)(?<rack>r[0-9]+)";

// A compiled rule.
class Rule {
 public:
  static Result<Rule> compile(std::string_view text) {
    if (text.size() > max_rule_bytes) {
      return usage("--topology name:…",
                   fmt::format("the rule is longer than {} bytes", max_rule_bytes));
    }
    auto pattern = Pattern::compile(text, rule_prefix.size());
    if (!pattern) {
      return usage(fmt::format("--topology name:{}", text), pattern.error(), std::string(example));
    }
    Rule rule;
    rule.pattern_ = *std::move(pattern);
    rule.read_groups();
    if (rule.levels_.empty() || rule.levels_.size() > max_levels) {
      return usage(
          fmt::format("--topology name:{}", text),
          fmt::format(
              "the regular expression has {} named groups, one per level; write 1 to {} of them",
              rule.levels_.size(), max_levels),
          std::string(example));
    }
    return rule;
  }

  std::vector<std::string> levels() const {
    std::vector<std::string> names;
    for (const Group& group : levels_) names.push_back(group.name);
    return names;
  }

  // Returns an empty path if the name does not match.
  std::expected<Path, std::string> match(std::string_view name) const {
    const int count = pattern_.match(name);
    if (count == PCRE2_ERROR_NOMATCH) return Path{};
    if (count < 0) return std::unexpected(pcre2_message(count));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(pattern_.data());
    const std::uint32_t groups = pcre2_get_ovector_count(pattern_.data());
    Path path;
    for (const Group& group : levels_) {
      const PCRE2_SIZE start = bounds[2 * group.number];
      const PCRE2_SIZE end = bounds[2 * group.number + 1];
      const bool taken = group.number < groups && start != PCRE2_UNSET && end > start;
      path.push_back(taken ? std::optional<std::string>(name.substr(start, end - start))
                           : std::nullopt);
    }
    return path;
  }

 private:
  struct Group {
    std::uint32_t number;
    std::string name;
  };

  // Reads PCRE2's name table: entries of equal size, the group's number in two bytes, then its
  // name.
  void read_groups() {
    std::uint32_t count = 0;
    std::uint32_t size = 0;
    PCRE2_SPTR table = nullptr;
    pcre2_pattern_info(pattern_.code(), PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(pattern_.code(), PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(pattern_.code(), PCRE2_INFO_NAMETABLE, &table);
    for (std::uint32_t i = 0; i < count; ++i, table += size) {
      std::string name = reinterpret_cast<const char*>(table + 2);
      if (name == "host" || name == "node") continue;
      const auto number = static_cast<std::uint32_t>(table[0] << 8 | table[1]);
      levels_.push_back({number, std::move(name)});
    }
    std::ranges::sort(levels_, {}, &Group::number);
  }

  Pattern pattern_;
  std::vector<Group> levels_;  // outermost first
};

}  // namespace

Result<Map> map_of_names(std::string_view rule, const std::vector<Member>& members) {
  const auto compiled = TRY(Rule::compile(rule));
  const std::string what = fmt::format("--topology name:{}", rule);
  MapBuilder builder("node names");
  std::unordered_set<std::string_view> seen;
  for (const Member& member : members) {
    if (!seen.insert(member.name).second) continue;
    auto path = compiled.match(member.name);
    if (!path) {
      return usage(what, fmt::format("on {}: {}", member.name, path.error()),
                   "simplify the expression");
    }
    if (path->empty()) continue;
    TRY(builder.add(member.name, {*std::move(path), "node name", {}}, member.name));
  }
  if (builder.size() == 0) {
    return usage(
        what,
        members.empty()
            ? "there are no host names to match"
            : fmt::format(
                  "the rule does not match any host name; for example, it does not match {}",
                  members[0].name),
        members.empty() ? "give --hosts LIST" : std::string(example));
  }
  return builder.finish(compiled.levels());
}

Result<std::optional<Map>> read_name_rule(const Request& request) {
  std::string_view rule = request.topology;
  if (!rule.starts_with(rule_prefix)) {
    return usage("--topology name", "the rule is missing", std::string(example));
  }
  rule.remove_prefix(rule_prefix.size());
  auto map = TRY(map_of_names(rule, request.members));
  return std::move(map);
}

}  // namespace toprun::topology
