#include "run/model/messages.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <limits>

#include "base/text/version.h"
#include "run/model/fields.h"

namespace toprun::model {
namespace {

template <class Fields>
void describe_addresses(Fields& fields, auto& all, std::size_t most) {
  fields.value("addresses", all);
  const auto is_long = [](const std::string& one) { return one.size() > longest_address; };
  if (Fields::reads && (all.size() > most || std::ranges::any_of(all, is_long))) {
    throw OutOfRange("addresses");
  }
}

void describe_part(auto& fields, OneOf<PodMachine> auto& machine) {
  fields.value("boot_id", machine.boot_id);
  fields.number("gpus", machine.gpus, 0, most_gpus);
  fields.number("machine_gpus", machine.machine_gpus, 0, most_gpus);
}

template <class Fields>
void describe_part(Fields& fields, OneOf<Evidence> auto& evidence) {
  fields.value("script", evidence.script);
  fields.value("script_error", evidence.script_error);
  fields.value("python", evidence.python);
  fields.value("torch", evidence.torch);
  fields.number("clock_ms", evidence.clock, 0, latest_clock.count());
  fields.known("idle_accelerate_config", evidence.idle_accelerate_config);
  fields.known("shm_free_bytes", evidence.resources.shm_free_bytes);
  fields.known("open_files", evidence.resources.open_files);
  fields.known("processes", evidence.resources.processes);
  fields.known("locked_bytes", evidence.resources.locked_bytes);
  fields.known("free_ports", evidence.resources.free_ports);
  fields.known("network", evidence.network);
  fields.known("nccl", evidence.nccl);
  fields.known("machine", evidence.machine);
  fields.unusual("mistakes", evidence.mistakes, std::vector<std::string>());
  if constexpr (Fields::reads) {
    if (evidence.mistakes.size() > most_mistakes) evidence.mistakes.resize(most_mistakes);
  }
}

void describe_part(auto& fields, OneOf<CloudPlace> auto& place) {
  fields.value("cloud", place.cloud);
  fields.value("trouble", place.trouble);
  fields.known("text", place.text);
}

void describe_part(auto& fields, OneOf<ProgramOutput> auto& reported) {
  fields.value("trouble", reported.trouble);
  fields.known("text", reported.text);
}

void describe_part(auto& fields, OneOf<KubeNode> auto& node) {
  fields.value("name", node.name);
  fields.known("labels", node.labels);
}

template <class Fields>
void describe_part(Fields& fields, OneOf<Join> auto& join) {
  if constexpr (!Fields::reads) fields.value("type", "join");
  fields.name("agent", join.agent);
  fields.name("host", join.host);
  fields.value("pid", join.pid);
  fields.number("nnodes", join.nnodes, 0, most_nodes);
  fields.number("slots", join.slots, 0, most_slots);
  fields.name("role", join.role);
  fields.unusual("features", join.features, std::vector<std::string>());
  if (Fields::reads && join.features.size() > most_features) throw OutOfRange("features");
  describe_addresses(fields, join.addresses, most_addresses);
  fields.number("store_port", join.store_port, 0, 65'535);
  fields.unusual("address_is_named", join.address_is_named, false);
  fields.unusual("prepares", join.prepares, false);
  fields.known_number("node_rank", join.node_rank, 0, most_nodes);
  fields.known_number("node_index", join.node_index, 0, most_nodes);
  fields.known_number("local_rank", join.local_rank, 0, most_slots);
  fields.known_number("task", join.task, 0, most_ranks);
  fields.known_number("max_restarts", join.max_restarts, 0, std::numeric_limits<int>::max());
  fields.known("location", join.location);
  fields.known("location_pattern", join.location_pattern);
  fields.known("cloud", join.cloud);
  fields.known("nvlink", join.nvlink);
  fields.known("kube", join.kube);
  fields.known("ports", join.ports);
  fields.known("evidence", join.evidence);
}

void describe_part(auto& fields, OneOf<StoreAddress> auto& store) {
  fields.name("agent", store.agent);
  fields.name("host", store.host);
  describe_addresses(fields, store.addresses, most_addresses + 1);  // and the one the root sees
  fields.number("port", store.port, 0, 65'535);
  fields.value("exact", store.exact);
}

template <class Fields>
void describe_part(Fields& fields, OneOf<StagePart> auto& stage) {
  fields.value("key", stage.key);
  fields.value("sources", stage.sources);
  if (Fields::reads && stage.sources.size() > most_stage_sources) throw OutOfRange("sources");
}

// The root writes one of these for every node: so only what is not as usual.
void describe_part(auto& fields, OneOf<Assignment> auto& a) {
  fields.number("attempt", a.attempt, 0, most_attempts);
  fields.unusual_number("restarts", a.restarts, 0, most_attempts);
  fields.number("group_rank", a.group_rank, 0, most_nodes);
  fields.number("group_world_size", a.group_world_size, 1, most_nodes);
  fields.number("first_rank", a.first_rank, 0, most_ranks);
  fields.number("nproc", a.nproc, 0, most_slots);
  fields.number("world_size", a.world_size, 0, most_ranks);
  fields.unusual_number("local_world_size", a.local_world_size, a.nproc, most_slots);
  fields.unusual_number("role_first_rank", a.role_first_rank, a.first_rank, most_ranks);
  fields.unusual_number("role_world_size", a.role_world_size, a.world_size, most_ranks);
  fields.value("run_id", a.run_id);
  fields.unusual("location", a.location, std::string());
  fields.unusual("order", a.order, std::string());
  fields.unusual("colours", a.colours, false);
  fields.unusual("start", a.start, false);
  fields.value("store", a.store);
  fields.known("stage", a.stage);
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

template <class T>
void to_json(nlohmann::json& json, const T& message) requires Described<T> {
  FieldWriter fields(json);
  describe_part(fields, message);
}

template <class T>
void from_json(const nlohmann::json& json, T& message) requires Described<T> {
  FieldReader fields(json);
  describe_part(fields, message);
}

template void to_json(nlohmann::json&, const PodMachine&);
template void from_json(const nlohmann::json&, PodMachine&);
template void to_json(nlohmann::json&, const Evidence&);
template void from_json(const nlohmann::json&, Evidence&);
template void to_json(nlohmann::json&, const CloudPlace&);
template void from_json(const nlohmann::json&, CloudPlace&);
template void to_json(nlohmann::json&, const ProgramOutput&);
template void from_json(const nlohmann::json&, ProgramOutput&);
template void to_json(nlohmann::json&, const KubeNode&);
template void from_json(const nlohmann::json&, KubeNode&);
template void to_json(nlohmann::json&, const Join&);
template void from_json(const nlohmann::json&, Join&);
template void to_json(nlohmann::json&, const StoreAddress&);
template void from_json(const nlohmann::json&, StoreAddress&);
template void to_json(nlohmann::json&, const StagePart&);
template void from_json(const nlohmann::json&, StagePart&);
template void to_json(nlohmann::json&, const Assignment&);
template void from_json(const nlohmann::json&, Assignment&);

Result<Join> join_in(const nlohmann::json& json) {
  const std::string what = "its first message is malformed";
  try {
    return json.get<Join>();
  } catch (const OutOfRange& out) {
    return fail(what, fmt::format("the value of \"{}\" is out of range", out.what()));
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
