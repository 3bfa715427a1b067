#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "bench/measure/join.h"

namespace toprun::benchmark {

// Error (exit_usage): no program has all of these backends. Those that need the system's libraries
// are not in toprun itself but in programs beside it.
Result<void> check_backends(const std::vector<std::string>& backends);

// Error (exit_usage): the program for these backends is not beside this toprun. For the host of
// rank 0; of another it gets it.
Result<void> check_program(const std::vector<std::string>& backends);

// The backend of a job that names none: NCCL or RCCL where rank 0's host has a GPU for each of its
// ranks and their program, else TCP. All ranks ask; rank 0's answer, in the job's store, is that of
// all. Rank 0 says why it is not TCP.
Result<std::string> usual_backend(const measure::Self& self, const Environment& environment,
                                  std::chrono::milliseconds limit);

// Turns this rank into the program with these backends; comes back only if that fails. Rank 0's
// host must have it; another host without it, to which ssh sent toprun alone, gets it from rank 0
// by the job's store and runs it from memory.
std::unexpected<Error> become_bench_program(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& backends,
                                            const measure::Self& self,
                                            std::chrono::milliseconds limit);

}  // namespace toprun::benchmark
