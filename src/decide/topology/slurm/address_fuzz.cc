#include <cstdint>
#include <cstdlib>

#include "base/text/text.h"
#include "decide/topology/slurm/address.h"
#include "decide/topology/topology_testing.h"

// One member per line: its name, address and pattern, separated by tabs. If the input is accepted,
// all paths are as long as the levels and no member occurs twice.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun;
  using namespace toprun::topology;
  constexpr std::size_t most_members = 64;
  std::vector<Member> members;
  for (const std::string_view line : split({reinterpret_cast<const char*>(data), size}, '\n')) {
    if (members.size() == most_members) break;
    const auto columns = split(line, '\t');
    const auto column = [&](std::size_t i) {
      return i < columns.size() ? std::string(columns[i]) : std::string();
    };
    members.push_back({column(0), column(1), column(2)});
  }
  const auto map = map_of_addresses(members);
  if (map && map->hosts.size() > members.size()) std::abort();
  check_paths(map);
  return 0;
}
