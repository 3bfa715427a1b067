#include <chrono>
#include <thread>

#include "base/process.h"
#include "base/text.h"
#include "scheduler/slurm.h"
#include "scheduler/slurm_variables.h"

namespace toprun::scheduler {
namespace {

// A requeue signals the job's processes a moment before it counts itself, and any signal to a job
// also goes to the command that asks.
constexpr int most_questions = 5;
constexpr std::chrono::milliseconds between_questions{100};

// The value of KEY=VALUE among the words of a record.
std::optional<std::string_view> field(std::string_view record, std::string_view key) {
  for (const std::string_view word : words(record)) {
    if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
      return word.substr(key.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> preemption_in(std::string_view job, int restarts) {
  const auto preempted_at = field(job, "PreemptTime");
  if (preempted_at && *preempted_at != "None" && *preempted_at != "Unknown") {
    return fmt::format("Slurm preempted the job at {}", *preempted_at);
  }
  const auto counted = field(job, "Restarts");
  if (counted && parse_int(*counted).value_or(0) > restarts) return "Slurm requeued the job";
  return std::nullopt;
}

std::optional<std::string> SlurmEngine::preempted(const Environment& environment) const {
  const auto job = environment.non_empty("SLURM_JOB_ID");
  if (!job) return std::nullopt;
  const auto restarts = slurm::number(environment, "SLURM_RESTART_COUNT", 0, INT32_MAX);
  if (!restarts) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + engine_answer_limit;
  for (int asked = 0; asked < most_questions; ++asked) {
    if (asked > 0) std::this_thread::sleep_for(between_questions);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto answer = output_of({"scontrol", "show", "job", "-o", *job}, environment, left);
    auto words = preemption_in(answer.value_or(""), static_cast<int>(restarts->value_or(0)));
    if (words) return words;
  }
  return std::nullopt;
}

}  // namespace toprun::scheduler
