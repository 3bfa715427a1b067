#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun::launch {

// Why ranks that mpirun starts by itself have failed.
struct MpiFailure {
  std::optional<int> rank;    // that failed first, where mpirun names it
  std::optional<int> signal;  // that killed it
  std::string exception;      // its first line, without secrets; empty: none is to be seen
  std::string advice;         // empty: the exception says enough

  bool is_known() const { return rank || !exception.empty(); }
};

// From the end of what mpirun and the ranks wrote to stderr, with their tags where it has them.
// Without tags the line behind a traceback may be another rank's: it counts only if its type is an
// error's by its name.
MpiFailure mpi_failure(std::string_view said);

}  // namespace toprun::launch
