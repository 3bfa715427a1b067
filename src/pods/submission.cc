#include "pods/submission.h"

#include <fmt/format.h>

#include <random>

#include "base/console.h"
#include "base/json_text.h"
#include "base/print.h"
#include "jobs/follow.h"
#include "plan/packed_words.h"
#include "pods/output.h"
#include "scheduler/kubernetes/constraints.h"
#include "scheduler/kubernetes/kubectl.h"
#include "scheduler/kubernetes/manifest.h"
#include "scheduler/kubernetes/node_access.h"
#include "scheduler/kubernetes/placing.h"
#include "scheduler/kubernetes/yaml.h"
#include "scheduler/queue.h"

namespace toprun::pods {
namespace {

namespace kubernetes = scheduler::kubernetes;
using kubernetes::Operator;

constexpr int indent = 2;

int told(const Result<int>& code) {
  return code ? *code : give_up(code.error());
}

Result<Operator> operator_of(const PodOptions& options, const Environment& environment,
                             std::chrono::milliseconds limit) {
  if (options.which) return *options.which;
  if (options.dry_run != DryRun::client) return kubernetes::find_operator(environment, limit);
  constexpr Operator assumed = Operator::pytorchjob;
  say(fmt::format("no cluster was asked: this is a {}; --operator says otherwise",
                  kubernetes::kind_of(assumed)));
  return assumed;
}

// The cluster completes the name, so the job's pods need another word to know each other by.
std::string fresh_mark(const std::string& name) {
  std::random_device random;
  return fmt::format("{}-{:08x}", name, random());
}

// For people, with what they may have to do before.
std::string printed(const PodOptions& options, const nlohmann::ordered_json& object) {
  if (options.as_json) return json_text(object, indent) + '\n';
  std::string out;
  for (const std::string& line : kubernetes::node_access(options.job)) out += "# " + line + '\n';
  return out + kubernetes::yaml(object);
}

// A TrainJob holds few words.
Result<void> fit_words(Operator which, kubernetes::Workload& job) {
  const bool fits = job.command.size() <= kubernetes::most_words_of_a_trainjob;
  if (which != Operator::trainjob || fits) return {};
  auto packed = plan::pack_words(job.command);
  if (!packed) return std::unexpected(packed.error());
  job.command = *std::move(packed);
  return {};
}

int create(const PodOptions& options, const nlohmann::ordered_json& object,
           const Environment& environment, std::chrono::milliseconds limit) {
  const bool is_trial = options.dry_run == DryRun::server;
  const auto made = kubernetes::create(json_text(object), is_trial, environment, limit);
  if (!made) return give_up(made.error());
  if (is_trial) {
    say("Kubernetes would take it");
    return print_bytes(printed(options, object));
  }
  const std::string id(kubernetes::name_in(*made));
  const int shown = print(id + '\n');
  say(next_words(options, id));
  Environment there = environment;
  if (!options.job.space.empty()) there.set("TOPRUN_NAMESPACE", options.job.space);
  if (options.follow) return told(follow_pods(id, there));
  return options.wait ? jobs::wait_for_job(id, there, {}) : shown;
}

}  // namespace

std::string next_words(const PodOptions& options, std::string_view id) {
  if (!options.interactive) {
    return fmt::format("job {0}: toprun status {0}, toprun logs -f {0}, toprun cancel {0}", id);
  }
  return fmt::format(
      "job {0}, whose pods sleep until toprun cancel {0}: toprun run --in {0} SCRIPT, "
      "toprun shell --attach {0}, toprun status {0}",
      id);
}

int submit_pods(const PodOptions& options, const Environment& environment) {
  for (const std::string& note : options.notes) say(note);
  const auto limit = scheduler::engine_timeout_of(environment);
  if (!limit) return give_up(limit.error());
  const auto which = operator_of(options, environment, *limit);
  if (!which) return give_up(which.error());
  if (const auto fits = kubernetes::check(*which, options.job); !fits) return give_up(fits.error());
  kubernetes::Workload job = options.job;
  if (const auto packed = fit_words(*which, job); !packed) return give_up(packed.error());
  if (kubernetes::needs_mark(job.placement) && job.name_is_beginning) {
    job.mark = fresh_mark(job.name);
  }
  const auto object = kubernetes::manifest(*which, job);
  if (options.dry_run == DryRun::client) return print_bytes(printed(options, object));
  return create(options, object, environment, *limit);
}

}  // namespace toprun::pods
