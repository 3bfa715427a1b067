#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toprun::launch {

// Why ranks that mpirun itself starts have failed.
struct MpiFailure {
  std::optional<int> rank;    // the rank that failed first, if mpirun names it
  std::optional<int> signal;  // the signal that killed the rank
  // The first line of the exception, without secrets; empty: no exception is visible.
  std::string exception;
  std::string advice;  // empty: the exception needs no advice

  bool is_known() const { return rank || !exception.empty(); }
};

// Finds the reason in the last part of the stderr of mpirun and the ranks. Uses mpirun's rank tags
// if there are any. Without tags, the line after a traceback may be from another rank. So this line
// is used only if it begins with the name of an error type.
MpiFailure mpi_failure(std::string_view said);

}  // namespace toprun::launch
