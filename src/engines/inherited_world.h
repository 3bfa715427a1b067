#pragma once

#include <optional>
#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/engine.h"

namespace toprun::engines {

// RANK, WORLD_SIZE and MASTER_ADDR set by a program that no engine of ours speaks for: an
// operator that kubernetes/pod.h does not know, SageMaker, a hand-written script, another torchrun
// around this process, or an old `export`. What they count, pods or processes, is not known, so
// toprun does not guess.
//
//   | set                              | toprun, if nothing else tells it where it is         |
//   |----------------------------------|------------------------------------------------------|
//   | WORLD_SIZE ≤ 1, or none of them  | one node                                             |
//   | WORLD_SIZE > 1 and RANK          | refuses: N worlds of one                             |
//   | WORLD_SIZE > 1, no RANK          | one node, and says so                                |
//   | RANK ≥ WORLD_SIZE, no numbers    | refuses                                              |
//
// Called torchrun, or with --nproc-per-node, which says that this process is to start several, it
// only says what it would refuse.
//
// Error: refused. A text: to be said.
Result<std::optional<std::string>> check_inherited_world(const Environment& environment,
                                                         const Hints& hints);

// A batch system or cloud that is none of the engines here, and whose variables tell of several
// nodes, while nothing says that this is to be more than one: the line that says so, with what to
// write for all of them (PBS, LSF, SageMaker, SkyPilot). nullopt: there is none.
std::optional<std::string> other_nodes_of_a_foreign_job(const Environment& environment,
                                                        const Hints& hints);

// With --ranks-in-place: one process of those that the variables count. Error: what is missing.
Result<Allocation> in_place_by_variables(const Environment& environment, const Hints& hints);

}  // namespace toprun::engines
