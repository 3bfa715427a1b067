#include "topology/toml_file.h"

#include "topology/plain_file.h"
#include "topology/toml.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

Position position(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

// The library's own depth limit bounds the recursion.
DataNode data_of(const toml::node& value) {
  DataNode node{Kind::text, position(value.source()), {}, {}, {}, false};
  if (const auto* text = value.as_string()) {
    node.text = text->get();
    node.is_string = true;
  } else if (value.is_number()) {
    node.text = fmt::format("{}", *value.value<double>());
  } else if (const toml::array* array = value.as_array()) {
    node.kind = Kind::list;
    for (const toml::node& item : *array) node.items.push_back(data_of(item));
  } else if (const toml::table* table = value.as_table()) {
    node.kind = Kind::table;
    for (const auto& [key, item] : *table) {
      node.keys.push_back({std::string(key.str()), position(key.source())});
      node.items.push_back(data_of(item));
    }
  }
  return node;
}

}  // namespace

Result<Map> parse_toml_file(std::string_view text, const std::string& file) {
  try {
    return map_of_plain(data_of(toml::parse(text, file)), file);
  } catch (const toml::parse_error& error) {
    return usage(at(file, position(error.source())), std::string(error.description()),
                 "see https://toml.io");
  }
}

}  // namespace toprun::topology
