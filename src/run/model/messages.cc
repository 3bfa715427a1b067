#include "run/model/messages.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <limits>

namespace toprun::model {
namespace {

template <template <class> class Optional, class T>
void put(nlohmann::json& json, const char* name, const Optional<T>& value) {
  if (value) json[name] = *value;
}

template <template <class> class Optional, class T>
void take(const nlohmann::json& json, const char* name, Optional<T>& value) {
  if (json.contains(name)) value = json.at(name).get<T>();
}

template <class T>
void put_unless(const T& usual, nlohmann::json& json, const char* name, const T& value) {
  if (value != usual) json[name] = value;
}

int number_or(int usual, const nlohmann::json& json, const char* name, int most) {
  if (!json.contains(name)) return usual;
  return static_cast<int>(whole_number(json, name, 0, most));
}

void take_number(const nlohmann::json& json, const char* name, int least, int most, int& value) {
  value = static_cast<int>(whole_number(json, name, least, most));
}

void take_number(const nlohmann::json& json, const char* name, int most,
                 std::optional<int>& value) {
  if (json.contains(name)) value = static_cast<int>(whole_number(json, name, 0, most));
}

void take_name(const nlohmann::json& json, const char* name, std::string& value) {
  json.at(name).get_to(value);
  if (value.size() > longest_name) throw OutOfRange(name);
}

void take_addresses(const nlohmann::json& json, std::size_t most, std::vector<std::string>& all) {
  json.at("addresses").get_to(all);
  const auto is_long = [](const std::string& one) { return one.size() > longest_address; };
  if (all.size() > most || std::ranges::any_of(all, is_long)) throw OutOfRange("addresses");
}

std::int64_t wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

std::int64_t whole_number(const nlohmann::json& object, const char* name, std::int64_t least,
                          std::int64_t most) {
  return whole_value(object.at(name), name, least, most);
}

std::int64_t whole_value(const nlohmann::json& value, const char* name, std::int64_t least,
                         std::int64_t most) {
  const bool too_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (!value.is_number_integer() || too_large) throw OutOfRange(name);
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) throw OutOfRange(name);
  return number;
}

template <class Integer>
std::vector<Integer> numbers_in(const nlohmann::json& object, const char* name, std::int64_t least,
                                std::int64_t most) {
  std::vector<Integer> numbers;
  for (const nlohmann::json& item : object.at(name).get_ref<const nlohmann::json::array_t&>()) {
    numbers.push_back(static_cast<Integer>(whole_value(item, name, least, most)));
  }
  return numbers;
}
template std::vector<int> numbers_in(const nlohmann::json&, const char*, std::int64_t,
                                     std::int64_t);
template std::vector<std::int64_t> numbers_in(const nlohmann::json&, const char*, std::int64_t,
                                              std::int64_t);

void to_json(nlohmann::json& json, const PodMachine& machine) {
  json = {
      {"boot_id", machine.boot_id}, {"gpus", machine.gpus}, {"machine_gpus", machine.machine_gpus}};
}

void from_json(const nlohmann::json& json, PodMachine& machine) {
  json.at("boot_id").get_to(machine.boot_id);
  take_number(json, "gpus", 0, most_gpus, machine.gpus);
  take_number(json, "machine_gpus", 0, most_gpus, machine.machine_gpus);
}

void to_json(nlohmann::json& json, const Evidence& evidence) {
  json = {{"script", evidence.script},
          {"script_error", evidence.script_error},
          {"python", evidence.python},
          {"torch", evidence.torch},
          {"clock_ms", wall_clock_ms() - evidence.clock_behind.count()}};
  put(json, "idle_accelerate_config", evidence.idle_accelerate_config);
  put(json, "shm_free_bytes", evidence.resources.shm_free_bytes);
  put(json, "open_files", evidence.resources.open_files);
  put(json, "processes", evidence.resources.processes);
  put(json, "locked_bytes", evidence.resources.locked_bytes);
  put(json, "free_ports", evidence.resources.free_ports);
  put(json, "network", evidence.network);
  put(json, "nccl", evidence.nccl);
  put(json, "machine", evidence.machine);
  if (!evidence.mistakes.empty()) json["mistakes"] = evidence.mistakes;
}

void from_json(const nlohmann::json& json, Evidence& evidence) {
  json.at("script").get_to(evidence.script);
  json.at("script_error").get_to(evidence.script_error);
  json.at("python").get_to(evidence.python);
  json.at("torch").get_to(evidence.torch);
  // Unsigned, so that an invalid number cannot overflow.
  const auto sent = static_cast<std::uint64_t>(json.at("clock_ms").get<std::int64_t>());
  evidence.clock_behind = std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(wall_clock_ms()) - sent));
  take(json, "idle_accelerate_config", evidence.idle_accelerate_config);
  take(json, "shm_free_bytes", evidence.resources.shm_free_bytes);
  take(json, "open_files", evidence.resources.open_files);
  take(json, "processes", evidence.resources.processes);
  take(json, "locked_bytes", evidence.resources.locked_bytes);
  take(json, "free_ports", evidence.resources.free_ports);
  take(json, "network", evidence.network);
  take(json, "nccl", evidence.nccl);
  take(json, "machine", evidence.machine);
  if (json.contains("mistakes")) json.at("mistakes").get_to(evidence.mistakes);
  if (evidence.mistakes.size() > most_mistakes) evidence.mistakes.resize(most_mistakes);
}

void to_json(nlohmann::json& json, const CloudPlace& place) {
  json = {{"cloud", place.cloud}, {"trouble", place.trouble}};
  put(json, "text", place.text);
}

void from_json(const nlohmann::json& json, CloudPlace& place) {
  json.at("cloud").get_to(place.cloud);
  json.at("trouble").get_to(place.trouble);
  take(json, "text", place.text);
}

void to_json(nlohmann::json& json, const ProgramOutput& reported) {
  json = {{"trouble", reported.trouble}};
  put(json, "text", reported.text);
}

void from_json(const nlohmann::json& json, ProgramOutput& reported) {
  json.at("trouble").get_to(reported.trouble);
  take(json, "text", reported.text);
}

void to_json(nlohmann::json& json, const KubeNode& node) {
  json = {{"name", node.name}};
  put(json, "labels", node.labels);
}

void from_json(const nlohmann::json& json, KubeNode& node) {
  json.at("name").get_to(node.name);
  take(json, "labels", node.labels);
}

void to_json(nlohmann::json& json, const Join& join) {
  json = {{"type", "join"},    {"agent", join.agent},         {"host", join.host},
          {"pid", join.pid},   {"nnodes", join.nnodes},       {"slots", join.slots},
          {"role", join.role}, {"addresses", join.addresses}, {"store_port", join.store_port}};
  put_unless(false, json, "address_is_named", join.address_is_named);
  put_unless(false, json, "prepares", join.prepares);
  put(json, "node_rank", join.node_rank);
  put(json, "node_index", join.node_index);
  put(json, "local_rank", join.local_rank);
  put(json, "task", join.task);
  put(json, "max_restarts", join.max_restarts);
  put(json, "location", join.location);
  put(json, "location_pattern", join.location_pattern);
  put(json, "cloud", join.cloud);
  put(json, "nvlink", join.nvlink);
  put(json, "kube", join.kube);
  put(json, "ports", join.ports);
  put(json, "evidence", join.evidence);
}

void from_json(const nlohmann::json& json, Join& join) {
  take_name(json, "agent", join.agent);
  take_name(json, "host", join.host);
  json.at("pid").get_to(join.pid);
  take_number(json, "nnodes", 0, most_nodes, join.nnodes);
  take_number(json, "slots", 0, most_slots, join.slots);
  take_name(json, "role", join.role);
  take_addresses(json, most_addresses, join.addresses);
  take_number(json, "store_port", 0, 65'535, join.store_port);
  join.address_is_named = json.value("address_is_named", false);
  join.prepares = json.value("prepares", false);
  take_number(json, "node_rank", most_nodes, join.node_rank);
  take_number(json, "node_index", most_nodes, join.node_index);
  take_number(json, "local_rank", most_slots, join.local_rank);
  take_number(json, "task", most_ranks, join.task);
  take_number(json, "max_restarts", std::numeric_limits<int>::max(), join.max_restarts);
  take(json, "location", join.location);
  take(json, "location_pattern", join.location_pattern);
  take(json, "cloud", join.cloud);
  take(json, "nvlink", join.nvlink);
  take(json, "kube", join.kube);
  take(json, "ports", join.ports);
  take(json, "evidence", join.evidence);
}

Result<Join> join_in(const nlohmann::json& json) {
  const std::string what = "its first message is malformed";
  try {
    return json.get<Join>();
  } catch (const OutOfRange& out) {
    return fail(what, fmt::format("\"{}\" is not in its range", out.what()));
  } catch (const nlohmann::json::exception& error) {
    return fail(what, error.what());
  }
}

nlohmann::json welcome() {
  return {{"type", "welcome"}};
}

nlohmann::json refusal(const Refused& refused) {
  return {{"type", "refused"}, {"text", refused.text}};
}

std::optional<std::string> refusal_in(const nlohmann::json& message) {
  if (type_of(message) != "refused") return std::nullopt;
  return message.value("text", "");
}

void to_json(nlohmann::json& json, const StoreAddress& store) {
  json["agent"] = store.agent;
  json["host"] = store.host;
  json["addresses"] = store.addresses;
  json["port"] = store.port;
  json["exact"] = store.exact;
}

void from_json(const nlohmann::json& json, StoreAddress& store) {
  take_name(json, "agent", store.agent);
  take_name(json, "host", store.host);
  take_addresses(json, most_addresses + 1, store.addresses);  // and the one that the root sees
  take_number(json, "port", 0, 65'535, store.port);
  json.at("exact").get_to(store.exact);
}

// The root writes one of these for every node: so only what is not as usual, and key by key, since
// a list of pairs takes three times as long.
void to_json(nlohmann::json& json, const Assignment& a) {
  json["attempt"] = a.attempt;
  put_unless(0, json, "restarts", a.restarts);
  json["group_rank"] = a.group_rank;
  json["group_world_size"] = a.group_world_size;
  json["first_rank"] = a.first_rank;
  json["nproc"] = a.nproc;
  json["world_size"] = a.world_size;
  put_unless(a.nproc, json, "local_world_size", a.local_world_size);
  put_unless(a.first_rank, json, "role_first_rank", a.role_first_rank);
  put_unless(a.world_size, json, "role_world_size", a.role_world_size);
  json["run_id"] = a.run_id;
  if (!a.location.empty()) json["location"] = a.location;
  put_unless(false, json, "colours", a.colours);
  put_unless(false, json, "start", a.start);
  json["store"] = *a.store;
  if (a.stage) json["stage"] = {{"key", a.stage->key}, {"sources", a.stage->sources}};
}

void from_json(const nlohmann::json& json, Assignment& a) {
  take_number(json, "attempt", 0, most_attempts, a.attempt);
  a.restarts = number_or(0, json, "restarts", most_attempts);
  take_number(json, "group_rank", 0, most_nodes, a.group_rank);
  take_number(json, "group_world_size", 1, most_nodes, a.group_world_size);
  take_number(json, "first_rank", 0, most_ranks, a.first_rank);
  take_number(json, "nproc", 0, most_slots, a.nproc);
  take_number(json, "world_size", 0, most_ranks, a.world_size);
  a.local_world_size = number_or(a.nproc, json, "local_world_size", most_slots);
  a.role_first_rank = number_or(a.first_rank, json, "role_first_rank", most_ranks);
  a.role_world_size = number_or(a.world_size, json, "role_world_size", most_ranks);
  json.at("run_id").get_to(a.run_id);
  a.location = json.value("location", "");
  a.colours = json.value("colours", false);
  a.start = json.value("start", false);
  a.store = json.at("store").get<StoreAddress>();
  const auto stage = json.find("stage");
  if (stage == json.end()) return;
  StagePart part;
  stage->at("key").get_to(part.key);
  stage->at("sources").get_to(part.sources);
  if (part.sources.size() > most_stage_sources) throw OutOfRange("sources");
  a.stage = std::move(part);
}

// Uses base64, because JSON holds UTF-8 only and workers may print any bytes.
void to_json(nlohmann::json& json, const OutputLines& output) {
  constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_encoded_len(output.lines.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(),
                    reinterpret_cast<const unsigned char*>(output.lines.data()),
                    output.lines.size(), variant);
  text.pop_back();  // removes the C string's terminating zero
  json["is_err"] = output.is_err;
  json["lines"] = text;
}

void from_json(const nlohmann::json& json, OutputLines& output) {
  json.at("is_err").get_to(output.is_err);
  const auto text = json.at("lines").get<std::string>();
  output.lines.resize(text.size());
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(output.lines.data()), output.lines.size(),
                        text.data(), text.size(), nullptr, &size, nullptr,
                        sodium_base64_VARIANT_ORIGINAL) != 0) {
    size = 0;
  }
  output.lines.resize(size);
}

std::string type_of(const nlohmann::json& message) {
  if (!message.is_object()) return {};
  const auto type = message.find("type");
  return type != message.end() && type->is_string() ? type->get<std::string>() : std::string();
}

}  // namespace toprun::model
