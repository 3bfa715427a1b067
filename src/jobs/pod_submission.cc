#include "jobs/pod_submission.h"

#include <fmt/format.h>

#include "base/console.h"
#include "base/print.h"
#include "base/text.h"
#include "scheduler/kubernetes/kubectl.h"
#include "scheduler/queue.h"

namespace toprun::jobs {
namespace {

namespace kubernetes = scheduler::kubernetes;

constexpr int indent = 2;

// kubectl's own words for the next steps, until toprun's verbs know such jobs.
std::string next_commands(const PodOptions& options, const std::string& object) {
  const std::string space =
      options.job.space.empty() ? "" : fmt::format(" -n {}", options.job.space);
  return fmt::format("kubectl get{0} {1}, kubectl delete{0} {1}", space, object);
}

}  // namespace

int submit_pods(const PodOptions& options, const Environment& environment) {
  for (const std::string& note : options.notes) say(note);
  const std::string text = kubernetes::manifest(options.which, options.job).dump(indent) + '\n';
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
  say(fmt::format("job {}: {}", kubernetes::name_in(*object), next_commands(options, *object)));
  return print(std::string(kubernetes::name_in(*object)) + '\n');
}

}  // namespace toprun::jobs
