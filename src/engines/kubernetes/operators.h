#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// The operators for which toprun writes jobs, most preferred first. A PyTorchJob can be elastic. A
// TrainJob uses a runtime that the site provides.
enum class Operator { pytorchjob, trainjob, jobset };

std::string_view kind_of(Operator which);  // "PyTorchJob"
// Returns the value of Job::number for this operator's job with this name.
std::string record_of(Operator which, std::string_view name);

// Returns the operators in the output of `kubectl api-resources -o name`, most preferred first.
// Pure function.
std::vector<Operator> installed(std::string_view api_resources);

// Queries with kubectl which operators the cluster has, and returns at least one. Blocks for at
// most `limit`. Error: the cluster has none of these operators, or there is no answer.
Result<std::vector<Operator>> find_operators(const Environment& environment,
                                             std::chrono::milliseconds limit);

// Limits of a TrainJob: maxItems and maxLength in trainer.kubeflow.org_trainjobs.yaml. If a command
// has more words, the others are in `args`, which has the same limit. If a command is too long for
// both fields, it must be packed first (node/plan/packed_words.h).
inline constexpr std::size_t most_command_words = 128;
inline constexpr std::size_t most_words_of_a_trainjob = 2 * most_command_words;
inline constexpr std::size_t most_variables = 128;
inline constexpr std::size_t longest_image = 500;

// Checks whether this operator can run the job as it is. Pure. An error (exit 2) names the option
// and what to do. The following are refused:
//   TrainJob           values that exceed a limit above; the five variables that the TrainJob's
//                      webhook refuses (trainer, pkg/constants: TorchRunReservedEnvNames); settings
//                      without a field in runtimePatches (trainjob_types.go, PodSpecPatch): working
//                      directory, network, priority, scheduler, variables of a whole Secret
//   restricted pods    root, the machine's network, locked memory
//   JobSet, TrainJob   a number of nodes that may change during the run
//   KAI, Run:AI        more than one pool, because the pool of a node or pod is one label
Result<void> check(Operator which, const Workload& job);

// The fields that objects of a kind have in the version that the cluster uses. The fields come from
// the CRD's schema, which the API server publishes to all authenticated users (OpenAPI v3,
// Kubernetes 1.27 and later).
class Schema {
 public:
  // An empty schema allows every field.
  Schema() = default;
  // `schema`: the kind's entry in components.schemas.
  explicit Schema(nlohmann::json schema) : schema_(std::move(schema)) {}

  bool is_known() const { return !schema_.is_null(); }
  // Whether a field exists: "spec.runtimePatches". True if the schema is unknown.
  bool has(std::string_view path) const;
  // Returns the object's first field that the kind does not have: "spec.runtimePatches",
  // "spec.podTemplateOverrides[0].spec.hostNetwork". nullopt: all fields exist, or the schema is
  // unknown.
  std::optional<std::string> unknown_field(const nlohmann::ordered_json& object) const;

 private:
  nlohmann::json schema_;
};

// Reads the kind's schema from the output of `kubectl get --raw /openapi/v3/apis/GROUP/VERSION`; an
// empty schema if the kind is missing in the output. Pure function.
Schema parse_schema(std::string_view text, Operator which);

// Queries kubectl. Blocks for at most `limit`. Without an answer, the schema is empty.
Schema ask_schema(Operator which, const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
