#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/net/resolve.h"
#include "base/text/text.h"
#include "decide/topology/source.h"
#include "engines/slurm/variables.h"
#include "node/agent/node_container.h"
#include "node/agent/root.h"
#include "node/prepare/probes/node_check.h"
#include "node/prepare/staging.h"

namespace toprun::agent {
namespace {

// The time between the last message of a node and the detection of its loss.
constexpr std::chrono::milliseconds notice_margin{2'000};
// So long the order may take also where members are awaited for a shorter time.
constexpr std::chrono::seconds least_arrange_limit{10};

bool has_ranks_in_place(const plan::Job& job) {
  return job.place.stance == engines::Stance::in_place;
}

run::Size size_of(const plan::Job& job) {
  if (has_ranks_in_place(job)) return {job.tasks, job.tasks};
  return {job.min_nodes, job.nnodes, job.replaces_nodes(), plan::node_rank_is_a_hint(job.options)};
}

// What is read for the order of the nodes, for messages.
std::string order_sources(const plan::Job& job) {
  const plan::Options& options = job.options;
  std::vector<std::string> read;
  if (!options.order_file.empty()) read.push_back("the order file " + options.order_file);
  if (job.locates()) {
    read.push_back(topology::names_source(options.topology)
                       ? fmt::format("the network's topology (--topology {})", options.topology)
                       : "the topology file " + options.topology);
  }
  return join(read, " and ");
}

// As a command line for the user.
std::string how_to_grow(const plan::Job& job) {
  if (const auto id = engines::slurm::own_job_id(job.environment)) return "toprun grow " + *id;
  if (job.options.report) return "toprun grow " + shell_quote(std::array{*job.options.report});
  return fmt::format("kill -URG {}", ::getpid());
}

}  // namespace

run::Settings settings_of(const plan::Job& job, bool colours, bool leaves_endpoint,
                          std::string stage_key) {
  const plan::Options& options = job.options;
  run::Settings settings;
  settings.size = size_of(job);
  settings.elastic = job.is_elastic();
  settings.max_restarts = options.max_restarts;
  settings.grace = job.grace;
  if (options.called_torchrun) settings.ended_well = run::EndedWell::failed;
  settings.grow = options.grow;
  settings.how_to_grow = how_to_grow(job);
  settings.run_id = job.run_id;
  settings.ranks_in_place = has_ranks_in_place(job);
  settings.on_one_host = job.on_one_host();
  settings.others_come = job.others_come();
  for (const engines::Node& node : job.place.nodes) settings.node_names.push_back(node.name);
  settings.each_comes_once = job.each_node_comes_once();
  settings.names_are_unique = job.place.engine == engines::EngineKind::kubernetes;
  if (!leaves_endpoint) settings.master_addr = options.master_addr.value;
  settings.colours = colours;
  settings.tells_orders = options.verbose > 0;
  settings.stage_key = std::move(stage_key);
  settings.order_sources = order_sources(job);
  settings.arrange_limit = std::clamp<std::chrono::milliseconds>(
      job.join_timeout, least_arrange_limit, run::arrange_timeout);
  if (job.stages()) settings.prepare_limit += prepare::stage_limit;
  settings.several_processes = job.several_processes();
  settings.join_timeout = job.join_timeout;
  settings.is_met_on_this_host_only =
      !job.root_host.empty() && hosts::reaches_itself_only(job.root_host);
  settings.last_call = job.last_call;
  if (job.in_container()) settings.prepare_limit += container_start_limit;
  if (!options.node_check.empty()) {
    settings.prepare_limit += probes::node_check_limit + probes::node_check_margin;
  }
  if (options.warm) {
    settings.prepare_limit += warm::import_limit;
    settings.instant_failure = run::instant_if_warm;
  }
  settings.hang_timeout = options.hang_timeout;
  settings.on_hang = options.on_hang;
  settings.evicts = options.evicts;
  settings.silence_limit = job.patience.silence + notice_margin;
  return settings;
}

}  // namespace toprun::agent
