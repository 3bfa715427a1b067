#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "bench/measure/join.h"

namespace toprun::benchmark {

// Checks that one program contains all of these backends. Error: exit_usage. Backends that need
// system libraries are not in toprun's own program, but in separate programs in the same folder.
Result<void> check_backends(const std::vector<std::string>& backends);

// Checks that the program for these backends is in the same folder as toprun's own program. Error:
// exit_usage. Call check_program() only on rank 0's host, because the other hosts get the program
// from that host.
Result<void> check_program(const std::vector<std::string>& backends);

// Returns the default backend of a job: NCCL or RCCL if rank 0's host has one GPU per rank and has
// the program for this backend, else TCP. All ranks call this function. Rank 0 decides, and the
// other ranks read the decision from the job's store. Rank 0 prints the reason if the backend is
// not TCP.
Result<std::string> usual_backend(const measure::Self& self, const Environment& environment,
                                  std::chrono::milliseconds limit);

// Replaces this process by the program that contains these backends (execve(2)). Returns only on
// failure. Rank 0's host must have the program. If another host does not have the program, for
// example because ssh copied only toprun there, it gets the program from rank 0 through the job's
// store and runs it from memory.
std::unexpected<Error> become_bench_program(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& backends,
                                            const measure::Self& self,
                                            std::chrono::milliseconds limit);

}  // namespace toprun::benchmark
