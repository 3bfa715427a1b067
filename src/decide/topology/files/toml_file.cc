#include <algorithm>

#include "base/json/toml.h"
#include "decide/topology/files/formats.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

Position position(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

struct Entry {
  Position where;  // a copy of the key's position: sorting reads nothing else
  const toml::key* key;
  toml::node* value;
};

// The library sorts keys by name. The positions restore the file's order, which is also their order
// in memory.
std::vector<Entry> in_file_order(toml::table& table) {
  std::vector<Entry> entries;
  entries.reserve(table.size());
  for (auto&& [key, value] : table) entries.push_back({position(key.source()), &key, &value});
  std::ranges::sort(entries, {}, [](const Entry& entry) {
    return std::pair(entry.where.line, entry.where.column);
  });
  return entries;
}

// Moves the texts out of the library's tree; the library's depth limit bounds the recursion.
DataNode data_of(toml::node& value) {
  DataNode node{Kind::text, position(value.source()), {}, {}, {}, false};
  if (auto* text = value.as_string()) {
    node.text = std::move(text->get());
    node.is_string = true;
  } else if (value.is_number()) {
    node.text = fmt::format("{}", *value.value<double>());
  } else if (toml::array* array = value.as_array()) {
    node.kind = Kind::list;
    node.items.reserve(array->size());
    for (toml::node& item : *array) node.items.push_back(data_of(item));
  } else if (toml::table* table = value.as_table()) {
    node.kind = Kind::table;
    node.keys.reserve(table->size());
    node.items.reserve(table->size());
    for (const Entry& entry : in_file_order(*table)) {
      node.keys.push_back({std::string(entry.key->str()), entry.where});
      node.items.push_back(data_of(*entry.value));
    }
  }
  return node;
}

}  // namespace

Result<Map> parse_toml_file(std::string_view text, const std::string& file) {
  try {
    toml::table table = parse_toml(text, file);
    return map_of_plain(data_of(table), file);
  } catch (const toml::parse_error& error) {
    return usage(at(file, position(error.source())), toml_fault(error.description()), toml_advice);
  }
}

}  // namespace toprun::topology
