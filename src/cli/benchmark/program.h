#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "bench/measure/join.h"

namespace toprun::benchmark {

// Returns the name of the program in toprun's folder that contains all of these backends; empty:
// toprun itself. For no backend, returns the program that usual_backend() may choose. Error
// (exit_usage): no program contains all. Backends that need system libraries are not in toprun
// itself.
Result<std::string> program_for(const std::vector<std::string>& backends);

// Checks that the program for these backends is in the folder of this toprun. Error: exit_usage.
// Called only where the job is started, because the hosts get the program from there.
Result<void> check_program(const std::vector<std::string>& backends);

// Returns the default backend of a job: NCCL or RCCL if rank 0's host has one GPU per rank and has
// the program for this backend, else TCP. All ranks call this function. Rank 0 decides, and the
// other ranks read the decision from the job's store. Rank 0 prints the reason if the backend is
// not TCP.
Result<std::string> usual_backend(const measure::Self& self, const Environment& environment,
                                  std::chrono::milliseconds limit);

// Replaces this process by the program for these backends (execve(2)). Returns only on failure. The
// host of at least one rank must have the program. A host that does not have it, for example
// because ssh copied only toprun there, gets the program through the job's store and runs it from
// memory.
std::unexpected<Error> become_bench_program(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& backends,
                                            const measure::Self& self,
                                            std::chrono::milliseconds limit);

}  // namespace toprun::benchmark
