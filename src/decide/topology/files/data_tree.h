#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/position.h"

namespace toprun::topology {

// The limit for YAML is low, because the YAML parser is slow and needs much memory.
inline constexpr std::size_t max_yaml_bytes = 4u << 20;
inline constexpr std::size_t max_json_bytes = 64u << 20;  // a file with 100,000 hosts has 15 MiB
inline constexpr std::size_t max_data_depth = 32;
inline constexpr std::size_t max_data_nodes = 4'000'000;  // values and keys together; a file with
                                                          // 100,000 hosts has 1 million

// A value of JSON, YAML or TOML and its position.
struct DataNode {
  enum class Kind { empty, text, list, table };
  struct Key {
    std::string name;
    Position where;
  };

  Kind kind = Kind::empty;
  Position where;
  std::string text;             // for Kind::text: also numbers and booleans
  std::vector<DataNode> items;  // for a list; for a table: the values, one per key
  std::vector<Key> keys;        // for a table, in the file's order
  bool is_string = false;       // true: the text is not a number or boolean (in YAML always true)

  // Returns the key's value; null: no such key, an empty value, or this node is not a table.
  const DataNode* find(std::string_view key) const;
};

// Returns the node's text; empty if `node` is null or of another kind.
std::string text_or_empty(const DataNode* node);
// Returns the value at a path of keys; null: no such value.
const DataNode* value_at(const DataNode* node, std::initializer_list<std::string_view> path);

// Parses all documents of a text, and leaves out empty documents. A file may contain several
// Kubernetes objects.
Result<std::vector<DataNode>> parse_yaml_documents(std::string_view text, const std::string& file);
// Parses the only document of a text; an empty text results in an empty node. Errors
// (file:line:column): a syntax error, a duplicate key, a key that is not a text, an alias (a few
// lines of aliases can expand to gigabytes), an exceeded limit, a second document. In JSON, the
// columns are exact if the strings contain no escapes.
Result<DataNode> parse_yaml(std::string_view text, const std::string& file);
Result<DataNode> parse_json(std::string_view text, const std::string& file);

}  // namespace toprun::topology
