#include "engines/kubernetes/operators.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/kubernetes_jobs.h"

namespace toprun::engines::kubernetes {
namespace {

// Of `kinds`, in the order of the enum.
constexpr std::array operators = {Operator::pytorchjob, Operator::trainjob, Operator::jobset};
static_assert(operators.size() == kinds.size());

const Kind& kind_in_table(Operator which) {
  return kinds[static_cast<std::size_t>(which)];
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
        "cannot list the operators in the cluster", answer.error()->why,
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

}  // namespace toprun::engines::kubernetes
