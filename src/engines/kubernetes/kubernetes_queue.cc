#include "engines/kubernetes/kubernetes_queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <span>

#include <nlohmann/json.hpp>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/api.h"
#include "engines/kubernetes/job_pods.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/kubernetes_jobs.h"
#include "engines/kubernetes/kueue.h"
#include "engines/kubernetes/machines.h"
#include "engines/pod_queue.h"
#include "engines/slurm/slurm_queue.h"

namespace toprun::engines {
namespace {

using kubernetes::Answer;
using kubernetes::Api;
using kubernetes::Kind;
using kubernetes::PodFacts;
using nlohmann::json;

constexpr const char* unfinished =
    "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
constexpr std::size_t names_at_a_time = 64;  // in one address, of at most 63 bytes each
constexpr std::string_view rights = "kubectl auth can-i --list shows your rights";

using PodsByJob = std::map<std::string, std::vector<PodFacts>>;  // by the job's number

const Kind* kind_of(const Job& job) {
  const auto found = std::ranges::find_if(kubernetes::kinds, [&](const Kind& kind) {
    return job.number == fmt::format("{}/{}", kind.resource, job.id);
  });
  return found == kubernetes::kinds.end() ? nullptr : &*found;
}

kubernetes::Resource resource_of(const Kind& kind) {
  return {kind.resource, kind.version};
}

// "PyTorchJobs and JobSets".
std::string in_words(const std::vector<const Kind*>& kinds) {
  std::string words;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    words += i == 0 ? "" : i + 1 == kinds.size() ? " and " : ", ";
    words += fmt::format("{}s", kinds[i]->word);
  }
  return words;
}

// The name comes first: the user may have meant a job of Slurm's.
Error without_cluster(const JobId& id, const Environment& environment) {
  const bool is_chosen =
      queue_kind(environment.get("TOPRUN_ON").value_or("")) == QueueKind::kubernetes;
  if (!id.has_pods && !is_chosen) {
    if (auto of_slurm = slurm_job_by_name(id.text, environment)) {
      if (environment.non_empty("KUBECONFIG")) {
        (*of_slurm)->fix += "; kubectl reaches no cluster with this KUBECONFIG";
      }
      return *std::move(of_slurm);
    }
  }
  return {"job " + id.text, "kubectl knows no cluster here that could have a job with this name",
          "log in to the cluster or set KUBECONFIG", exit_failure};
}

Error not_found(const JobId& id, const Error& refusal, const Environment& environment) {
  const std::string what = fmt::format("cannot find out whether job {} exists", id.text);
  if (!kubernetes::is_without_cluster(refusal)) return {what, refusal.line(), "", exit_failure};
  Error error = without_cluster(id, environment);
  error->kind = ErrorKind::out_of_reach;
  return error;
}

class KubernetesQueue : public PodQueue {
 public:
  KubernetesQueue(const Environment& environment, std::chrono::milliseconds timeout)
      : PodQueue(environment, timeout),
        api_(environment, timeout),
        space_(environment.get("TOPRUN_NAMESPACE").value_or("")),
        user_(kubernetes::user_of(environment)) {}

  QueueKind kind() const override { return QueueKind::kubernetes; }
  std::string_view engine_in_words() const override { return "Kubernetes"; }
  Result<JobList> jobs(std::optional<std::uint32_t> uid) const override {
    auto list = all(uid);
    if (!list) return list;
    std::erase_if(list->jobs, [](const Job& job) { return has_ended(job.state); });
    const auto untold = TRY(complete(list->jobs));
    list->untold.insert(list->untold.end(), untold.begin(), untold.end());
    return list;
  }
  Result<std::vector<Job>> find(const JobId& id) const override {
    std::vector<const Kind*> looked, refused;
    Error refusal;
    for (const Kind& kind : kubernetes::kinds) {
      const bool is_meant =
          id.record.empty() || id.record == fmt::format("{}/{}", kind.resource, id.text);
      if (!is_meant) continue;
      std::optional<Job> job;
      auto answer = one(kind, id.text, job);
      if (!answer) return std::unexpected(not_found(id, answer.error(), environment_));
      (answer->is_forbidden() ? refused : looked).push_back(&kind);
      if (answer->is_forbidden()) refusal = std::move(answer->refusal);
      if (!job) continue;
      if (job->user == user_) job->uid = ::getuid();
      std::vector<Job> found{*std::move(job)};
      const auto untold = TRY(complete(found));
      found.front().untold = join(untold, "; ");
      return found;
    }
    if (refused.empty()) return std::vector<Job>();
    if (looked.empty()) return std::unexpected(std::move(refusal));
    return fail(fmt::format("cannot find out whether job {} exists", id.text),
                fmt::format("the cluster has no {}{} of this name, and does not let you list {}",
                            looked.front()->word,
                            looked.size() > 1 ? fmt::format(" or {}", looked.back()->word) : "",
                            in_words(refused)),
                std::string(rights));
  }
  Result<JobList> ended(std::uint32_t uid) const override {
    auto list = all(uid);
    if (!list) return list;
    std::erase_if(list->jobs, [](const Job& job) { return !has_ended(job.state); });
    const auto failed = std::ranges::partition(
        list->jobs, [](const Job& job) { return job.state != JobState::failed; });
    std::vector<Job> to_complete(failed.begin(), failed.end());
    const auto untold = TRY(complete(to_complete));
    std::ranges::move(to_complete, failed.begin());
    list->untold.insert(list->untold.end(), untold.begin(), untold.end());
    return list;
  }
  Result<std::vector<std::string>> cancel_command(const std::vector<std::string>& ids,
                                                  const std::string& signal,
                                                  Addressee) const override {
    if (!signal.empty()) {
      return fail("--signal " + signal,
                  "Kubernetes cannot send a signal to a job; it can only end the job",
                  "leave --signal out, or use kubectl exec");
    }
    std::vector<std::string> words{"delete", "--wait=false"};
    for (const std::string& id : ids) {
      const auto jobs = TRY(find({id, {}, {}}));
      for (const Job& job : jobs) words.push_back(job.number);
    }
    return kubectl(std::move(words));
  }
  Result<std::vector<std::string>> execute(const std::vector<std::string>& command) const override {
    const auto done = TRY(process::run(command, environment_, timeout_));
    if (done.code != 0) return std::unexpected(kubernetes::refusal("kubectl delete", done.err));
    return std::vector<std::string>();
  }
  // Nodes and all users' pods are often not a user's to read: what is refused is left out and said.
  Result<Machines> machines() const override {
    Machines machines;
    TRY(reported(kubernetes::nodes_resource, Api::Scope::cluster, {}, machines,
                 [&](const json& page, bool is_first) {
                   if (is_first) machines.nodes.clear();
                   std::ranges::move(kubernetes::nodes_in(page),
                                     std::back_inserter(machines.nodes));
                   return true;
                 }));
    std::vector<kubernetes::PodUse> uses;
    const auto take_pods = [&](const json& page, bool is_first) {
      if (is_first) uses.clear();
      std::ranges::move(kubernetes::uses_in(page), std::back_inserter(uses));
      return true;
    };
    machines.usage_known =
        TRY(machines.nodes.empty() ? Result<bool>(false)
                                   : reported(kubernetes::pods_resource, Api::Scope::cluster,
                                              unfinished, machines, take_pods));
    kubernetes::add_usage(machines.nodes, uses);
    machines.partitions = kubernetes::pools_of(machines.nodes);
    machines.partition_word = "POOL";
    TRY(reported(kubernetes::queues_resource, Api::Scope::own_namespace, {}, machines,
                 [&](const json& page, bool is_first) {
                   if (is_first) machines.queues.clear();
                   std::ranges::move(kubernetes::queues_in(page),
                                     std::back_inserter(machines.queues));
                   return true;
                 }));
    return machines;
  }
  std::string reason_words(const Job& job) const override { return job.reason_words; }
  std::string state_words(std::string_view state_word) const override {
    return std::string(kubernetes::state_words(state_word));
  }
  std::string forgets(const JobId& id) const override {
    return fmt::format("Kubernetes has no PyTorchJob, TrainJob or JobSet {} in {}", id.text,
                       space_.empty() ? "this namespace" : "namespace " + space_);
  }
  std::optional<std::vector<std::string>> log_command(const Job& job, bool follow,
                                                      const Printer* only) const override {
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
  Result<std::vector<JobPod>> pods(const Job& job) const override {
    if (kind_of(job) == nullptr) return Queue::pods(job);
    PodsByJob pods;
    const auto answer = TRY(read_pods_of(*kind_of(job), std::span(&job.id, 1), pods));
    if (answer.is_forbidden()) return std::unexpected(answer.refusal);
    return kubernetes::pods_by_number(pods[job.number]);
  }
  std::vector<std::string> exec_command(const Job&, const JobPod& pod,
                                        Terminal terminal) const override {
    std::vector<std::string> words{"exec", pod.name, "-i"};
    if (terminal == Terminal::yes) words.emplace_back("-t");
    if (!pod.container.empty()) words.insert(words.end(), {"-c", pod.container});
    words.emplace_back("--");
    return kubectl(std::move(words));
  }

 private:
  std::vector<std::string> kubectl(std::vector<std::string> words) const {
    words.insert(words.begin(), "kubectl");
    if (!space_.empty()) words.insert(words.begin() + 1, {"-n", space_});
    return words;
  }
  // Of all kinds that the user may list. Error: there is none of these.
  Result<JobList> all(std::optional<std::uint32_t> uid) const {
    JobList list;
    std::vector<const Kind*> refused;
    Error refusal;
    for (const Kind& kind : kubernetes::kinds) {
      std::vector<Job> some;
      const auto take = [&](const json& page, bool is_first) {
        if (is_first) some.clear();
        std::ranges::move(kubernetes::jobs_in(page, kind), std::back_inserter(some));
        return true;
      };
      const auto answer = TRY(api_.list(resource_of(kind), Api::Scope::own_namespace, {}, take));
      if (answer.is_forbidden()) {
        refused.push_back(&kind);
        refusal = answer.refusal;
      }
      for (Job& job : some) {
        if (job.user == user_) job.uid = ::getuid();
        if (!uid || job.uid == uid) list.jobs.push_back(std::move(job));
      }
    }
    if (refused.size() == kubernetes::kinds.size()) return std::unexpected(std::move(refusal));
    if (!refused.empty()) {
      list.untold.push_back(
          fmt::format("{} are missing here: the cluster does not let you list them; {}",
                      in_words(refused), rights));
    }
    return list;
  }
  Result<Answer> one(const Kind& kind, const std::string& name, std::optional<Job>& job) const {
    json object;
    auto answer = api_.get(resource_of(kind), name, object);
    if (!answer || !answer->is_reported()) return answer;
    auto jobs = kubernetes::jobs_in(object, kind);
    if (jobs.empty()) return Answer{Answer::Kind::absent, {}};
    job = std::move(jobs.front());
    return answer;
  }
  // Adds what their pods, Kueue and events tell. What it returns are refusals, a line each.
  Result<std::vector<std::string>> complete(std::vector<Job>& jobs) const {
    for (Job& job : jobs) count_time_since(job, job.started);
    PodsByJob pods;
    auto untold = read_pods(jobs, pods);
    if (!untold) return untold;
    std::vector<Job*> without_pods;
    for (Job& job : jobs) {
      if (!untold->empty()) break;  // pods are unknown, which is not the same as none
      const auto& its_pods = pods[job.number];
      kubernetes::add_pods(job, its_pods);
      const auto made = std::ssize(kubernetes::pods_by_number(its_pods));
      if (job.state == JobState::pending && made < std::max<std::int64_t>(1, job.nodes)) {
        without_pods.push_back(&job);
      }
    }
    if (!without_pods.empty()) add_warnings(without_pods);
    TRY(add_queues(jobs));
    return untold;
  }
  // What it returns are refusals, each once.
  Result<std::vector<std::string>> read_pods(std::span<const Job> jobs, PodsByJob& pods) const {
    std::vector<std::string> untold;
    for (const Kind& kind : kubernetes::kinds) {
      std::vector<std::string> names;
      for (const Job& job : jobs) {
        if (kind_of(job) == &kind) names.push_back(job.id);
      }
      for (std::span<const std::string> rest = names; !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), names_at_a_time));
        rest = rest.subspan(some.size());
        const auto answer = TRY(read_pods_of(kind, some, pods));
        if (answer.is_forbidden()) return std::vector{answer.refusal.line()};
      }
    }
    return untold;
  }
  // The pods that bear the names of jobs of one kind.
  Result<Answer> read_pods_of(const Kind& kind, std::span<const std::string> names,
                              PodsByJob& pods) const {
    const std::string selector =
        names.size() == 1 ? fmt::format("{}={}", kind.pods_label, names.front())
                          : fmt::format("{} in ({})", kind.pods_label, fmt::join(names, ","));
    std::vector<PodFacts> found;
    const auto take = [&](const json& page, bool is_first) {
      if (is_first) found.clear();
      std::ranges::move(kubernetes::pods_in(page, kind.pods_label), std::back_inserter(found));
      return true;
    };
    auto answer = api_.list(kubernetes::pods_resource, Api::Scope::own_namespace,
                            "labelSelector=" + kubernetes::escaped(selector), take);
    for (PodFacts& pod : found) {
      pods[fmt::format("{}/{}", kind.resource, pod.job)].push_back(std::move(pod));
    }
    return answer;
  }
  // Of suspended jobs, those that wait in Kueue.
  Result<void> add_queues(std::vector<Job>& jobs) const {
    const auto is_open = [](const Job& job) { return job.state == JobState::suspended; };
    if (std::ranges::none_of(jobs, is_open)) return {};
    const auto take = [&](const json& page, bool) {
      for (const kubernetes::Admission& admission : kubernetes::admissions_in(page)) {
        for (Job& job : jobs) {
          if (!is_open(job) || !kubernetes::is_of(admission, job, *kind_of(job))) continue;
          kubernetes::set_queued(job, kubernetes::why_it_waits(admission));
          add_place(job, admission);
        }
      }
      return std::ranges::any_of(jobs, is_open);
    };
    const auto answer =
        TRY(api_.list(kubernetes::workloads_resource, Api::Scope::own_namespace, {}, take));
    for (Job& job : jobs) {
      if (!is_open(job) || job.partition.empty()) continue;
      if (answer.is_reported())
        kubernetes::set_queued(job, "there is no Workload for this job yet");
      if (answer.is_forbidden()) {
        kubernetes::set_queued(
            job,
            fmt::format("queue {} has not admitted the job; the cluster does not report why: {}",
                        job.partition, answer.refusal->why));
      }
    }
    return {};
  }
  // Not every cluster tells the order of its queues, nor to every user.
  void add_place(Job& job, const kubernetes::Admission& admission) const {
    json summary;
    if (!kubernetes::is_label(admission.queue)) return;
    const auto answer =
        api_.get(kubernetes::visibility_resource, admission.queue + "/pendingworkloads", summary);
    if (answer && answer->is_reported()) job.ahead = kubernetes::ahead_in(summary, admission.name);
  }
  // Why pods are not made: a quota, a webhook. Without the right to read events the reason stays.
  void add_warnings(std::span<Job* const> jobs) const {
    std::vector<kubernetes::Warning> warnings;
    const auto take = [&](const json& page, bool is_first) {
      if (is_first) warnings.clear();
      std::ranges::move(kubernetes::warnings_in(page), std::back_inserter(warnings));
      return true;
    };
    (void)api_.list(kubernetes::events_resource, Api::Scope::own_namespace,
                    "fieldSelector=type%3DWarning", take);
    for (Job* const job : jobs) {
      const kubernetes::Warning* const last =
          kubernetes::last_warning(warnings, job->id, *kind_of(*job));
      if (last == nullptr) continue;
      job->reason = last->reason;
      job->reason_words = last->message;
    }
  }
  // Whether the server gave the list. A cluster may have no such kind; a refusal is noted.
  Result<bool> reported(const kubernetes::Resource& resource, Api::Scope scope,
                        std::string_view query, Machines& machines,
                        const kubernetes::TakePage& take) const {
    auto answer = TRY(api_.list(resource, scope, query, take));
    if (answer.is_forbidden()) machines.untold.push_back(answer.refusal.line());
    return answer.is_reported();
  }

  const Api api_;
  const std::string space_;
  const std::string user_;
};

}  // namespace

Result<std::unique_ptr<Queue>> kubernetes_queue(const Environment& environment) {
  if (!process::find_program("kubectl", environment)) return std::unique_ptr<Queue>();
  const auto timeout = TRY(engine_timeout_of(environment));
  return std::make_unique<KubernetesQueue>(environment, timeout);
}

}  // namespace toprun::engines
