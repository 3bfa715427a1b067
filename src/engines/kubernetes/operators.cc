#include "engines/kubernetes/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/json/json_text.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/kubernetes_jobs.h"
#include "engines/kubernetes/pod_template.h"

namespace toprun::engines::kubernetes {
namespace {

// Of `kinds`, in the order of the enum.
constexpr std::array operators = {Operator::pytorchjob, Operator::trainjob, Operator::jobset};
static_assert(operators.size() == kinds.size());

const Kind& kind_in_table(Operator which) {
  return kinds[static_cast<std::size_t>(which)];
}

constexpr std::array<std::string_view, 5> reserved_variables = {
    "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"};

Result<void> check_sizes(const Workload& job) {
  const std::size_t own_variables = job.nodes > 1 ? 1 : 0;  // NODE_NAME
  const std::size_t variables = job.variables.size() + job.secret_variables.size();
  if (variables + own_variables > most_variables) {
    return usage(
        fmt::format("the job has {} variables", variables),
        fmt::format("a TrainJob can have at most {} variables", most_variables - own_variables),
        "set some variables in the image, or use --operator jobset");
  }
  if (job.image.size() > longest_image) {
    return usage(
        "--container " + job.image,
        fmt::format("the name of a TrainJob's image can have at most {} bytes", longest_image),
        "give the image a shorter tag, or use --operator jobset");
  }
  return {};
}

Result<void> check_variables(const Workload& job) {
  for (const auto& [name, value] : job.variables) {
    if (std::ranges::find(reserved_variables, name) == reserved_variables.end()) continue;
    return usage(
        "-e " + name,
        "the Kubeflow trainer sets this variable itself and refuses a TrainJob that sets it",
        "leave this -e out: --nodes and --nproc-per-node determine the variable");
  }
  return {};
}

Result<void> check_runtime(const Workload& job) {
  const Placement& placement = job.placement;
  if (!job.folder.empty()) {
    return usage("--chdir " + job.folder, "a TrainJob cannot set the working directory of its pods",
                 "name the script by its whole path");
  }
  if (!job.env_from.empty()) {
    return usage("--env-from " + job.env_from.front(),
                 "a TrainJob can take only single variables from a Secret",
                 "use --secret-env NAME=SECRET:KEY for each variable, or use --operator jobset");
  }
  if (job.host_network) {
    return usage(
        "--host-network", "a TrainJob cannot change the network of its runtime's pods",
        "use --operator jobset, or choose a runtime with the host's network with --runtime");
  }
  if (!placement.priority_class.empty() && placement.placer != Placer::kueue) {
    return usage("--priority-class " + placement.priority_class,
                 "a TrainJob cannot change the priority of its runtime's pods",
                 "use --operator jobset, or --queue for Kueue's priorities");
  }
  const std::string_view scheduler = scheduler_name(placement.placer);
  if (!scheduler.empty() && job.runtime.empty()) {
    return usage("--scheduler", "a TrainJob cannot change the scheduler of its runtime's pods",
                 fmt::format("name a runtime with schedulerName {} by --runtime, or use "
                             "--operator jobset",
                             scheduler));
  }
  return {};
}

Result<void> check_pools(const Placement& placement) {
  const bool has_label = placement.placer == Placer::kai || placement.placer == Placer::runai;
  if (!has_label || placement.pools.size() < 2) return {};
  return usage("--node-pool " + placement.pools[1], "this scheduler accepts only one node pool",
               "name only one pool");
}

// What Pod Security refuses at the level `restricted` whatever the rest says.
Result<void> check_restricted(const Workload& job) {
  if (!job.restricted) return {};
  if (job.run_as && job.run_as->user == 0) {
    return usage("--run-as 0", "restricted pods may not run as root", "name another user's number");
  }
  if (job.host_network || job.locks_memory) {
    return usage(job.host_network ? "--host-network" : "--ipc-lock",
                 "restricted pods may not use this option",
                 "leave it out, or use another namespace");
  }
  return {};
}

Result<void> check_trainjob(const Workload& job) {
  TRY(check_sizes(job));
  TRY(check_variables(job));
  return check_runtime(job);
}

using nlohmann::json;
using Json = nlohmann::ordered_json;

// As of `Operator`: where the API server publishes them.
constexpr std::array<std::string_view, 3> places = {
    "kubeflow.org/v1", "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"};
// Those of the training operator's six kinds take 5 MB.
constexpr JsonLimits limits = {.depth = 512, .lists = 1u << 22, .values = 1u << 24};

bool is_of(const json& schema, std::string_view kind) {
  const auto found = schema.find("x-kubernetes-group-version-kind");
  if (found == schema.end() || !found->is_array()) return false;
  for (const json& one : *found) {
    if (text_at(one, {"kind"}) == kind) return true;
  }
  return false;
}

// null: whatever is below it is allowed.
const json& below(const json& schema, const std::string& key, bool& is_field) {
  static const json open;
  is_field = true;
  if (!schema.is_object() || schema.contains("$ref") || schema.contains("allOf")) return open;
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(key)) return properties->at(key);
  if (at(schema, {"x-kubernetes-preserve-unknown-fields"}) == true) return open;
  const auto additional = schema.find("additionalProperties");
  if (additional != schema.end()) return additional->is_object() ? *additional : open;
  is_field = properties == schema.end();
  return open;
}

const json& item_of(const json& schema) {
  static const json open;
  if (!schema.is_object()) return open;
  const auto items = schema.find("items");
  return items == schema.end() ? open : *items;
}

std::optional<std::string> unknown_in(const json& schema, const Json& value,
                                      const std::string& path) {
  if (schema.is_null()) return std::nullopt;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (auto found = unknown_in(item_of(schema), value[i], fmt::format("{}[{}]", path, i))) {
        return found;
      }
    }
  }
  if (!value.is_object()) return std::nullopt;
  for (const auto& [key, part] : value.items()) {
    const std::string name = path.empty() ? key : path + '.' + key;
    bool is_field = true;
    const json& inner = below(schema, key, is_field);
    if (!is_field) return name;
    if (auto found = unknown_in(inner, part, name)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::string_view kind_of(Operator which) {
  return kind_in_table(which).word;
}

std::string record_of(Operator which, std::string_view name) {
  return fmt::format("{}/{}", kind_in_table(which).resource, name);
}

std::vector<Operator> installed(std::string_view api_resources) {
  const auto lines = split(api_resources, '\n');
  std::vector<Operator> found;
  std::ranges::copy_if(operators, std::back_inserter(found), [&](Operator which) {
    return std::ranges::any_of(
        lines, [&](std::string_view line) { return trim(line) == kind_in_table(which).resource; });
  });
  return found;
}

Result<std::vector<Operator>> find_operators(const Environment& environment,
                                             std::chrono::milliseconds limit) {
  TRY(find_kubectl(environment));
  const auto answer = process::run({"kubectl", "api-resources", "-o", "name"}, environment, limit);
  if (!answer) {
    return fail(
        "cannot list the Kubernetes operators of the cluster", answer.error()->why,
        "choose an operator with --operator, or set TOPRUN_ENGINE_TIMEOUT=SECONDS to wait longer");
  }
  // It ends with 1 and prints the others where a single one of the cluster's API services is down.
  if (auto found = installed(answer->out); !found.empty()) return found;
  if (answer->code != 0) return std::unexpected(refusal("kubectl api-resources", answer->err));
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.resource);
  return fail("--operator auto", "the cluster has none of " + join(names, ", "),
              "ask the administrator to install the training operator, the trainer or JobSet");
}

Result<void> check(Operator which, const Workload& job) {
  TRY(check_pools(job.placement));
  TRY(check_restricted(job));
  if (which == Operator::trainjob) TRY(check_trainjob(job));
  if (which != Operator::trainjob && !job.runtime.empty()) {
    return usage("--runtime " + job.runtime, "only a TrainJob uses a runtime",
                 "use --operator trainjob, or leave --runtime out");
  }
  if (!job.least_nodes || which == Operator::pytorchjob) return {};
  return usage(fmt::format("{} to {} nodes", *job.least_nodes, job.nodes),
               "only PyTorchJobs are elastic",
               "use --operator pytorchjob, or give one number of nodes");
}

bool Schema::has(std::string_view path) const {
  const json* schema = &schema_;
  for (const std::string_view key : split(path, '.')) {
    if (schema->is_null()) return true;
    bool is_field = true;
    schema = &below(*schema, std::string(key), is_field);
    if (!is_field) return false;
  }
  return true;
}

std::optional<std::string> Schema::unknown_field(const Json& object) const {
  Json spec = Json::object();  // the rest is the API's own
  if (object.contains("spec")) spec["spec"] = object.at("spec");
  return unknown_in(schema_, spec, "");
}

Schema parse_schema(std::string_view text, Operator which) {
  const json all = json_in(text, limits);
  if (!all.is_object()) return {};
  const auto components = all.find("components");
  if (components == all.end() || !components->is_object()) return {};
  const auto schemas = components->find("schemas");
  if (schemas == components->end() || !schemas->is_object()) return {};
  for (const json& schema : *schemas) {
    const bool has_spec = schema.is_object() && schema.contains("properties") &&
                          schema.at("properties").contains("spec");
    if (has_spec && is_of(schema, kind_of(which))) return Schema(schema);
  }
  return {};
}

Schema ask_schema(Operator which, const Environment& environment, std::chrono::milliseconds limit) {
  const std::string path =
      fmt::format("/openapi/v3/apis/{}", places[static_cast<std::size_t>(which)]);
  const auto answer = process::run({"kubectl", "get", "--raw", path}, environment, limit);
  if (!answer || answer->code != 0) return {};
  return parse_schema(answer->out, which);
}

}  // namespace toprun::engines::kubernetes
