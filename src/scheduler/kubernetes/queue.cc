#include "scheduler/kubernetes/queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "process/command.h"
#include "process/program.h"
#include "scheduler/kubernetes/jobs.h"
#include "scheduler/kubernetes/kubectl.h"
#include "scheduler/kubernetes/machines.h"
#include "scheduler/pod_queue.h"

namespace toprun::scheduler {
namespace {

using kubernetes::Kind;

constexpr const char* unfinished = "status.phase!=Succeeded,status.phase!=Failed";

class KubernetesQueue : public PodQueue {
 public:
  KubernetesQueue(const Environment& environment, std::chrono::milliseconds timeout)
      : PodQueue(environment, timeout),
        space_(environment.get("TOPRUN_NAMESPACE").value_or("")),
        user_(kubernetes::user_of(environment)) {}

  std::string_view engine() const override { return "kubernetes"; }
  std::string_view engine_in_words() const override { return "Kubernetes"; }
  Result<std::vector<Job>> jobs(std::optional<std::uint32_t> uid) const override;
  Result<std::vector<Job>> find(const JobId& id) const override;
  Result<std::vector<Job>> ended(std::uint32_t uid) const override;
  Result<std::vector<std::string>> cancel_command(const std::vector<std::string>& ids,
                                                  const std::string& signal,
                                                  Addressee addressee) const override;
  Result<void> execute(const std::vector<std::string>& command) const override;
  Result<Machines> machines() const override;
  std::string reason_words(const Job&) const override { return {}; }
  std::string state_words(std::string_view state_word) const override {
    return std::string(kubernetes::state_words(state_word));
  }
  std::string forgets(const JobId& id) const override {
    return fmt::format("Kubernetes has no PyTorchJob, TrainJob or JobSet {} in {}", id.text,
                       space_.empty() ? "this namespace" : "namespace " + space_);
  }
  std::optional<std::vector<std::string>> log_command(const Job& job, bool follow,
                                                      const Printer* only) const override;
  Result<std::vector<JobPod>> pods(const Job& job) const override;
  std::vector<std::string> exec_command(const Job& job, const JobPod& pod,
                                        Terminal terminal) const override;

 private:
  std::vector<std::string> kubectl(std::vector<std::string> words) const;
  Result<process::Finished> ask(std::vector<std::string> words) const;
  Result<std::vector<Job>> all(std::optional<std::uint32_t> uid) const;
  Result<std::vector<Job>> all_of(const Kind& kind) const;
  Result<std::optional<Job>> one(const Kind& kind, const std::string& name) const;
  Result<std::string> pods_text(const Job& job, const Kind& kind) const;
  Result<void> add_pods(Job& job, const Kind& kind) const;
  void add_warning(Job& job) const;
  Result<std::optional<std::string>> told(std::vector<std::string> words, Machines& machines) const;

  const std::string space_;
  const std::string user_;
};

bool is_absent_kind(const process::Finished& finished) {
  return finished.err.contains("doesn't have a resource type");
}

bool is_absent_object(const process::Finished& finished) {
  return finished.err.contains("(NotFound)");
}

const Kind* kind_of(const Job& job) {
  const auto found = std::ranges::find_if(kubernetes::kinds, [&](const Kind& kind) {
    return job.number == fmt::format("{}/{}", kind.resource, job.id);
  });
  return found == kubernetes::kinds.end() ? nullptr : &*found;
}

std::vector<std::string> KubernetesQueue::kubectl(std::vector<std::string> words) const {
  words.insert(words.begin(), "kubectl");
  if (!space_.empty()) words.insert(words.begin() + 1, {"-n", space_});
  return words;
}

Result<process::Finished> KubernetesQueue::ask(std::vector<std::string> words) const {
  auto finished = process::run(kubectl(std::move(words)), environment_, timeout_);
  if (finished) return finished;
  return fail(
      "cannot ask Kubernetes", finished.error().why,
      "kubectl get pods tells whether it answers; TOPRUN_ENGINE_TIMEOUT=SECONDS waits longer");
}

Result<std::vector<Job>> KubernetesQueue::all_of(const Kind& kind) const {
  const auto answer = ask({"get", std::string(kind.resource), "-o", "json"});
  if (!answer) return std::unexpected(answer.error());
  if (answer->code == 0) return kubernetes::parse_jobs(answer->out, kind);
  if (is_absent_kind(*answer)) return std::vector<Job>();
  return std::unexpected(kubernetes::refusal("kubectl get", answer->err));
}

Result<std::vector<Job>> KubernetesQueue::all(std::optional<std::uint32_t> uid) const {
  std::vector<Job> jobs;
  for (const Kind& kind : kubernetes::kinds) {
    auto some = all_of(kind);
    if (!some) return some;
    for (Job& job : *some) {
      if (job.user == user_) job.uid = ::getuid();
      if (!uid || job.uid == uid) jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

Result<std::vector<Job>> KubernetesQueue::jobs(std::optional<std::uint32_t> uid) const {
  auto jobs = all(uid);
  if (!jobs) return jobs;
  std::erase_if(*jobs, [](const Job& job) { return has_ended(job.state); });
  for (Job& job : *jobs) {
    if (const auto added = add_pods(job, *kind_of(job)); !added) {
      return std::unexpected(added.error());
    }
  }
  return jobs;
}

Result<std::vector<Job>> KubernetesQueue::ended(std::uint32_t uid) const {
  auto jobs = all(uid);
  if (!jobs) return jobs;
  std::erase_if(*jobs, [](const Job& job) { return !has_ended(job.state); });
  for (Job& job : *jobs) {
    if (job.state != JobState::failed) continue;
    const auto added = add_pods(job, *kind_of(job));
    if (!added) return std::unexpected(added.error());
  }
  return jobs;
}

Result<std::optional<Job>> KubernetesQueue::one(const Kind& kind, const std::string& name) const {
  const auto answer = ask({"get", std::string(kind.resource), name, "-o", "json"});
  if (!answer) return std::unexpected(answer.error());
  if (is_absent_kind(*answer) || is_absent_object(*answer)) return std::optional<Job>();
  if (answer->code != 0) {
    return std::unexpected(kubernetes::refusal("kubectl get", answer->err));
  }
  auto jobs = kubernetes::parse_jobs(answer->out, kind);
  if (!jobs) return std::unexpected(jobs.error());
  return jobs->empty() ? std::optional<Job>() : std::optional(std::move(jobs->front()));
}

Result<std::vector<Job>> KubernetesQueue::find(const JobId& id) const {
  for (const Kind& kind : kubernetes::kinds) {
    auto job = one(kind, id.text);
    if (!job) return std::unexpected(job.error());
    if (!*job) continue;
    if ((*job)->user == user_) (*job)->uid = ::getuid();
    if (const auto added = add_pods(**job, kind); !added) return std::unexpected(added.error());
    return std::vector<Job>{**std::move(job)};
  }
  return std::vector<Job>();
}

Result<std::string> KubernetesQueue::pods_text(const Job& job, const Kind& kind) const {
  auto answer =
      ask({"get", "pods", "-l", fmt::format("{}={}", kind.pods_label, job.id), "-o", "json"});
  if (!answer) return std::unexpected(answer.error());
  if (answer->code == 0) return std::move(answer->out);
  return std::unexpected(kubernetes::refusal("kubectl get pods", answer->err));
}

Result<std::vector<JobPod>> KubernetesQueue::pods(const Job& job) const {
  const Kind* const kind = kind_of(job);
  if (kind == nullptr) return Queue::pods(job);
  const auto text = pods_text(job, *kind);
  return text ? kubernetes::parse_pods(*text) : std::unexpected(text.error());
}

std::vector<std::string> KubernetesQueue::exec_command(const Job&, const JobPod& pod,
                                                       Terminal terminal) const {
  std::vector<std::string> words{"exec", pod.name, "-i"};
  if (terminal == Terminal::yes) words.emplace_back("-t");
  if (!pod.container.empty()) words.insert(words.end(), {"-c", pod.container});
  words.emplace_back("--");
  return kubectl(std::move(words));
}

Result<void> KubernetesQueue::add_pods(Job& job, const Kind& kind) const {
  const auto text = pods_text(job, kind);
  if (!text) return std::unexpected(text.error());
  count_time_since(job, job.started);
  if (auto added = kubernetes::add_pods(job, *text); !added) return added;
  const auto made = kubernetes::parse_pods(*text);
  const bool lacks_pods = made && std::ssize(*made) < std::max<std::int64_t>(1, job.nodes);
  if (lacks_pods && job.state == JobState::pending) add_warning(job);
  return {};
}

// Why pods are not made: a quota, a webhook. Without the right to read events the reason stays.
void KubernetesQueue::add_warning(Job& job) const {
  const auto answer = ask({"get", "events", "--field-selector", "type=Warning", "-o", "json"});
  if (!answer || answer->code != 0) return;
  if (std::string why = kubernetes::last_warning(answer->out, job.id); !why.empty()) {
    job.reason = std::move(why);
  }
}

Result<std::vector<std::string>> KubernetesQueue::cancel_command(
    const std::vector<std::string>& ids, const std::string& signal, Addressee) const {
  if (!signal.empty()) {
    return fail("--signal " + signal, "Kubernetes sends a job no signal but its end",
                "leave it out, or use kubectl exec");
  }
  std::vector<std::string> words{"delete", "--wait=false"};
  for (const std::string& id : ids) {
    const auto jobs = find({id, {}, {}});
    if (!jobs) return std::unexpected(jobs.error());
    for (const Job& job : *jobs) words.push_back(job.number);
  }
  return kubectl(std::move(words));
}

Result<void> KubernetesQueue::execute(const std::vector<std::string>& command) const {
  const auto done = process::run(command, environment_, timeout_);
  if (!done) return std::unexpected(done.error());
  if (done->code != 0) return std::unexpected(kubernetes::refusal("kubectl delete", done->err));
  return {};
}

// Nodes and everybody's pods are often not a user's to read: what is refused is left out and said.
Result<Machines> KubernetesQueue::machines() const {
  Machines machines;
  auto nodes = told({"get", "nodes", "-o", "json"}, machines);
  if (!nodes) return std::unexpected(nodes.error());
  if (*nodes) {
    auto parsed = kubernetes::parse_nodes(**nodes);
    if (!parsed) return std::unexpected(parsed.error());
    machines.nodes = *std::move(parsed);
  }
  const auto pods =
      machines.nodes.empty()
          ? Result<std::optional<std::string>>()
          : told({"get", "pods", "--all-namespaces", "-o", "json", "--field-selector", unfinished},
                 machines);
  if (!pods) return std::unexpected(pods.error());
  machines.usage_known = pods->has_value();
  if (*pods) {
    const auto added = kubernetes::add_usage(machines.nodes, **pods);
    if (!added) return std::unexpected(added.error());
  }
  machines.partitions = kubernetes::pools_of(machines.nodes);
  machines.partition_word = "POOL";
  const auto queues = told({"get", "localqueues.kueue.x-k8s.io", "-o", "json"}, machines);
  if (!queues) return std::unexpected(queues.error());
  if (!*queues) return machines;
  auto parsed = kubernetes::parse_queues(**queues);
  if (!parsed) return std::unexpected(parsed.error());
  machines.queues = *std::move(parsed);
  return machines;
}

// kubectl's answer; nothing where the cluster has no such kind or refuses, which is noted.
Result<std::optional<std::string>> KubernetesQueue::told(std::vector<std::string> words,
                                                         Machines& machines) const {
  const std::string command = fmt::format("kubectl {} {}", words[0], words[1]);
  auto answer = ask(std::move(words));
  if (!answer) return std::unexpected(answer.error());
  if (answer->code == 0) return std::move(answer->out);
  if (is_absent_kind(*answer)) return std::optional<std::string>();
  Error refused = kubernetes::refusal(command, answer->err);
  if (!answer->err.contains("(Forbidden)")) return std::unexpected(std::move(refused));
  machines.untold.push_back(refused.line());
  return std::optional<std::string>();
}

std::optional<std::vector<std::string>> KubernetesQueue::log_command(const Job& job, bool follow,
                                                                     const Printer* only) const {
  const Kind* const kind = kind_of(job);
  if (kind == nullptr) return std::nullopt;
  std::vector<std::string> words{"logs"};
  if (only != nullptr) {
    words.push_back(only->name);
  } else {
    const auto most = std::max<std::int64_t>(job.nodes, std::ssize(job.printers)) + 1;
    words.insert(words.end(), {"-l", fmt::format("{}={}", kind->pods_label, job.id), "--tail=-1",
                               fmt::format("--max-log-requests={}", most)});
  }
  if (job.nodes > 1) words.emplace_back("--prefix");
  if (follow) words.emplace_back("--follow");
  return kubectl(std::move(words));
}

}  // namespace

Result<std::unique_ptr<Queue>> kubernetes_queue(const Environment& environment) {
  if (!process::find_program("kubectl", environment)) return std::unique_ptr<Queue>();
  const auto timeout = engine_timeout_of(environment);
  if (!timeout) return std::unexpected(timeout.error());
  return std::make_unique<KubernetesQueue>(environment, *timeout);
}

}  // namespace toprun::scheduler
