#include "decide/recorder/dump.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "decide/recorder/operations.h"
#include "decide/recorder/pickle.h"

namespace toprun::recorder {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_entries = 200'000;
constexpr std::size_t most_groups_read = 100'000;
constexpr std::size_t most_ranks = 1'000'000;
constexpr std::int64_t most_elements = std::int64_t{1} << 53;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? json_text(value) : "";
}

// The JSON form has some numbers as texts.
std::int64_t number_of(const Json& value, std::int64_t otherwise) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.is_string() ? parse_int(value.get<std::string>()).value_or(otherwise) : otherwise;
}

std::int64_t elements_of(const Json& sizes) {
  std::int64_t elements = 1;
  if (!sizes.is_array()) return 0;
  for (const Json& size : sizes) {
    const std::int64_t one = number_of(size, 0);
    if (one <= 0) return 0;
    elements = one > most_elements / elements ? most_elements : elements * one;
  }
  return elements;
}

Tensors tensors_of(const Json& sizes, const Json& types) {
  Tensors out;
  out.sizes = sizes.is_null() ? "[]" : json_text(sizes);
  if (sizes.is_array()) {
    for (const Json& one : sizes) out.elements.push_back(elements_of(one));
  }
  std::set<std::string> all;
  if (types.is_array()) {
    for (const Json& type : types) all.insert(text_of(type));
  }
  const std::vector<std::string> each(all.begin(), all.end());
  out.types = join(each, ",");
  return out;
}

// "[0, 1]" as text.
std::vector<int> members_of(const Json& value) {
  const Json list = value.is_string() ? json_in(value.get<std::string>()) : value;
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

// An entry, and what it says besides of its place.
struct Read {
  Entry entry;
  std::string state;        // scheduled, started, completed
  bool is_retired = false;  // the recorder waits for its end no longer
};

Read read_entry(const Json& json) {
  Read out;
  Entry& entry = out.entry;
  entry.sequence = number_of(member(json, "collective_seq_id"), 0);
  entry.is_p2p = member(json, "is_p2p") == true;
  entry.operation = text_of(member(json, "profiling_name"));
  entry.inputs = tensors_of(member(json, "input_sizes"), member(json, "input_dtypes"));
  entry.outputs = tensors_of(member(json, "output_sizes"), member(json, "output_dtypes"));
  out.state = text_of(member(json, "state"));
  entry.batch = number_of(member(json, "p2p_seq_id"), 0);
  out.is_retired = member(json, "retired") == true;
  return out;
}

// The groups of a rank, by what its entries say: only they have both the counter of the process
// and the name.
class Groups {
 public:
  // Nothing: too many.
  std::optional<std::size_t> index_of(const Json& entry) {
    const Json& names = member(entry, "process_group");  // (name, description)
    const std::string name = names.is_array() && !names.empty() ? text_of(names[0]) : "";
    const std::int64_t id = number_of(member(entry, "pg_id"), unknown);
    const auto [place, is_new] = indices_.try_emplace({id, name}, all.size());
    if (!is_new) return place->second;
    if (all.size() == most_groups_read) {
      indices_.erase(place);
      return std::nullopt;
    }
    Group group;
    group.name = name;
    if (names.is_array() && names.size() > 1) group.description = text_of(names[1]);
    if (group.description == "undefined") group.description.clear();
    all.push_back(std::move(group));
    return place->second;
  }

  // Counts the default groups up to each: the first group of a process is one, recorded or not.
  void tell_generations() {
    std::set<std::int64_t> defaults = {0};
    for (const auto& [key, index] : indices_) {
      if (is_default(all[index].name, all[index].description)) {
        defaults.insert(key.first);
      } else if (key.first == 0) {
        defaults.erase(0);
      }
    }
    std::map<std::pair<std::string, int>, std::vector<std::size_t>> made;
    for (const auto& [key, index] : indices_) {  // in the order in which they were made
      Group& group = all[index];
      const auto before = std::distance(defaults.begin(), defaults.upper_bound(key.first));
      group.generation = std::max(static_cast<int>(before), 1);
      made[{group.name, group.generation}].push_back(index);
    }
    for (const auto& [key, same] : made) {
      for (const std::size_t index : same) all[index].is_doubtful = same.size() > 1;
    }
  }

  // `pg_config` is by name, and so of the newest group of that name.
  void tell_members(const Json& configs) {
    std::set<std::string> reported;
    for (const auto& [key, index] : indices_ | std::views::reverse) {
      Group& group = all[index];
      const Json& config = member(configs, group.name.c_str());
      std::string description = text_of(member(config, "desc"));
      if (description == "undefined") description.clear();
      if (!reported.insert(group.name).second || description != group.description) continue;
      group.members = members_of(member(config, "ranks"));
    }
  }

  // A status whose group no entry names is of calls that the recorder has forgotten.
  bool have_all(const Json& statuses) const {
    std::set<std::string> ids;
    for (const auto& [key, index] : indices_) ids.insert(std::to_string(key.first));
    const auto& items = statuses.items();
    return std::all_of(items.begin(), items.end(),
                       [&](const auto& status) { return ids.contains(status.key()); });
  }

  std::vector<Group> all;

 private:
  static constexpr std::int64_t unknown = -1;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> indices_;
};

// What has been read of a group until an entry.
struct Latest {
  std::vector<std::size_t> open;  // those of the last numbers
  std::int64_t collective = -1;   // the last collective's number; -1: none
};

// NCCL gives one state to calls that it starts at once: that of the entry that ends them. The one
// that ends sends and receives bears the number of the collective before them.
void end_coalesced(std::vector<Read>& entries, bool from_the_first) {
  std::map<std::size_t, Latest> groups;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i].entry;
    const auto [place, is_first] = groups.try_emplace(entry.group);
    Latest& latest = place->second;
    const auto is_alike = [&](std::size_t other) {
      return entries[other].entry.sequence == entry.sequence &&
             entries[other].entry.batch == entry.batch;
    };
    if (!latest.open.empty() && !is_alike(latest.open.front())) latest.open.clear();
    if (ends_coalescing(entry.operation)) {
      // PyTorch up to 2.6 records no collectives that are started at once, only their end.
      entry.is_p2p = latest.open.empty()
                         ? entry.sequence == latest.collective || (is_first && !from_the_first)
                         : std::ranges::all_of(latest.open, [&](std::size_t other) {
                             return entries[other].entry.is_p2p;
                           });
      for (const std::size_t other : latest.open) {
        entries[other].entry.has_ended = entry.has_ended;
      }
      latest.open.clear();
    } else {
      latest.open.push_back(i);
    }
    if (!entry.is_p2p) latest.collective = entry.sequence;
  }
}

// From the last on: a ring may have lost the first ones.
void number_parts(std::vector<Read>& entries) {
  std::map<std::pair<std::size_t, std::int64_t>, int> parts;
  for (Read& one : entries | std::views::reverse) {
    if (!one.entry.is_p2p) one.entry.part = parts[{one.entry.group, one.entry.sequence}]++;
  }
}

// "send 0->1" and "recv 1<-0": ranks within the group.
void tell_peer(Entry& entry, const Group& group) {
  std::string_view text = entry.operation;
  text.remove_prefix(std::min(text.find(':') + 1, text.size()));
  entry.sends = text.starts_with("send ");
  const auto arrow = text.find(entry.sends ? "->" : "<-");
  if (!entry.is_p2p || arrow == std::string_view::npos) return;
  const auto number = parse_int(text.substr(arrow + 2));
  if (!number || *number < 0) return;
  const auto place = static_cast<std::size_t>(*number);
  if (place < group.members.size()) {
    entry.peer = group.members[place];
  } else if (group.members.empty() && place < most_ranks &&
             is_default(group.name, group.description)) {
    entry.peer = static_cast<int>(place);
  }
}

Memory memory_of(const std::vector<std::int64_t>& records, bool have_all_groups) {
  if (records.empty()) return have_all_groups ? Memory::all : Memory::some;
  const auto gap = std::ranges::adjacent_find(
      records, [](std::int64_t a, std::int64_t b) { return b != a + 1; });
  if (gap != records.end()) return Memory::some;
  return records.front() == 0 && have_all_groups ? Memory::all : Memory::newest;
}

void read_entries(const Json& json, Dump& dump) {
  Groups groups;
  std::vector<Read> entries;
  std::vector<std::int64_t> records;
  bool states_are_kept = false;
  const Json& list = member(json, "entries");
  for (const Json& one : list.is_array() ? list : Json::array()) {
    if (entries.size() == most_entries || !one.is_object()) break;
    const auto group = groups.index_of(one);
    if (!group) break;
    Read read = read_entry(one);
    read.entry.group = *group;
    read.entry.order = static_cast<std::int64_t>(entries.size());
    // Old ones of other programs may lack it: then nothing is known of what came before.
    const auto before = records.empty() ? 0 : records.back();
    records.push_back(number_of(member(one, "record_id"), before + 1));
    states_are_kept = states_are_kept || (!read.state.empty() && read.state != "scheduled");
    entries.push_back(std::move(read));
  }
  groups.tell_generations();
  groups.tell_members(member(json, "pg_config"));
  // Gloo keeps no states, so a call that it waits for no longer has ended; NCCL gives up calls.
  for (Read& one : entries) {
    one.entry.has_ended = one.state == "completed" || (!states_are_kept && one.is_retired);
  }
  end_coalesced(entries, records.empty() || records.front() == 0);
  number_parts(entries);
  dump.memory = memory_of(records, groups.have_all(member(json, "pg_status")));
  dump.groups = std::move(groups.all);
  for (Read& one : entries) {
    tell_peer(one.entry, dump.groups[one.entry.group]);
    dump.entries.push_back(std::move(one.entry));
  }
}

}  // namespace

bool is_default(const std::string& name, const std::string& description) {
  return description == "default_pg" || (description.empty() && name == "0");
}

Result<Dump> parse_dump(std::string_view bytes) {
  constexpr const char* what = "cannot read a flight-recorder dump";
  if (bytes.empty()) return fail(what, "it is empty");
  Json json;
  if (bytes.starts_with('{')) {
    json = json_in(bytes);
    if (json.is_discarded()) return fail(what, "it is truncated, or not JSON");
  } else {
    json = TRY(parse_pickle(bytes));
  }
  Dump out;
  out.version = text_of(member(json, "version"));
  if (!out.version.starts_with("2.")) {
    return fail(what, out.version.empty()
                          ? "it is not such a dump, because it has no version"
                          : "its version is \"" + printable(out.version) + "\", not 2.x");
  }
  read_entries(json, out);
  return out;
}

}  // namespace toprun::recorder
