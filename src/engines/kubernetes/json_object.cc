#include "engines/kubernetes/json_object.h"

#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::engines::kubernetes {

using nlohmann::json;

namespace {

constexpr std::size_t shown_of_nonsense = 80;

}  // namespace

Result<json> parse_object(std::string_view text) {
  json value = json_in(text);
  if (value.is_object()) return value;
  return fail("cannot ask Kubernetes",
              fmt::format("kubectl did not print JSON: {}",
                          printable(trim(text.substr(0, shown_of_nonsense)))),
              "check with kubectl get pods that kubectl works");
}

std::vector<const json*> items_of(const json& value) {
  const json& list = at(value, {"items"});
  if (!list.is_array()) return {&value};
  std::vector<const json*> items;
  for (const json& item : list) items.push_back(&item);
  return items;
}

const json& at(const json& value, std::initializer_list<std::string_view> path) {
  const json* here = &value;
  for (const std::string_view key : path) here = &member(*here, key);
  return *here;
}

std::string text_at(const json& value, std::initializer_list<std::string_view> path) {
  const json& found = at(value, path);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::int64_t number_at(const json& value, std::initializer_list<std::string_view> path) {
  const json& found = at(value, path);
  return found.is_number_integer() ? found.get<std::int64_t>() : 0;
}

}  // namespace toprun::engines::kubernetes
