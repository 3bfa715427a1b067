#include "node/agent/node_survey.h"

#include <fmt/format.h>

#include <chrono>

#include "base/os/console.h"
#include "base/os/timer.h"
#include "decide/topology/k8s_labels.h"
#include "decide/topology/ports.h"
#include "machine/fabric/profile_script.h"
#include "machine/fabric/settings.h"
#include "node/prepare/probes/preflight.h"

namespace toprun::agent {
namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds look_limit{2'000};
// An agent may wait for the root for an hour, in which its script is copied and its ports come up.
constexpr std::chrono::milliseconds stale_after{2'000};

using Network = std::shared_ptr<fabric::NodeFabric>;

// --fabric off leaves the ranks' variables alone; it is looked at all the same for what asks for
// it.
bool needs_network(const plan::Job& job) {
  const plan::Options& options = job.options;
  return job.several_processes() && (options.fabric != "off" || options.require_rdma.value ||
                                     options.fabric_proof == plan::FabricProof::on);
}

// If the profile has a script, it is sourced.
Network look_at_network(const plan::Job& job) {
  const std::string& requested = job.options.fabric;
  const std::string profile = requested == "off" || requested == "auto" ? "" : requested;
  auto node = std::make_shared<fabric::NodeFabric>(
      fabric::read_node_as_needed(fabric::Sysfs(), job.environment, profile));
  // toprun's settings would have priority over those in a file that it does not know.
  if (node->has_unread_conf) {
    const fabric::ProfileSetting& file = node->unusable_files.front();
    say(fmt::format("{}: {}: {}; toprun sets no network variables on this node",
                    job.place.node_name, file.name, file.value));
    return nullptr;
  }
  if (const auto sourced = fabric::source_profile_script(*node); !sourced) {
    say(fmt::format("{}: {}", job.place.node_name, sourced.error().line()));
  }
  return node;
}

// The facts about this pod's node from the pod's specification.
std::optional<model::KubeNode> kube_node(const plan::Job& job) {
  model::KubeNode node{job.environment.get("NODE_NAME").value_or(""),
                       topology::injected_labels(job.environment)};
  if (node.name.empty() && !node.labels) return std::nullopt;
  return node;
}

// Of a job on one node, whose network is not looked at: Gloo and NCCL need an interface there too.
std::vector<std::string> mistakes_on_one_node(const plan::Job& job) {
  const bool names_one =
      job.environment.has("GLOO_SOCKET_IFNAME") || job.environment.has("NCCL_SOCKET_IFNAME");
  if (!names_one || job.several_processes() || job.options.fabric == "off") return {};
  return fabric::absent_interfaces(
      fabric::read_node_as_needed(fabric::Sysfs(), job.environment, ""));
}

// All but the network.
NodeFacts look_around(const plan::Job& job, bool fit) {
  NodeFacts seen;
  if (job.options.preflight && fit) {
    seen.evidence = probes::examine(job);
    seen.evidence->mistakes = mistakes_on_one_node(job);
  }
  if (job.locates()) seen.kube = kube_node(job);
  if (job.locates() && topology::needs_ports(job.options.topology)) {
    seen.ports = topology::ports_text(topology::read_ports());
  }
  return seen;
}

NodeFacts joined(NodeFacts seen, const Network& network) {
  if (!network) return seen;
  if (seen.evidence) {
    model::Evidence& evidence = *seen.evidence;
    network->nccl = fabric::parse_nccl_version(evidence.nccl.value_or(""));
    evidence.network = fabric::summary_of(*network);
    evidence.mistakes = fabric::mistakes(*network);
    if (evidence.mistakes.size() > model::most_mistakes) {
      evidence.mistakes.resize(model::most_mistakes);
    }
  }
  seen.network = network;
  return seen;
}

}  // namespace

struct NodeSurvey::State {
  explicit State(asio::io_context& io) : began(SteadyClock::now()), over(io, SteadyTime::max()) {}

  bool is_whole() const { return around && network; }

  SteadyTime began;
  int unanswered = 0;  // questions to the pool
  Timer over;          // is cancelled at each answer
  std::optional<NodeFacts> around;
  std::optional<Network> network;
};

NodeSurvey::NodeSurvey(Pool& pool, std::shared_ptr<const plan::Job> job, bool fit)
    : pool_(pool), job_(std::move(job)), fit_(fit) {
  begin();
}

void NodeSurvey::begin() {
  state_ = std::make_shared<State>(pool_.io());
  if (needs_network(*job_)) {
    ask<Network>([job = job_] { return look_at_network(*job); }, &State::network);
  } else {
    state_->network.emplace();
  }
  ask<NodeFacts>([job = job_, fit = fit_] { return look_around(*job, fit); }, &State::around);
}

template <class T>
void NodeSurvey::ask(std::function<T()> survey, std::optional<T> State::*answer) {
  ++state_->unanswered;
  pool_.run<T>(look_limit, std::move(survey), [state = state_, answer](Pool::Answer<T> seen) {
    if (seen) (*state).*answer = *std::move(seen);
    --state->unanswered;
    state->over.cancel();
  });
}

asio::awaitable<NodeFacts> NodeSurvey::seen() {
  // A look that hangs keeps two of the pool's threads, and another would keep the rest.
  if (state_->is_whole() && SteadyClock::now() > state_->began + stale_after) begin();
  const auto state = state_;
  while (state->unanswered > 0) co_await state->over.async_wait(use_nothrow_awaitable);
  if (!state->is_whole()) {
    say(fmt::format(
        "{}: a file system hangs, so this node joins without a check of its script and environment",
        job_->place.node_name));
  }
  co_return joined(state->around.value_or(NodeFacts()), state->network.value_or(nullptr));
}

}  // namespace toprun::agent
