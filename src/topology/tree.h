#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/name_index.h"
#include "topology/evidence.h"
#include "topology/path.h"
#include "topology/position.h"
#include "topology/tally.h"

namespace toprun::topology {

// One host's place in the network, the host itself left out.
struct Location {
  Path path;
  Evidence evidence;    // where it was read
  std::string written;  // the whole place as the source wrote it ("/c/b/0"); empty: as
                        // location_text() has it anyway
};

// What joins a domain to what is around it, in one direction, all its cables together.
struct Link {
  std::optional<double> gbps;        // gigabits per second, > 0
  std::optional<double> latency_us;  // of one message through it, ≥ 0
};

// Names for the level below all others: the hosts' own links into the network.
inline constexpr std::string_view host_level = "host";
// A level inside which hosts are joined by memory links (MNNVL) instead of by their adapters.
inline constexpr std::string_view nvlink_level = "nvlink";

// Where hosts sit. All paths are as long as `levels`.
struct Map {
  std::string source;               // "slurm", "file racks.toml", …; empty: nothing is known
  std::vector<std::string> levels;  // outermost first: "cluster", "rack"
  struct Entry {
    std::string host;
    Location location;
  };
  std::vector<Entry> hosts;  // each host once, in the source's order
  std::vector<std::string> warnings;
  // What the source tells of links, by level; "host": each host's adapters together.
  std::map<std::string, Link, std::less<>> links = {};
  // How the map came about, for who asks: "slurm tells where all 8 nodes are". No trouble.
  std::vector<std::string> notes = {};
};

// A host's place as the seed's tables print it: as it was written, else "/outer/inner/host" with
// nothing between the slashes of an unknown level and "-" where the host has none; "unknown" if no
// level is known.
std::string location_text(const Location& location, std::string_view host);
void append_location(std::string& out, const Location& location, std::string_view host);

// Names for `count` levels of switches, outermost first: "core", "spine", "leaf".
std::vector<std::string> switch_level_names(std::size_t count);

// The path with nulls in front until it is `length` long: paths of unequal depth are aligned at the
// leaf, because that is the level whose meaning is sure.
Path aligned_at_leaf(Path path, std::size_t length);

// Collects hosts and refuses the second mention of one, naming both places. Names that stand for
// nothing (placeholder.h) become unknown, with a warning.
class MapBuilder {
 public:
  explicit MapBuilder(std::string source) { map_.source = std::move(source); }

  std::size_t size() const { return map_.hosts.size(); }
  // Makes room for about so many hosts.
  void expect(std::size_t hosts);
  // The place where the host was mentioned before, if it was.
  const Location* find(const std::string& host);
  // `where` is how an error names this mention: "racks.toml:7:1".
  Result<void> add(std::string host, Location location, const std::string& where);
  Result<void> add(std::string host, Location location, std::string_view file, Position where);
  void warn(std::string text) { map_.warnings.push_back(std::move(text)); }
  Map finish(std::vector<std::string> levels);

 private:
  // Where the host was before; nullopt: it was new and is taken.
  std::optional<std::size_t> take(std::string& host, Location& location);
  void drop_placeholders(Location& location);
  void drop_empty_levels();
  std::unexpected<Error> twice(std::size_t first, const std::string& where) const;

  Map map_;
  NameIndex index_;
  Path last_clean_;
  Tally placeholders_;
};

// Two sources' knowledge as one: the hosts of both, and of one host the levels that either knows.
// Error: the two put one host or name their levels differently; it names both pieces of evidence.
// Hosts must carry the same names in both (see match.h).
Result<Map> merge(Map first, Map second);

}  // namespace toprun::topology
