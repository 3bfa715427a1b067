#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "topology/position.h"

namespace toprun::topology {

inline constexpr std::size_t max_yaml_bytes = 4u << 20;   // its parser is slow and hungry
inline constexpr std::size_t max_json_bytes = 64u << 20;  // 100,000 hosts take 15 MiB
inline constexpr std::size_t max_data_depth = 32;
inline constexpr std::size_t max_data_nodes = 4'000'000;  // values and keys; 100,000 hosts take 1 M

// A value of JSON, YAML or TOML and where it stands.
struct DataNode {
  enum class Kind { empty, text, list, table };
  struct Key {
    std::string name;
    Position where;
  };

  Kind kind = Kind::empty;
  Position where;
  std::string text;             // of a text: numbers and truth values too
  std::vector<DataNode> items;  // of a list; of a table: the values, one per key
  std::vector<Key> keys;        // of a table, in the file's order
  bool is_string = false;       // of a text: no number and no truth value (YAML: always)

  // The key's value; null if it is not there, nothing stands behind it or this is no table.
  const DataNode* find(std::string_view key) const;
};

// All documents of a text that have something in them, as people put several objects of Kubernetes
// into one file.
Result<std::vector<DataNode>> parse_yaml_documents(std::string_view text, const std::string& file);
// The one document of a text; an empty text is an empty node. Error (file:line:column): the
// format's own syntax, a key twice or one that is no text, an alias (a few lines of them stand for
// gigabytes), more than the limits, a second document. JSON's columns are exact for strings without
// escapes.
Result<DataNode> parse_yaml(std::string_view text, const std::string& file);
Result<DataNode> parse_json(std::string_view text, const std::string& file);

}  // namespace toprun::topology
