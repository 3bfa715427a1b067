#include "node/plan/sleeping_pods.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/counted.h"
#include "base/text/text.h"

namespace toprun::plan {
namespace {

constexpr std::size_t most_pods_named = 3;

Error about(const JobOfPods& found, const std::string& option, std::string why) {
  return {option, std::move(why), fmt::format("wait for it: toprun status {}", found.job.id),
          exit_failure};
}

}  // namespace

Result<JobOfPods> find_pods(const std::string& option, const std::string& id,
                            const Environment& environment) {
  const auto parsed = TRY(engines::parse_job_id(id));
  auto queue = TRY(engines::find_queue_of(parsed, environment));
  auto jobs = TRY(queue->find(parsed));
  if (jobs.empty()) {
    return fail(option, queue->forgets(parsed), "list the jobs with toprun jobs");
  }
  JobOfPods found{std::move(queue), std::move(jobs.front()), {}};
  if (has_ended(found.job.state)) {
    return fail(option, "the job has ended", fmt::format("see toprun status {}", id));
  }
  found.pods = TRY(found.queue->pods(found.job));
  return found;
}

Result<JobOfPods> running_pods(const std::string& option, const std::string& id,
                               const Environment& environment) {
  auto found = find_pods(option, id, environment);
  if (!found) return found;
  const auto there = static_cast<std::int64_t>(found->pods.size());
  if (there < std::max<std::int64_t>(1, found->job.nodes)) {
    return std::unexpected(about(
        *found, option,
        fmt::format("{} of its {} there", there,
                    counted(found->job.nodes, "pod") + (found->job.nodes == 1 ? " is" : " are"))));
  }
  std::vector<std::string> troubles;
  for (const engines::JobPod& pod : found->pods) {
    if (pod.trouble.empty()) continue;
    if (troubles.size() < most_pods_named) {
      troubles.push_back(fmt::format("pod {} does not run: {}", pod.name, printable(pod.trouble)));
    }
  }
  if (troubles.empty()) return found;
  return std::unexpected(about(*found, option, join(troubles, "; ")));
}

std::vector<engines::Node> nodes_of(const JobOfPods& found) {
  std::vector<engines::Node> nodes;
  for (const engines::JobPod& pod : found.pods) {
    nodes.push_back({pod.name, std::nullopt, pod.name,
                     found.queue->exec_command(found.job, pod, engines::Terminal::no),
                     pod.address});
  }
  return nodes;
}

}  // namespace toprun::plan
