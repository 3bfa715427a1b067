#include "engines/kubernetes/kueue.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"

namespace toprun::engines::kubernetes {
namespace {

using nlohmann::json;

constexpr const char* queued_word = "Kueue";

std::optional<Admission::Condition> condition_of(const json& workload, std::string_view type) {
  const json& reported = at(workload, {"status", "conditions"});
  if (!reported.is_array()) return std::nullopt;
  const auto found = std::ranges::find_if(
      reported, [&](const json& one) { return text_at(one, {"type"}) == type; });
  if (found == reported.end()) return std::nullopt;
  return Admission::Condition{text_at(*found, {"status"}) == "True", text_at(*found, {"reason"}),
                              text_at(*found, {"message"})};
}

std::vector<std::string> open_checks_of(const json& workload) {
  std::vector<std::string> open;
  for (const json& check : at(workload, {"status", "admissionChecks"})) {
    const std::string state = text_at(check, {"state"});
    if (state.empty() || state == "Ready") continue;
    const std::string message = text_at(check, {"message"});
    open.push_back(fmt::format("{} is {}{}{}", text_at(check, {"name"}), state,
                               message.empty() ? "" : ": ", message));
  }
  return open;
}

Admission admission_of(const json& workload) {
  Admission out;
  out.name = text_at(workload, {"metadata", "name"});
  out.queue = text_at(workload, {"spec", "queueName"});
  const json& active = at(workload, {"spec", "active"});
  out.is_active = !active.is_boolean() || active.get<bool>();
  for (const json& owner : at(workload, {"metadata", "ownerReferences"})) {
    out.owners.push_back(
        {text_at(owner, {"kind"}), text_at(owner, {"name"}), text_at(owner, {"uid"})});
  }
  out.reserved = condition_of(workload, "QuotaReserved");
  out.admitted = condition_of(workload, "Admitted");
  out.evicted = condition_of(workload, "Evicted");
  out.checks = open_checks_of(workload);
  return out;
}

bool is_true(const std::optional<Admission::Condition>& condition) {
  return condition && condition->holds;
}

}  // namespace

std::vector<Admission> admissions_in(const json& list) {
  std::vector<Admission> all;
  for (const json* workload : items_of(list)) all.push_back(admission_of(*workload));
  return all;
}

bool is_of(const Admission& admission, const Job& job, const Kind& kind) {
  return std::ranges::any_of(admission.owners, [&](const Admission::Owner& owner) {
    if (owner.name != job.id) return false;
    if (owner.kind == kind.word) return owner.uid == job.instance;
    return kind.word == "TrainJob" && owner.kind == "JobSet";
  });
}

std::string why_it_waits(const Admission& admission) {
  const std::string evicted =
      is_true(admission.evicted)
          ? fmt::format("{}: {}", admission.evicted->reason, admission.evicted->message)
          : std::string();
  if (!admission.is_active) {
    return "its Workload is deactivated, and waits until its spec.active is true again" +
           (evicted.empty() ? evicted : "; " + evicted);
  }
  if (is_true(admission.admitted)) return "it was admitted, and its pods are about to be made";
  if (is_true(admission.reserved)) {
    return "its quota is reserved, and admission checks are not done yet" +
           (admission.checks.empty() ? std::string() : ": " + join(admission.checks, "; "));
  }
  const bool is_reported = admission.reserved && !admission.reserved->message.empty();
  if (!is_reported) return evicted.empty() ? "it has not processed this job yet" : evicted;
  const std::string& why = admission.reserved->message;
  return evicted.empty() || evicted.ends_with(why) ? why : fmt::format("{}; {}", why, evicted);
}

void set_queued(Job& job, std::string why) {
  job.state = JobState::pending;
  job.state_word = "Pending";
  job.reason = queued_word;
  job.reason_words = std::move(why);
  job.started.reset();
  job.used.reset();
}

std::optional<std::int64_t> ahead_in(const json& summary, std::string_view workload) {
  for (const json* item : items_of(summary)) {
    if (text_at(*item, {"metadata", "name"}) != workload) continue;
    const json& place = at(*item, {"positionInLocalQueue"});
    if (place.is_number_integer()) return std::max<std::int64_t>(0, place.get<std::int64_t>());
  }
  return std::nullopt;
}

}  // namespace toprun::engines::kubernetes
