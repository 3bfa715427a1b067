#pragma once

#include <optional>
#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/engine.h"

namespace toprun::engines {

// The user started toprun without an engine, so the run has one node: this host. Always returns a
// result.
class LocalEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::local; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

// The user starts one toprun per node: by hand, by ssh, or in a pod per node. As for torchrun, the
// user specifies the number of nodes and the rendezvous endpoint on every node. Outside an engine,
// every launch with more than one node is manual. Inside Slurm a manual launch needs --nnodes above
// 1 and --rdzv-endpoint or --master-addr on the command line. In this case, the user sets the
// endpoint, and Slurm sets the node's location, name and index:
//
//   | tasks of our step          | index of this node: --node-rank, PET_NODE_RANK, else       |
//   |----------------------------|------------------------------------------------------------|
//   | nnodes, one on each node   | SLURM_NODEID                                               |
//   | nnodes, several on a node  | SLURM_PROCID: each task counts as a node                   |
//   | 1, or no step              | index in SLURM_JOB_NODELIST, if it lists nnodes nodes      |
//   | several on each of nnodes  | not manual: ranks in place                                 |
//   | any other number           | error                                                      |
class ManualEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::manual; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

// Checks RANK, WORLD_SIZE and MASTER_ADDR from a program for which toprun has no engine. Examples:
// an operator that kubernetes/pod.h does not know, SageMaker, a hand-written script, another
// torchrun around this process, or an old `export`. The numbers may count pods or processes. toprun
// cannot know which, so it does not guess.
//
//   | variables                        | result, if no engine or option says otherwise        |
//   |----------------------------------|------------------------------------------------------|
//   | WORLD_SIZE ≤ 1, or none of them  | one node                                             |
//   | WORLD_SIZE > 1 and RANK          | refuses: N processes could each train alone          |
//   | WORLD_SIZE > 1, no RANK          | one node, and says so                                |
//   | RANK ≥ WORLD_SIZE, no numbers    | refuses                                              |
//
// When called as torchrun, or with --nproc-per-node, toprun starts several ranks itself. In these
// two cases toprun only warns where the table says "refuses".
//
// Returns an error if toprun refuses, or a warning to print.
Result<std::optional<std::string>> check_inherited_world(const Environment& environment,
                                                         const Hints& hints);

// Returns a warning if this run would ignore other nodes of its job. This happens if a system
// without an engine here (PBS, LSF, SageMaker, SkyPilot) lists several nodes in its variables, but
// nothing requests more than one. The warning says how to use all nodes. nullopt: no such job.
std::optional<std::string> other_nodes_of_a_foreign_job(const Environment& environment,
                                                        const Hints& hints);

// For --ranks-in-place: reads from RANK, WORLD_SIZE, LOCAL_RANK and MASTER_ADDR which rank this
// process is. Errors: a variable is missing or wrong.
Result<Allocation> in_place_by_variables(const Environment& environment, const Hints& hints);

}  // namespace toprun::engines
