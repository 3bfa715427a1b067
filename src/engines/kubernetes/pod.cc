#include "engines/kubernetes/pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "engines/kubernetes/object_name.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr std::int64_t most_pods = 1'000'000;
constexpr std::int64_t most_port = 65'528;  // some of the next ones are tried too
constexpr std::array mpi_host_file_variables = {"OMPI_MCA_orte_default_hostfile",
                                                "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"};

struct Seen {
  const Environment& environment;
  std::string host;    // the first label of its name
  std::string domain;  // the first label of what follows: the headless service

  std::optional<std::string> get(std::string_view name) const {
    return environment.non_empty(name);
  }
};

Result<std::optional<Sourced<int>>> number(const Seen& seen, const std::string& name,
                                           std::int64_t least) {
  const auto text = seen.get(name);
  if (!text) return std::nullopt;
  const auto value = parse_int(*text);
  if (value && *value >= least && *value <= most_pods) {
    return Sourced<int>{static_cast<int>(*value), name};
  }
  return usage(fmt::format("{}=\"{}\"", name, *text),
               fmt::format("in a pod, this variable must be a number from {}", least),
               "correct or unset the variable");
}

// N, or the maximum of MIN:MAX; options have checked the form unless a flag overrides it.
std::optional<Sourced<int>> pet_nodes(const Seen& seen) {
  const auto text = seen.get("PET_NNODES");
  if (!text) return std::nullopt;
  const auto most = parse_int(split(*text, ':').back());
  if (!most || *most < 1 || *most > most_pods) return std::nullopt;
  return Sourced<int>{static_cast<int>(*most), "PET_NNODES"};
}

bool names_a_role(std::string_view host) {
  return role_in(first_label(host)).has_value();
}

// HOST of PET_RDZV_ENDPOINT's HOST:PORT.
std::string meeting_host(const Seen& seen) {
  const std::string endpoint = seen.get("PET_RDZV_ENDPOINT").value_or("");
  return endpoint.substr(0, endpoint.rfind(':'));
}

void take_root(const Seen& seen, Pod& pod) {
  if (const auto host = seen.get("MASTER_ADDR")) pod.root = {*host, "MASTER_ADDR"};
  const auto port = parse_int(seen.get("MASTER_PORT").value_or(""));
  if (port && *port > 0 && *port <= most_port) pod.port = static_cast<int>(*port);
}

template <class T>
Result<void> take(std::optional<T>& target, Result<std::optional<T>> read) {
  if (!read) return std::unexpected(std::move(read.error()));
  target = *std::move(read);
  return {};
}

// RANK is the pod's number; WORLD_SIZE counts pods, unless PET_ variables do.
Result<void> read_ranks(const Seen& seen, Pod& pod) {
  if (auto taken = take(pod.index, number(seen, "RANK", 0)); !taken) return taken;
  const bool by_pet = seen.get("PET_NODE_RANK") || seen.get("PET_NNODES");
  if (!by_pet) {
    if (auto taken = take(pod.count, number(seen, "WORLD_SIZE", 1)); !taken) return taken;
  }
  take_root(seen, pod);
  return {};
}

// --- Volcano ------------------------------------------------------------------------------------

struct Task {
  std::string name;                // "WORKER"
  std::vector<std::string> hosts;  // "job-worker-0.job"
};

// The svc plugin's VC_<TASK>_HOSTS.
std::vector<Task> tasks_in(const Seen& seen) {
  constexpr std::string_view prefix = "VC_", suffix = "_HOSTS";
  std::vector<Task> tasks;
  for (const auto& [name, value] : seen.environment.variables()) {
    const bool fits = name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
                      name.ends_with(suffix);
    if (!fits) continue;
    Task task{name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()), {}};
    for (const std::string_view host : split(value, ',')) {
      if (!trim(host).empty()) task.hosts.emplace_back(trim(host));
    }
    if (!task.hosts.empty()) tasks.push_back(std::move(task));
  }
  return tasks;
}

bool is_volcano(const Seen& seen) {
  return seen.get("VC_TASK_INDEX") || seen.get("VK_TASK_INDEX") || !tasks_in(seen).empty();
}

// Which tasks run the script is known only of one task alone, and of master and worker.
std::vector<std::string> pods_of(const std::vector<Task>& tasks) {
  if (tasks.size() == 1) return tasks[0].hosts;
  const bool are_roles =
      tasks.size() == 2 && tasks[0].name == "MASTER" && tasks[1].name == "WORKER";
  if (!are_roles) return {};
  std::vector<std::string> hosts = tasks[0].hosts;
  hosts.insert(hosts.end(), tasks[1].hosts.begin(), tasks[1].hosts.end());
  return hosts;
}

std::optional<Sourced<int>> place_among(const std::vector<std::string>& names,
                                        const std::string& host) {
  const auto at =
      std::ranges::find(names, host, [](const auto& name) { return first_label(name); });
  if (at == names.end()) return std::nullopt;
  return Sourced<int>{static_cast<int>(at - names.begin()), "the host's name"};
}

Result<void> read_volcano(const Seen& seen, Pod& pod) {
  pod.evidence = "VC_ variables";
  const std::vector<Task> tasks = tasks_in(seen);
  const std::vector<std::string> pods = pods_of(tasks);
  if (seen.get("RANK") && seen.get("WORLD_SIZE")) {
    if (auto read = read_ranks(seen, pod); !read) return read;
    if (pod.count && std::ssize(pods) == pod.count->value) pod.names = pods;
    return {};
  }
  take_root(seen, pod);
  if (pods.empty()) return {};
  pod.names = pods;
  const std::string source = fmt::format("VC_{}_HOSTS", tasks.front().name);
  pod.count = {static_cast<int>(pods.size()), source};
  if (!pod.root) pod.root = {pods.front(), source};
  pod.index = place_among(pods, seen.host);
  if (!pod.index && tasks.size() == 1) return take(pod.index, number(seen, "VC_TASK_INDEX", 0));
  return {};
}

// --- LeaderWorkerSet ----------------------------------------------------------------------------

bool is_leader_worker_set(const Seen& seen) {
  return seen.get("LWS_LEADER_ADDRESS") && seen.get("LWS_GROUP_SIZE");
}

// Up to 0.5 there is no LWS_WORKER_INDEX: the leader is <set>-<group>, a worker <leader>-<index>.
Result<void> read_leader_worker_set(const Seen& seen, Pod& pod) {
  const std::string leader = *seen.get("LWS_LEADER_ADDRESS");
  pod.evidence = "LWS_LEADER_ADDRESS";
  pod.root = {leader, "LWS_LEADER_ADDRESS"};
  if (auto taken = take(pod.count, number(seen, "LWS_GROUP_SIZE", 1)); !taken) return taken;
  if (auto taken = take(pod.index, number(seen, "LWS_WORKER_INDEX", 0)); !taken) return taken;
  if (pod.index) return {};
  const auto own = numbered(seen.host);
  if (seen.host == first_label(leader)) pod.index = {0, "the host's name"};
  if (own && own->base == first_label(leader)) pod.index = {own->number, "the host's name"};
  return {};
}

// --- Run:AI and PyTorchJob ----------------------------------------------------------------------

// The pods' names by index where this one's name fits: a Master, then Workers.
void take_role_names(const Seen& seen, Pod& pod) {
  const auto own = role_in(seen.host);
  if (!own || !pod.count || !pod.index) return;
  const auto name_of_pod = [&](int index) {
    return index == 0 ? own->job + "-master-0" : fmt::format("{}-worker-{}", own->job, index - 1);
  };
  if (name_of_pod(pod.index->value) != seen.host) return;
  for (int i = 0; i < pod.count->value; ++i) pod.names.push_back(name_of_pod(i));
}

// The worker's number is the pod's where no Master is: an elastic job.
Result<void> read_pytorchjob(const Seen& seen, Pod& pod) {
  pod.evidence = seen.get("PET_NNODES") ? "PET_NNODES" : "RANK and WORLD_SIZE";
  if (auto read = read_ranks(seen, pod); !read) return read;
  const auto own = role_in(seen.host);
  const auto meets = role_in(first_label(meeting_host(seen)));
  if (meets && meets->number == 0 && !pod.index && own && !own->is_master) {
    pod.index = {own->number, "the host's name"};
  }
  return {};
}

bool is_runai(const Seen& seen) {
  return seen.get("JOB_UUID") && seen.get("POD_UUID");
}

// A workload that is not distributed has one pod; one with parallelism numbers its pods and tells
// no more.
Result<void> read_runai(const Seen& seen, Pod& pod) {
  const bool distributed = seen.get("WORLD_SIZE") || seen.get("PET_NNODES");
  if (distributed) {
    if (auto read = read_pytorchjob(seen, pod); !read) return read;
  } else {
    if (auto taken = take(pod.index, number(seen, "POD_INDEX", 0)); !taken) return taken;
    if (!pod.index || pod.index->value == 0) pod.count = {1, "no WORLD_SIZE"};
    pod.evidence = pod.index ? fmt::format("POD_INDEX={}", pod.index->value) : "JOB_UUID";
  }
  pod.job = *seen.get("JOB_UUID");
  return {};
}

bool is_pytorchjob(const Seen& seen) {
  const bool numbered_pods = (seen.get("RANK") && seen.get("WORLD_SIZE")) || seen.get("PET_NNODES");
  return numbered_pods &&
         (names_a_role(seen.host) || names_a_role(seen.get("MASTER_ADDR").value_or("")) ||
          names_a_role(meeting_host(seen)));
}

// --- TrainJob, JobSet, Job, StatefulSet ---------------------------------------------------------

constexpr const char* completion_index = "JOB_COMPLETION_INDEX";

bool is_trainjob(const Seen& seen) {
  const std::string root = seen.get("PET_MASTER_ADDR").value_or("");
  return seen.get(completion_index) && first_label(root).ends_with("-node-0-0");
}

Result<void> read_trainjob(const Seen& seen, Pod& pod) {
  pod.evidence = "PET_MASTER_ADDR";
  pod.root = {*seen.get("PET_MASTER_ADDR"), "PET_MASTER_ADDR"};
  return take(pod.index, number(seen, completion_index, 0));
}

// The pods of a JobSet that has several Jobs of one kind are numbered from 0 in each.
bool is_one_of_several_jobs(const Seen& seen) {
  const auto own = numbered(seen.host);
  const auto job = own ? numbered(own->base) : std::nullopt;
  return job && job->number > 0;
}

bool is_jobset(const Seen& seen) {
  const auto own = numbered(seen.host);
  return seen.get(completion_index) && own && numbered(own->base) && !seen.domain.empty() &&
         seen.host.starts_with(seen.domain + "-");
}

// Pod 0's name by this one's, where a headless service gives them names.
void take_root_by_name(const Seen& seen, Pod& pod) {
  take_root(seen, pod);
  const auto own = numbered(seen.host);
  if (pod.root || seen.domain.empty() || !own || !pod.index) return;
  if (own->number != pod.index->value) return;
  pod.root = {fmt::format("{}-0.{}", own->base, seen.domain), "the host's name"};
}

Result<void> read_indexed_job(const Seen& seen, Pod& pod) {
  if (auto taken = take(pod.index, number(seen, completion_index, 0)); !taken) return taken;
  pod.evidence = fmt::format("{}={}", completion_index, pod.index->value);
  take_root_by_name(seen, pod);
  return {};
}

Result<void> read_jobset(const Seen& seen, Pod& pod) {
  if (!is_one_of_several_jobs(seen)) return read_indexed_job(seen, pod);
  pod.evidence = "host " + seen.host;
  take_root(seen, pod);
  return {};
}

bool is_indexed_job(const Seen& seen) {
  return seen.get(completion_index).has_value();
}

bool is_stateful_set(const Seen& seen) {
  return !seen.domain.empty() && numbered(seen.host);
}

Result<void> read_stateful_set(const Seen& seen, Pod& pod) {
  pod.evidence = "host " + seen.host;
  pod.index = {numbered(seen.host)->number, "the host's name"};
  take_root_by_name(seen, pod);
  return {};
}

struct KnownPod {
  PodKind kind;
  std::string_view title;
  bool (*is)(const Seen&);
  Result<void> (*read)(const Seen&, Pod&);
};
constexpr KnownPod known_pods[] = {
    {PodKind::volcano, "a Volcano job", is_volcano, read_volcano},
    {PodKind::leader_worker_set, "a LeaderWorkerSet", is_leader_worker_set, read_leader_worker_set},
    {PodKind::runai, "a Run:AI workload", is_runai, read_runai},
    {PodKind::pytorchjob, "a PyTorchJob", is_pytorchjob, read_pytorchjob},
    {PodKind::trainjob, "a TrainJob", is_trainjob, read_trainjob},
    {PodKind::jobset, "a JobSet", is_jobset, read_jobset},
    {PodKind::indexed_job, "an Indexed Job", is_indexed_job, read_indexed_job},
    {PodKind::stateful_set, "a StatefulSet", is_stateful_set, read_stateful_set},
};

// --- what holds for all kinds -------------------------------------------------------------------

void prefer(std::optional<Sourced<int>>& fact, const std::optional<Sourced<int>>& stronger,
            Pod& pod) {
  if (!stronger) return;
  if (fact && fact->value != stronger->value) {
    pod.notes.push_back(fmt::format("{}={} overrides {}={}", stronger->source, stronger->value,
                                    fact->source, fact->value));
  }
  fact = stronger;
}

// An elastic PyTorchJob with a Master counts its workers alone, and they meet at worker 0: neither
// RANK nor PET_NODE_RANK is a number among those. The owner of that name is the root.
bool counts_workers_alone(const Seen& seen) {
  const auto role = role_in(first_label(meeting_host(seen)));
  return role && !role->is_master && seen.get("MASTER_ADDR");
}

Result<void> take_pet(const Seen& seen, Pod& pod) {
  if (counts_workers_alone(seen)) {
    pod.index.reset();
    pod.count = pet_nodes(seen);
    return {};
  }
  const auto index = TRY(number(seen, "PET_NODE_RANK", 0));
  prefer(pod.index, index, pod);
  prefer(pod.count, pet_nodes(seen), pod);
  return {};
}

Result<void> check(const Pod& pod) {
  if (!pod.count || !pod.index || pod.index->value < pod.count->value) return {};
  return usage(fmt::format("{} {} and {} {}", pod.index->source, pod.index->value,
                           pod.count->source, pod.count->value),
               "the pod's number must be smaller than the number of pods",
               "give --nnodes and --node-rank");
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

// All pods of a job know pod 0's name. Pod 0 itself may have localhost in its place.
void name_job(const Seen& seen, Pod& pod) {
  if (!pod.job.empty() || !pod.root) return;
  pod.job = is_loopback(pod.root->value) ? seen.host : std::string(first_label(pod.root->value));
}

void take_names(const Seen& seen, Pod& pod) {
  if (!pod.names.empty() || !pod.count || !pod.index || !pod.root) return;
  if (seen.get("PET_RDZV_ENDPOINT")) return;  // an elastic job may have fewer
  if (pod.kind == PodKind::pytorchjob || pod.kind == PodKind::runai) {
    return take_role_names(seen, pod);
  }
  pod.names = numbered_like(pod.root->value, seen.host, pod.index->value, pod.count->value);
}

}  // namespace

std::string_view title_of(PodKind kind) {
  return std::ranges::find(known_pods, kind, &KnownPod::kind)->title;
}

Result<std::optional<Pod>> read_pod(const Environment& environment, const PodHost& host) {
  const bool in_pod = environment.non_empty("KUBERNETES_SERVICE_HOST").has_value();
  if (!in_pod || environment.has("TORCHELASTIC_RUN_ID")) return std::nullopt;
  const Seen seen{environment, std::string(first_label(host.name)),
                  std::string(first_label(host.domain))};
  const auto found =
      std::ranges::find_if(known_pods, [&](const KnownPod& kind) { return kind.is(seen); });
  if (found == std::end(known_pods)) return std::nullopt;
  Pod pod;
  pod.kind = found->kind;
  Result<void> read = found->read(seen, pod);
  if (read) read = take_pet(seen, pod);
  if (read) read = check(pod);
  if (!read) return std::unexpected(std::move(read.error()));
  name_job(seen, pod);
  take_names(seen, pod);
  return pod;
}

bool is_mpi_launcher(const Environment& environment) {
  return environment.has("KUBERNETES_SERVICE_HOST") &&
         std::ranges::any_of(mpi_host_file_variables, [&](const char* name) {
           return environment.get(name) == mpi_host_file;
         });
}

std::string domain_in_hosts(std::string_view hosts_file, std::string_view host_name) {
  if (auto domain = service_domain(host_name); !domain.empty()) return domain;
  for (const std::string_view line : split(hosts_file, '\n')) {
    const auto names = words(line.substr(0, line.find('#')));
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (first_label(names[i]) != first_label(host_name)) continue;
      if (auto domain = service_domain(names[i]); !domain.empty()) return domain;
    }
  }
  return {};
}

std::string address_in_hosts(std::string_view hosts_file, std::string_view host_name) {
  for (const std::string_view line : split(hosts_file, '\n')) {
    const auto names = words(line.substr(0, line.find('#')));
    for (std::size_t i = 1; i < names.size(); ++i) {
      const bool is_own = first_label(names[i]) == first_label(host_name);
      if (is_own && !is_loopback(names[0])) return std::string(names[0]);
    }
  }
  return {};
}

std::vector<std::string> world_variables(const Environment& environment) {
  constexpr std::array<std::string_view, 5> known = {"RANK", "WORLD_SIZE", "LOCAL_RANK",
                                                     "MASTER_ADDR", "MASTER_PORT"};
  std::vector<std::string> names;
  for (const auto& [name, value] : environment.variables()) {
    const bool is_pet = name.starts_with("PET_") && name != "PET_NPROC_PER_NODE";
    if (is_pet || std::ranges::find(known, name) != known.end()) names.push_back(name);
  }
  return names;
}

}  // namespace toprun::engines::kubernetes
