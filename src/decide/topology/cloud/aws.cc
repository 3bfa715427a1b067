#include <algorithm>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/net/hostlist.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

constexpr std::string_view aws_command_text = "aws ec2 describe-instance-topology";
constexpr std::size_t max_network_nodes = max_levels - 2;  // zone and nvlink are levels too
constexpr std::size_t max_named_keys = 4;                  // in the warning for unknown keys
constexpr std::size_t max_key_bytes = 64;                  // per key in that warning

struct Instance {
  std::string id;
  std::string zone;
  std::vector<std::string> nodes;
  std::string nvlink;
};

bool is_key_of_instance(std::string_view key) {
  static constexpr std::string_view keys[] = {"InstanceId",   "InstanceType",    "GroupName",
                                              "NetworkNodes", "CapacityBlockId", "AvailabilityZone",
                                              "ZoneId"};
  return std::ranges::find(keys, key) != std::end(keys);
}

Position position_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {lines + 1, before.size() - line_start + 1};
}

// Handles the document event by event, so unused parts need no memory. If a handler returns false,
// the reading stops and `error` contains the reason.
class AwsReader {
 public:
  AwsReader(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  std::vector<Instance> instances;
  std::set<std::string> unknown_keys;
  bool cut = false;  // AWS has more instances than this file contains
  std::optional<Error> error;

  bool null() { return value(nullptr); }
  bool boolean(bool) { return other(); }
  bool number_integer(std::int64_t) { return other(); }
  bool number_unsigned(std::uint64_t) { return other(); }
  bool number_float(double, const std::string&) { return other(); }
  bool string(std::string& text) { return value(&text); }
  bool binary(nlohmann::json::binary_t&) { return other(); }

  bool start_object(std::size_t) {
    if (skipping() || depth_ == top) return open();
    if (depth_ != list) return open_unread();
    if (instances.size() == hosts::max_hosts) {
      return refuse(here(), fmt::format("more than {} instances", hosts::max_hosts));
    }
    instances.emplace_back();
    return open();
  }
  bool end_object() {
    --depth_;
    if (!skipping() && depth_ == list && instances.back().id.empty()) {
      return refuse(fmt::format("{}: Instances[{}]", file_, instances.size() - 1),
                    "the instance has no InstanceId");
    }
    return leave();
  }
  bool start_array(std::size_t) {
    if (skipping()) return open();
    const bool requested =
        (depth_ == root && key_ == "Instances") || (depth_ == instance && key_ == "NetworkNodes");
    return requested ? open() : open_unread();
  }
  bool end_array() {
    --depth_;
    return leave();
  }
  bool key(std::string& name) {
    if (skipping()) return true;
    key_ = std::move(name);
    const bool is_known =
        depth_ == root ? key_ == "Instances" || key_ == "NextToken" : is_key_of_instance(key_);
    if (!is_known && unknown_keys.size() < max_named_keys) {
      unknown_keys.insert(printable(key_.substr(0, max_key_bytes)));
    }
    return true;
  }
  bool parse_error(std::size_t offset, const std::string&, const nlohmann::json::exception&) {
    error = usage(at(file_, position_in(text_, offset == 0 ? 0 : offset - 1)), "this is not JSON",
                  fmt::format("give the output of `{}`", aws_command_text))
                .error();
    return false;
  }

 private:
  // The number of open containers around a value of each kind.
  static constexpr std::size_t top = 0;
  static constexpr std::size_t root = 1;
  static constexpr std::size_t list = 2;
  static constexpr std::size_t instance = 3;
  static constexpr std::size_t nodes = 4;

  bool skipping() const { return skipped_ != 0 && depth_ >= skipped_; }

  bool open() {
    if (++depth_ <= max_json_depth) return true;
    return refuse(file_, fmt::format("the JSON is nested deeper than {} levels", max_json_depth));
  }

  // Opens an unused container. Error: a value of another type must be here.
  bool open_unread() {
    if (!other()) return false;
    skipped_ = depth_ + 1;
    return open();
  }

  bool leave() {
    if (depth_ < skipped_) skipped_ = 0;
    return true;
  }

  std::string here() const {
    std::string place = file_ + ": ";
    if (depth_ < list) return place + key_;
    const std::size_t count = instances.size();
    place += fmt::format("Instances[{}]", depth_ == list ? count : count - 1);
    if (depth_ > list) place += '.' + key_;
    return place;
  }

  bool refuse(std::string where, std::string why) {
    error = usage(std::move(where), std::move(why),
                  fmt::format("give the output of `{}`", aws_command_text))
                .error();
    return false;
  }

  // Handles a value that is neither a text nor null.
  bool other() {
    if (skipping()) return true;
    if (depth_ == top) return refuse(file_, "this is not a JSON object with \"Instances\"");
    if (depth_ == root) return key_ != "Instances" || refuse(here(), "it is not a list");
    if (depth_ == list) return refuse(here(), "it is not an object");
    if (depth_ == nodes) return refuse(here(), "an entry is not a string");
    if (key_ == "NetworkNodes") return refuse(here(), "it is not a list");
    return !is_key_of_instance(key_) || refuse(here(), "it is not a string");
  }

  // Handles a text or null.
  bool value(std::string* text) {
    if (skipping()) return true;
    const bool is_null = text == nullptr || *text == "null";
    if (depth_ == root && key_ == "NextToken") {
      cut = cut || (!is_null && !text->empty());
      return true;
    }
    if (depth_ < instance) return other();
    if (depth_ == nodes) return is_null ? other() : take_node(*text);
    return is_null || take_field(*text);
  }

  bool take_node(std::string& node) {
    auto& all = instances.back().nodes;
    if (!is_domain_name(node)) return refuse(here(), "an entry is not an id");
    if (all.size() == max_network_nodes) {
      return refuse(here(), fmt::format("more than {} entries", max_network_nodes));
    }
    all.push_back(std::move(node));
    return true;
  }

  bool take_field(std::string& text) {
    Instance& one = instances.back();
    if (key_ == "NetworkNodes") return refuse(here(), "it is not a list");
    if (key_ == "AvailabilityZone" && !one.zone.empty()) return true;  // the ZoneId came before it
    std::string* field = nullptr;
    if (key_ == "InstanceId") field = &one.id;
    if (key_ == "CapacityBlockId") field = &one.nvlink;
    if (key_ == "ZoneId" || key_ == "AvailabilityZone") field = &one.zone;
    if (field == nullptr || text.empty()) return true;
    if (!is_domain_name(text)) return refuse(here(), "it is not an id");
    *field = std::move(text);
    return true;
  }

  const std::string& file_;
  const std::string_view text_;
  std::size_t depth_ = 0;    // number of open containers
  std::size_t skipped_ = 0;  // values at this depth or deeper are skipped; 0: none are
  std::string key_;          // the last key outside skipped parts
};

std::optional<std::string> domain(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(name);
}

Result<Map> map_of(const AwsReader& reader, const std::string& file) {
  std::size_t depth = 0;
  bool zones = false;
  bool nvlink = false;
  for (const Instance& one : reader.instances) {
    depth = std::max(depth, one.nodes.size());
    zones = zones || !one.zone.empty();
    nvlink = nvlink || !one.nvlink.empty();
  }
  MapBuilder builder(file);
  for (std::size_t i = 0; i < reader.instances.size(); ++i) {
    const Instance& one = reader.instances[i];
    const std::string place = fmt::format("{}: Instances[{}]", file, i);
    Path path = aligned_at_leaf(Path(one.nodes.begin(), one.nodes.end()), depth);
    if (zones) path.push_front(domain(one.zone));
    if (nvlink) path.push_back(domain(one.nvlink));
    TRY(builder.add(one.id, {std::move(path), place, {}}, place));
  }
  if (reader.cut) {
    builder.warn(file + ": NextToken says that there are more instances than the file contains");
  }
  if (!reader.unknown_keys.empty()) {
    builder.warn(fmt::format("{}: unknown keys are ignored: {}", file,
                             fmt::join(reader.unknown_keys, ", ")));
  }
  std::vector<std::string> levels = switch_level_names(depth);
  if (zones) levels.insert(levels.begin(), "zone");
  if (nvlink) levels.push_back("nvlink");
  return builder.finish(std::move(levels));
}

// Text from other nodes becomes part of a command line, so text that could be an option is invalid.
bool is_instance_id(std::string_view text) {
  constexpr std::size_t most = 32;
  return text.starts_with("i-") && text.size() > 2 && text.size() <= most &&
         std::ranges::all_of(text.substr(2), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
         });
}

// The instance ids that the members reported, else the members' names.
std::vector<std::string> instance_ids(std::span<const Member> members) {
  std::set<std::string> ids;
  for (const Member& member : members) {
    std::string_view id = std::string_view(member.name).substr(0, member.name.find('.'));
    if (member.cloud && member.cloud->text) id = trim(*member.cloud->text);
    if (is_instance_id(id)) ids.emplace(id);
  }
  return {ids.begin(), ids.end()};
}

Result<Map> describe(const std::vector<std::string>& ids, const Environment& environment) {
  std::vector<std::string> command = {"aws", "ec2", "describe-instance-topology", "--output",
                                      "json"};
  if (ids.size() <= max_instances_per_call) {  // else all instances, page by page
    command.emplace_back("--instance-ids");
    command.insert(command.end(), ids.begin(), ids.end());
  }
  const auto text = process::output_of(command, environment, aws_timeout);
  if (text) return parse_aws_topology(*text, std::string(aws_command_text));
  Error error = text.error();
  error->fix = fmt::format(
      "save the output of `{}` on a machine with the credentials, and pass the file with "
      "--topology",
      shell_quote(command));
  return std::unexpected(std::move(error));
}

}  // namespace

Result<Map> parse_aws_topology(std::string_view text, const std::string& file) {
  AwsReader reader(file, text);
  nlohmann::json::sax_parse(text, &reader);
  if (reader.error) return std::unexpected(*reader.error);
  return map_of(reader, file);
}

bool looks_like_aws_topology(std::string_view text) {
  return trim(text.substr(0, 4096)).starts_with('{') && text.contains("\"Instances\"");
}

void add_members(Map& map, std::span<const Member> members) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < map.hosts.size(); ++i) index.emplace(map.hosts[i].host, i);
  for (const Member& member : members) {
    if (!member.cloud || member.cloud->cloud != name_of(Cloud::aws) || !member.cloud->text)
      continue;
    const auto instance = index.find(std::string(trim(*member.cloud->text)));
    if (instance == index.end() || index.contains(member.name)) continue;
    index.emplace(member.name, instance->second);
    map.hosts.push_back({member.name, Location(map.hosts[instance->second].location)});
  }
}

Question ec2_token_question() {
  return {"/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "60"}}, true};
}

Question ec2_instance_question(const std::string& token) {
  return {"/latest/meta-data/instance-id", {{"X-aws-ec2-metadata-token", token}}, false};
}

Result<std::optional<Map>> read_aws(const Request& request) {
  const CloudAnswers hearing = collect_answers(request, Cloud::aws, "the instance's id");
  const std::vector<std::string> ids = instance_ids(request.members);
  if (ids.empty() && hearing.failures.empty()) return std::nullopt;
  Map map;
  if (!ids.empty()) {
    map = TRY(describe(ids, request.environment));
    if (!map.hosts.empty()) map.source = "aws";
    add_members(map, request.members);
  }
  std::ranges::copy(hearing.failures, std::back_inserter(map.warnings));
  return map;
}

}  // namespace toprun::topology
