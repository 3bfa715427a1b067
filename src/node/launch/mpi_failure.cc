#include "node/launch/mpi_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "engines/mpi/mpirun.h"
#include "engines/mpi/mpirun_output.h"
#include "node/output/tail.h"
#include "run/model/exit.h"

namespace toprun::launch {
namespace {

constexpr std::size_t longest_exception_bytes = 500;
constexpr std::string_view advice_for_variables =
    "--launcher mpirun does not set RANK, LOCAL_RANK, WORLD_SIZE or MASTER_ADDR: leave out "
    "--launcher mpirun, or use --via mpirun";

bool names_an_error(std::string_view exception) {
  const std::string_view type = exception.substr(0, exception.find(':'));
  const bool is_name = std::ranges::all_of(type, [](char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
  });
  return is_name && (type.ends_with("Error") || type.ends_with("Exception"));
}

// One of the variables by which torchrun tells a rank its place: as torch's env:// words it
// (torch/distributed/rendezvous.py), as os.environ[…] does, and as scripts write that check it.
bool misses_a_variable(std::string_view exception) {
  constexpr std::array names = {"RANK",        "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                "MASTER_ADDR", "MASTER_PORT"};
  return std::ranges::any_of(names, [&](const char* name) {
    return exception == fmt::format("KeyError: '{}'", name) ||
           exception.contains(fmt::format("environment variable {} expected", name)) ||
           exception.contains(fmt::format("{} is not set", name));
  });
}

// What Python says of a program that it does not find; empty: nothing.
std::string missing_program(std::string_view said) {
  for (const std::string_view line : split(said, '\n')) {
    if (model::tells_of_a_missing_program(trim(line))) return std::string(trim(line));
  }
  return {};
}

// The last line, if a script ended itself with it because a variable is not set; else empty.
std::string missing_variable(std::string_view said) {
  const std::string_view all = trim(said);
  const std::string_view last = trim(all.substr(all.rfind('\n') + 1));
  return misses_a_variable(last) ? std::string(last) : std::string();
}

// A rank that mpirun has ended within its traceback shows no exception, but others before it may.
std::string last_error(std::string_view said) {
  constexpr std::string_view traceback = "Traceback (most recent call last):";
  const std::string_view all = said;
  for (;;) {
    const std::string exception = output::last_exception(said);
    std::string line = exception.substr(0, exception.find('\n'));
    if (names_an_error(line)) return line;
    const std::size_t last = said.rfind(traceback);
    if (last == said.npos) {
      std::string program = missing_program(all);
      return program.empty() ? missing_variable(all) : program;
    }
    said = said.substr(0, last);
  }
}

MpiFailure failure_of(std::optional<int> rank, const std::string& error) {
  return {rank, std::nullopt, last_state(error, longest_exception_bytes),
          std::string(misses_a_variable(error) ? advice_for_variables : "")};
}

}  // namespace

MpiFailure mpi_failure(std::string_view said) {
  const auto texts = engines::texts_by_rank(said);
  const auto text_of = [&](int rank) {
    const auto found = texts.find(rank);
    return found == texts.end() ? std::string_view() : std::string_view(found->second);
  };
  if (const auto killed = engines::killed_rank(text_of(engines::by_mpirun))) {
    MpiFailure failure = failure_of(killed->rank, last_error(text_of(killed->rank)));
    failure.signal = killed->signal;
    return failure;
  }
  const auto first = engines::first_to_fail(text_of(engines::by_mpirun));
  if (first) return failure_of(first, last_error(text_of(*first)));
  for (const auto& [rank, text] : texts) {
    if (const std::string error = last_error(text); !error.empty()) {
      return failure_of(std::nullopt, error);
    }
  }
  return {};
}

}  // namespace toprun::launch
