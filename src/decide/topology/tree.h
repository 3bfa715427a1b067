#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "base/text/name_index.h"
#include "decide/topology/path.h"
#include "decide/topology/position.h"

namespace toprun::topology {

// One host's place in the network; the host's name is not part of it.
struct Location {
  Path path;
  Evidence evidence;  // where the path was read
  std::string
      written;  // the place in the source's own form ("/c/b/0"); empty: same as location_text()
};

// The connection of a domain to the outside: all its cables together, in one direction.
struct Link {
  std::optional<double> gbps;        // gigabits per second, > 0
  std::optional<double> latency_us;  // per message, ≥ 0
};

// The name of the innermost level: the hosts' own links into the network.
inline constexpr std::string_view host_level = "host";
// The name of a level whose hosts are connected by memory links (MNNVL) instead of their adapters.
inline constexpr std::string_view nvlink_level = "nvlink";

// The places of hosts. All paths are as long as `levels`.
struct Map {
  std::string source;               // "slurm", "file racks.toml", …; empty: nothing is known
  std::vector<std::string> levels;  // outermost first: "cluster", "rack"
  struct Entry {
    std::string host;
    Location location;
  };
  std::vector<Entry> hosts;  // each host once, in the source's order
  std::vector<std::string> warnings;
  // The known link properties, by level; "host": all adapters of one host together.
  std::map<std::string, Link, std::less<>> links = {};
  // Where the map comes from, for users: "slurm gives spine, leaf for 8 of 8 nodes". Notes are not
  // problems.
  std::vector<std::string> notes = {};
  // The bandwidth of single domains to the outside in gigabits per second, by level and domain. 0:
  // unknown, because a cable's speed is unknown. A domain without cables to the outside has no
  // entry.
  std::map<std::string, std::map<std::string, double>> domain_gbps = {};
};

// Sets the bandwidth of the hosts' own links, unless the map already has this bandwidth. If `gbps`
// is 0, does nothing.
void add_host_link(Map& map, double gbps);

// Sets the bandwidth in `links` for each level in `domain_gbps`: the minimum of the domains that
// contain hosts of the map. If the bandwidth of one of these domains is unknown, the level gets no
// bandwidth.
void set_links_of_domains(Map& map);

// Describes a host's place, for tables. If the source has its own text for the place, returns that
// text. Otherwise returns "/outer/inner/host", where an unknown level is empty text and a missing
// level is "-". If no level is known, returns "unknown".
std::string location_text(const Location& location, std::string_view host);
void append_location(std::string& out, const Location& location, std::string_view host);

// Returns names for `count` levels of switches, outermost first: "core", "spine", "leaf".
std::vector<std::string> switch_level_names(std::size_t count);

// Adds unknown levels at the front of the path until the path has `length` levels. They are added
// at the front, because only the innermost level has the same meaning in all paths.
Path aligned_at_leaf(Path path, std::size_t length);

// Collects the hosts of a map. If a host is added twice, add() returns an error that names both
// lines. If a domain's name is a placeholder such as "n/a" (physical_host.h), the domain is
// unknown, and the map has a warning.
class MapBuilder {
 public:
  explicit MapBuilder(std::string source) { map_.source = std::move(source); }

  std::size_t size() const { return map_.hosts.size(); }
  // Reserves memory for about this many hosts.
  void expect(std::size_t hosts);
  // Returns the place that the host already has; null: the host is new.
  const Location* find(const std::string& host);
  // Adds a host. `where` is the position in the source, for errors: "racks.toml:7:1".
  Result<void> add(std::string host, Location location, const std::string& where);
  Result<void> add(std::string host, Location location, std::string_view file, Position where);
  void warn(std::string text) { map_.warnings.push_back(std::move(text)); }
  void warn(const Tally& tally, std::string_view things) { tally.warn(map_.warnings, things); }
  Map finish(std::vector<std::string> levels);

 private:
  // Adds the host if it is new, and returns nullopt. Otherwise returns the index of its earlier
  // entry.
  std::optional<std::size_t> take(std::string& host, Location& location);
  void drop_placeholders(Location& location);
  void drop_empty_levels();
  std::unexpected<Error> twice(std::size_t first, const std::string& where) const;

  Map map_;
  NameIndex index_;
  Path last_clean_;
  Tally placeholders_;
};

// Combines two maps. The result has the hosts of both maps and, for each host, the levels that are
// known in at least one map. Errors: the maps disagree about the place of a host, or about the
// names of their levels; the message names both pieces of evidence. A host must have the same name
// in both maps (see match.h).
Result<Map> merge(Map first, Map second);

}  // namespace toprun::topology
