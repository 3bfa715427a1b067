#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/inherited.h"
#include "base/environment.h"
#include "base/error.h"
#include "hosts/address.h"
#include "plan/options.h"
#include "rendezvous/channel.h"
#include "run/conductor.h"
#include "scheduler/allocation.h"

namespace toprun::plan {

// Everything about a run that one of its processes knows before it has joined the others.
struct Job {
  Options options;
  Environment environment;  // as inherited
  agent::Inherited inherited;
  scheduler::Allocation place;  // where am I

  int nnodes = 1;  // the most there may be
  std::string nnodes_source;
  int min_nodes = 1;  // fewer than nnodes only with --nnodes MIN:MAX
  int tasks = 1;      // ranks in place: all tasks of the step
  int nproc = 1;      // workers of this process
  std::string nproc_source;
  std::vector<std::string> program;  // the workers' argv
  std::string program_reason;        // why this Python
  // Why this node cannot take part, though others may wait for it: its agent only tells the root.
  std::optional<Error> unfit;

  std::string run_id;  // TORCHELASTIC_RUN_ID
  std::string name;    // what tells this job from others on the same port
  // Who is root, as far as it is known: unset means whoever owns the endpoint's address.
  std::optional<bool> is_root;
  std::string root_host;                      // where the root listens; empty with one node
  std::vector<std::string> other_root_hosts;  // … or may listen, where nobody knows for sure
  std::vector<int> ports;                     // P, then what to try if a stranger holds it
  bool port_is_ours_to_choose = true;

  rendezvous::Patience patience;
  std::chrono::milliseconds join_timeout{600'000};
  std::chrono::milliseconds last_call{30'000};  // from the least to go without the most
  run::Grace grace;

  bool is_elastic() const { return min_nodes < nnodes; }
  // The others come by themselves, and soon. Else somebody starts them by hand, or their pods.
  bool others_come() const { return place.started_together || place.started_by_toprun; }
  // Whether it matters where the nodes are: of one node only if the user asks.
  bool locates() const {
    return nnodes > 1 || options.topology != "auto" || options.topology_required;
  }
  // What is known of programs and paths here says nothing of those that the ranks find.
  bool in_container() const { return !options.container.empty(); }
  // Nobody on another host has a part in it.
  bool on_one_host() const { return nnodes == 1 && !place.nodes_estimated; }
  // Who has to reach the store and the root.
  hosts::Reach reach() const;
  bool several_processes() const {
    return nnodes > 1 || place.stance == scheduler::Stance::in_place || place.started_by_toprun;
  }
  // The hosts that ssh reaches count GPUs and find Python by themselves; this one may lack both.
  bool starts_by_ssh() const {
    return place.engine == scheduler::EngineKind::ssh && place.stance == scheduler::Stance::starter;
  }
};

// Fills in what the options, the environment and the engine say. Touches the machine only to count
// GPUs and to find Python.
Result<Job> prepare(const Options& options, const Environment& environment,
                    const agent::Inherited& inherited);

}  // namespace toprun::plan
