#include "decide/placement/compact.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::placement {
namespace {

// "spine leaf host" per line; "-" is unknown.
topology::Map map_of(std::string_view text) {
  topology::Map map;
  map.levels = {"spine", "leaf"};
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = words(line);
    if (parts.size() != 3) continue;
    topology::Map::Entry entry{std::string(parts[2]), {}};
    for (const std::string_view name : {parts[0], parts[1]}) {
      entry.location.path.push_back(name == "-" ? std::nullopt : std::optional<std::string>(name));
    }
    map.hosts.push_back(std::move(entry));
  }
  return map;
}

std::string text_of(const std::vector<CompactSet>& sets) {
  std::string text;
  for (const CompactSet& set : sets) {
    text += fmt::format("{} {}: {}\n", set.level, join(set.domain, "/"), join(set.hosts, " "));
  }
  return text;
}

TEST(Compact, FindsTheFullestDomainOfEachLevel) {
  const auto map = map_of("a l0 n0\na l1 n1\nb l2 n2\nb l2 n3\na l0 n4\na l1 n5\n- - n6");
  for (const auto& [hosts, expected] : std::vector<std::pair<std::string, std::string>>{
           {"n0 n1 n2 n3 n4 n5", "leaf a/l0: n0 n4\nspine a: n0 n1 n4 n5\n"},
           {"n1 n2 n3", "leaf b/l2: n2 n3\n"},  // the spine has no more
           {"n0 n2", "leaf a/l0: n0\n"},
           {"n6 n7", ""},  // all their levels are unknown
           {"", ""},
       }) {
    std::vector<std::string> list;
    for (const std::string_view host : words(hosts)) list.emplace_back(host);
    EXPECT_EQ(text_of(compact_sets(map, list)), expected) << hosts;
  }
}

}  // namespace
}  // namespace toprun::placement
