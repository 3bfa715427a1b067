#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/tree.h"

namespace toprun::topology {

// "/cluster/rack" as a path, outermost domain first; an empty component is an unknown level,
// "-" one that the host has not. Error: what is wrong with the text.
std::expected<Path, std::string> parse_domains(std::string_view text);

// Google Cloud's physical_host, "/cluster/rack/host": the same with the host's own id behind it,
// which is dropped.
std::expected<Path, std::string> parse_physical_host(std::string_view text);

// The host's own id, the last part of such a text.
std::string_view own_id(std::string_view text);

// Parses the places in one text, which has to outlive it: hosts of one rack get the same path in
// memory, and only the first of them costs the parsing.
class PlaceTexts {
 public:
  std::expected<Path, std::string> domains(std::string_view text);        // as parse_domains
  std::expected<Path, std::string> physical_host(std::string_view text);  // as parse_physical_host

 private:
  std::unordered_map<std::string_view, Path> paths_;  // by the text of the domains alone
};

// Names for so many levels above a host where a source has none: "rack"; "cluster", "rack"; …
std::vector<std::string> physical_level_names(std::size_t count);

}  // namespace toprun::topology
