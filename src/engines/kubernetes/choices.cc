#include "engines/kubernetes/choices.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/api.h"
#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/kubernetes_jobs.h"

namespace toprun::engines::kubernetes {
namespace {

using nlohmann::json;

// The answer, but for a line in `trouble`.
template <class T>
std::optional<T> noted(Result<T> answer, std::vector<std::string>& trouble) {
  if (answer) return *std::move(answer);
  trouble.push_back(answer.error().line());
  return std::nullopt;
}

Result<std::string> kinds_that_are_there(const Environment& environment,
                                         std::chrono::milliseconds limit) {
  auto answer = TRY(process::run({"kubectl", "api-resources", "-o", "name"}, environment, limit));
  if (answer.code == 0) return std::move(answer.out);
  return std::unexpected(refusal("kubectl api-resources", answer.err));
}

}  // namespace

std::vector<std::string> parse_operators(std::string_view text) {
  const auto lines = split(text, '\n');
  std::vector<std::string> operators;
  for (const Kind& kind : kinds) {
    if (std::ranges::find(lines, kind.resource) == lines.end()) continue;
    operators.push_back(lower(kind.word));
  }
  return operators;
}

std::vector<ClaimChoice> claims_in(const json& list) {
  std::vector<ClaimChoice> claims;
  for (const json* object : items_of(list)) {
    ClaimChoice claim{text_at(*object, {"metadata", "name"}),
                      text_at(*object, {"status", "capacity", "storage"})};
    for (const json& mode : at(*object, {"spec", "accessModes"})) {
      if (mode == "ReadWriteMany" || mode == "ReadOnlyMany") claim.is_shared = true;
    }
    if (!claim.name.empty()) claims.push_back(std::move(claim));
  }
  return claims;
}

PodChoices ask_pod_choices(const Environment& environment, std::vector<std::string>& trouble) {
  PodChoices choices;
  const auto limit = engine_timeout_of(environment);
  if (!limit) return choices;  // a Queue that could be made has it right
  const Api api(environment, *limit);
  choices.space = noted(api.space(), trouble).value_or("");
  if (const auto names = noted(kinds_that_are_there(environment, *limit), trouble)) {
    choices.operators = parse_operators(*names);
  }
  const auto take = [&](const json& page, bool is_first) {
    if (is_first) choices.claims.clear();
    std::ranges::move(claims_in(page), std::back_inserter(choices.claims));
    return true;
  };
  const auto reported =
      noted(api.list(claims_resource, Api::Scope::own_namespace, {}, take), trouble);
  if (reported && reported->is_forbidden()) trouble.push_back(reported->refusal.line());
  // A job of several pods can mount these.
  std::ranges::stable_partition(choices.claims, &ClaimChoice::is_shared);
  return choices;
}

}  // namespace toprun::engines::kubernetes
