#include "engines/kubernetes/kubernetes.h"

#include "base/net/address.h"
#include "base/net/resolve.h"
#include "base/text/text.h"
#include "engines/kubernetes/pod.h"

namespace toprun::engines {
namespace {

using kubernetes::Pod;
using kubernetes::PodKind;
using kubernetes::Sourced;

std::string this_pod(const Pod& pod) {
  return fmt::format("this is a pod of {} ({})", title_of(pod.kind), pod.evidence);
}

// What gives pods of this kind a name that others resolve; operators do so themselves.
std::string how_to_meet(PodKind kind) {
  constexpr const char* by_hand = "give --master-addr HOST of pod 0";
  const auto with_service = [&](std::string_view where) {
    return fmt::format("name a headless service in {}, or {}", where, by_hand);
  };
  switch (kind) {
    case PodKind::stateful_set:
      return with_service("spec.serviceName");
    case PodKind::jobset:
      return with_service("spec.network");
    case PodKind::indexed_job:
      return with_service("spec.template.spec.subdomain");
    case PodKind::volcano:
    case PodKind::leader_worker_set:
    case PodKind::runai:
    case PodKind::pytorchjob:
    case PodKind::trainjob:
      break;
  }
  return by_hand;
}

Error unknown_count(const Environment& environment, const Hints& hints, const Pod& pod) {
  std::string flags = "--nnodes PODS";
  if (!pod.index) flags += " --node-rank INDEX";
  const bool meets = pod.root || !hints.endpoint_source.empty();
  if (!meets) flags += " --master-addr HOST";
  std::string fix = "give " + flags;
  if (const auto size = environment.non_empty("WORLD_SIZE")) {
    fix += fmt::format(" (PODS is {} if WORLD_SIZE counts pods)", *size);
  }
  if (!meets) fix += ", HOST the name of pod 0 in a headless service";
  return {this_pod(pod),
          "its variables do not contain the number of pods, and each pod would train on its own",
          fix + "; for a pod that trains on its own: --standalone", exit_usage};
}

// The user's word goes before the pod's, and what they disagree on is said.
void say_difference(const Sourced<int>& said, const std::optional<Sourced<int>>& reported,
                    Allocation& allocation) {
  if (!reported || reported->value == said.value) return;
  allocation.notes.push_back(fmt::format("{} {} overrides the pod's {}={}", said.source, said.value,
                                         reported->source, reported->value));
}

std::optional<Sourced<int>> count_of(const Hints& hints, const Pod& pod, Allocation& allocation) {
  if (!hints.nnodes) return pod.count;
  const Sourced<int> said{*hints.nnodes, hints.nnodes_source};
  say_difference(said, pod.count, allocation);
  return said;
}

std::optional<Sourced<int>> index_of(const Hints& hints, const Pod& pod, Allocation& allocation) {
  if (!hints.node_rank) return pod.index;
  const Sourced<int> said{*hints.node_rank, "--node-rank"};
  say_difference(said, pod.index, allocation);
  return said;
}

// Whether the user names pod 0 by what each pod has of its own (localhost). An operator's variable
// may have that in pod 0 alone.
bool names_each_pod(const Hints& hints, const Pod& pod) {
  return pod.root && on_command_line(hints.endpoint_source) &&
         hosts::reaches_itself_only(hints.endpoint_host);
}

// An address cannot be compared with a name.
void check_endpoint(const Hints& hints, const Pod& pod, Allocation& allocation) {
  const std::string& said = hints.endpoint_host;
  if (said.empty() || !pod.root || hosts::Address::parse(said)) return;
  if (names_each_pod(hints, pod)) return;
  if (hosts::same_host(said, pod.root->value)) return;
  if (!on_command_line(hints.endpoint_source)) return;  // PET_ of an operator has its own host
  allocation.notes.push_back(fmt::format("{} {} overrides the pod's {}={}", hints.endpoint_source,
                                         said, pod.root->source, pod.root->value));
}

Result<void> check_index(const Sourced<int>& count, const std::optional<Sourced<int>>& index) {
  if (!index || index->value < count.value) return {};
  return usage(fmt::format("pod {} ({})", index->value, index->source),
               fmt::format("the job has {} ({})", counted(count.value, "pod"), count.source),
               "pods are numbered from 0; correct --nnodes or --node-rank");
}

// Where the pods meet, unless the user says.
Result<void> take_root(const Hints& hints, const Pod& pod, Allocation& allocation) {
  allocation.port = pod.port;
  if (names_each_pod(hints, pod)) {
    if (allocation.my_node == 0) {
      allocation.notes.push_back(fmt::format(
          "{} {} is different in each pod, so other pods cannot find pod 0 there: toprun uses {} "
          "from {} instead",
          hints.endpoint_source, hints.endpoint_host, pod.root->value, pod.root->source));
    }
  } else if (!hints.endpoint_source.empty()) {
    return {};
  }
  if (!pod.root && pod.kind == PodKind::jobset && !allocation.my_node) {
    return usage(this_pod(pod), "in a JobSet the pods of each Job are numbered from 0",
                 "give --node-rank INDEX, counted over all Jobs, and --master-addr HOST of pod 0; "
                 "or put all pods into one Job: replicas 1, completions N");
  }
  if (!pod.root) {
    return usage(this_pod(pod), "its variables do not set the rendezvous address of the pods",
                 how_to_meet(pod.kind));
  }
  allocation.root_node = 0;
  allocation.root_address = pod.root->value;
  allocation.reasons.push_back(fmt::format("pod 0 is {} by {}", pod.root->value, pod.root->source));
  return {};
}

Allocation begin(const Hints& hints, const Pod& pod) {
  Allocation allocation;
  allocation.engine = EngineKind::kubernetes;
  allocation.node_name = hints.host_name;
  allocation.job_id = pod.job;
  allocation.notes = pod.notes;
  return allocation;
}

// For torchrun's callers, who get what torchrun does.
Allocation alone(const Hints& hints, const Pod& pod, const Error& why) {
  Allocation allocation = begin(hints, pod);
  allocation.node_count_source = "default";
  allocation.my_node = 0;
  allocation.notes.push_back(why.line());
  return allocation;
}

void take_names(const Pod& pod, Allocation& allocation) {
  if (std::ssize(pod.names) != allocation.node_count || !allocation.my_node) return;
  const std::string& own = pod.names[static_cast<std::size_t>(*allocation.my_node)];
  if (!hosts::same_host(own, allocation.node_name)) return;
  for (const std::string& name : pod.names) allocation.nodes.push_back({name, std::nullopt});
  allocation.node_name = own;
}

Result<Allocation> allocation_of(const Environment& environment, const Hints& hints,
                                 const Pod& pod) {
  Allocation allocation = begin(hints, pod);
  const auto count = count_of(hints, pod, allocation);
  if (!count) {
    Error unknown = unknown_count(environment, hints, pod);
    if (hints.called_torchrun) return alone(hints, pod, unknown);
    return std::unexpected(std::move(unknown));
  }
  const auto index = index_of(hints, pod, allocation);
  TRY(check_index(*count, index));
  allocation.node_count = count->value;
  allocation.node_count_source = count->source;
  allocation.reasons.push_back(
      fmt::format("{}: {} by {}", this_pod(pod), counted(count->value, "pod"), count->source));
  if (count->value == 1) {
    allocation.my_node = 0;
    return allocation;
  }
  allocation.stance = Stance::agent;
  const auto one_code = environment.get(kubernetes::one_code_variable);
  allocation.lost_return = one_code == kubernetes::each_code;
  allocation.root_speaks = one_code && !allocation.lost_return;
  if (index) {
    allocation.my_node = index->value;
    allocation.reasons.push_back(fmt::format("pod {} by {}", index->value, index->source));
  }
  check_endpoint(hints, pod, allocation);
  TRY(take_root(hints, pod, allocation));
  if (!pod.job.empty() && allocation.root_node) allocation.job = "kubernetes." + pod.job;
  take_names(pod, allocation);
  return allocation;
}

}  // namespace

Result<std::optional<Allocation>> KubernetesEngine::detect(const Environment& environment,
                                                           const Hints& hints) const {
  const bool in_slurm = environment.has("SLURM_JOB_ID");
  if (in_slurm || hints.ranks_in_place || wants_single(hints)) return std::nullopt;
  auto pod = TRY(kubernetes::read_pod(environment, {hints.host_name, hints.host_domain}));
  if (!pod) return std::nullopt;
  return allocation_of(environment, hints, *pod);
}

}  // namespace toprun::engines
