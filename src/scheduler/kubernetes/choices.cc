#include "scheduler/kubernetes/choices.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "process/command.h"
#include "scheduler/kubernetes/jobs.h"
#include "scheduler/kubernetes/json_object.h"
#include "scheduler/kubernetes/kubectl.h"

namespace toprun::scheduler::kubernetes {
namespace {

using nlohmann::json;

std::vector<std::string> in_namespace(std::vector<std::string> words,
                                      const Environment& environment) {
  words.insert(words.begin(), "kubectl");
  if (const auto space = environment.non_empty("TOPRUN_NAMESPACE")) {
    words.insert(words.begin() + 1, {"-n", *space});
  }
  return words;
}

std::optional<std::string> ask(std::vector<std::string> words, const Environment& environment,
                               std::vector<std::string>& trouble) {
  const auto timeout = engine_timeout_of(environment);
  if (!timeout) return std::nullopt;  // a Queue that could be made has it right
  const std::string command = fmt::format("kubectl {} {}", words[0], words[1]);
  auto answer = process::run(in_namespace(std::move(words), environment), environment, *timeout);
  if (answer && answer->code == 0) return std::move(answer->out);
  trouble.push_back((answer ? refusal(command, answer->err) : answer.error()).line());
  return std::nullopt;
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

Result<std::vector<ClaimChoice>> parse_claims(std::string_view text) {
  const auto value = parse_object(text);
  if (!value) return std::unexpected(value.error());
  std::vector<ClaimChoice> claims;
  for (const json* object : items_of(*value)) {
    ClaimChoice claim{text_at(*object, {"metadata", "name"}),
                      text_at(*object, {"status", "capacity", "storage"})};
    for (const json& mode : at(*object, {"spec", "accessModes"})) {
      if (mode == "ReadWriteMany" || mode == "ReadOnlyMany") claim.is_shared = true;
    }
    if (!claim.name.empty()) claims.push_back(std::move(claim));
  }
  // A job of several pods can mount these.
  std::ranges::stable_partition(claims, &ClaimChoice::is_shared);
  return claims;
}

PodChoices ask_pod_choices(const Environment& environment, std::vector<std::string>& trouble) {
  PodChoices choices;
  choices.space = environment.get("TOPRUN_NAMESPACE").value_or("");
  if (choices.space.empty()) {
    const auto space =
        ask({"config", "view", "--minify", "-o", "jsonpath={..namespace}"}, environment, trouble);
    choices.space = trim(space.value_or(""));
  }
  if (const auto kinds_text = ask({"api-resources", "-o", "name"}, environment, trouble)) {
    choices.operators = parse_operators(*kinds_text);
  }
  const auto text = ask({"get", "persistentvolumeclaims", "-o", "json"}, environment, trouble);
  if (!text) return choices;
  auto claims = parse_claims(*text);
  if (!claims) trouble.push_back(claims.error().line());
  if (claims) choices.claims = *std::move(claims);
  return choices;
}

}  // namespace toprun::scheduler::kubernetes
