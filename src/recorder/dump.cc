#include "recorder/dump.h"

#include "base/json_text.h"
#include "base/text.h"
#include "recorder/pickle.h"

namespace toprun::recorder {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_entries = 200'000;
constexpr std::size_t most_ranks = 1'000'000;

const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? json_text(value) : "";
}

// The JSON form has some numbers as texts.
std::int64_t number_of(const Json& value, std::int64_t otherwise) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.is_string() ? parse_int(value.get<std::string>()).value_or(otherwise) : otherwise;
}

std::string both(const Json& entry, const char* in, const char* out) {
  const auto written = [&](const char* name) { return json_text(member(entry, name)); };
  return written(in) + " -> " + written(out);
}

// "[0, 1]" as text.
std::vector<int> ranks_of(const Json& value) {
  const Json list =
      value.is_string() ? Json::parse(value.get<std::string>(), nullptr, false) : value;
  std::vector<int> out;
  if (!list.is_array()) return out;
  for (const Json& rank : list) {
    const auto number = number_of(rank, -1);
    if (number >= 0 && number < static_cast<std::int64_t>(most_ranks)) {
      out.push_back(static_cast<int>(number));
    }
  }
  return out;
}

Entry entry_of(const Json& json) {
  Entry out;
  const Json& group = member(json, "process_group");  // (id, description)
  if (group.is_array() && !group.empty()) out.group = text_of(group[0]);
  out.sequence = number_of(member(json, "collective_seq_id"), 0);
  out.operation = text_of(member(json, "profiling_name"));
  out.sizes = both(json, "input_sizes", "output_sizes");
  out.types = both(json, "input_dtypes", "output_dtypes");
  out.state = text_of(member(json, "state"));
  out.retired = member(json, "retired") == true;
  const Json& frames = member(json, "frames");
  if (frames.is_array() && !frames.empty()) {
    out.function = text_of(member(frames[0], "name"));
    out.file = text_of(member(frames[0], "filename"));
    const auto line = number_of(member(frames[0], "line"), 0);
    out.line = line > 0 && line < 1 << 30 ? static_cast<int>(line) : 0;
  }
  return out;
}

}  // namespace

Result<Dump> parse_dump(std::string_view bytes) {
  constexpr const char* what = "cannot read a flight-recorder dump";
  Json json;
  if (bytes.starts_with('{')) {
    json = Json::parse(bytes, nullptr, false);
  } else {
    auto parsed = parse_pickle(bytes);
    if (!parsed) return std::unexpected(parsed.error());
    json = std::move(*parsed);
  }
  Dump out;
  out.version = text_of(member(json, "version"));
  if (!out.version.starts_with("2.")) {
    return fail(what, "its version is \"" + printable(out.version) + "\", not 2.x");
  }
  for (const auto& [id, status] : member(json, "pg_status").items()) {
    Group& group = out.groups[id];
    group.last_enqueued = number_of(member(status, "last_enqueued_collective"), -1);
    group.last_started = number_of(member(status, "last_started_collective"), -1);
    group.last_completed = number_of(member(status, "last_completed_collective"), -1);
  }
  const Json& configs = member(json, "pg_config");
  for (const auto& [id, config] : configs.items()) {
    auto group = out.groups.find(id);
    // Gloo gives its groups no id there: where there is but one, it is that.
    const bool only = id.empty() && configs.size() == 1 && out.groups.size() == 1;
    if (group == out.groups.end() && only) group = out.groups.begin();
    if (group == out.groups.end()) continue;
    group->second.description = text_of(member(config, "desc"));
    group->second.ranks = ranks_of(member(config, "ranks"));
  }
  const Json& entries = member(json, "entries");
  if (!entries.is_array()) return out;
  for (const Json& entry : entries) {
    if (out.entries.size() == most_entries) break;
    if (member(entry, "is_p2p") != true) out.entries.push_back(entry_of(entry));
  }
  return out;
}

}  // namespace toprun::recorder
