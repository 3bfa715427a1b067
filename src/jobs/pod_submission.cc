#include "jobs/pod_submission.h"

#include <fmt/format.h>

#include "base/console.h"
#include "base/print.h"
#include "jobs/follow.h"
#include "jobs/pod_output.h"
#include "scheduler/kubernetes/kubectl.h"
#include "scheduler/queue.h"

namespace toprun::jobs {
namespace {

namespace kubernetes = scheduler::kubernetes;

constexpr int indent = 2;

int told(const Result<int>& code) {
  return code ? *code : give_up(code.error());
}

}  // namespace

std::string next_words(const PodOptions& options, std::string_view id) {
  if (!options.interactive) {
    return fmt::format("job {0}: toprun status {0}, toprun logs -f {0}, toprun cancel {0}", id);
  }
  return fmt::format("job {0}, whose pods sleep until toprun cancel {0}: toprun run --in {0} SCRIPT, "
                     "toprun shell --attach {0}, toprun status {0}",
                     id);
}

int submit_pods(const PodOptions& options, const Environment& environment) {
  for (const std::string& note : options.notes) say(note);
  const auto which = options.which.value_or(kubernetes::Operator::pytorchjob);
  const std::string text = kubernetes::manifest(which, options.job).dump(indent) + '\n';
  if (options.dry_run == DryRun::client) return print_bytes(text);
  const auto limit = scheduler::engine_timeout_of(environment);
  if (!limit) return give_up(limit.error());
  const auto object =
      kubernetes::create(text, options.dry_run == DryRun::server, environment, *limit);
  if (!object) return give_up(object.error());
  if (options.dry_run == DryRun::server) {
    say("Kubernetes would take it");
    return print_bytes(text);
  }
  const std::string id(kubernetes::name_in(*object));
  const int printed = print(id + '\n');
  say(next_words(options, id));
  Environment there = environment;
  if (!options.job.space.empty()) there.set("TOPRUN_NAMESPACE", options.job.space);
  if (options.follow) return told(follow_pods(id, there));
  return options.wait ? wait_for_job(id, there, {}) : printed;
}

}  // namespace toprun::jobs
