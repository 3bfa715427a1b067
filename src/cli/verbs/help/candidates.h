#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options/command_text.h"

namespace toprun::cli {

// The last word of a command line, which the shell completes.
struct Completion {
  enum class Kind {
    files,  // completed by the shell: files and folders, and arguments of the script
    options,
    choices,
    jobs,
    partitions,
    hosts,
    profiles,
  };
  Kind kind = Kind::files;
  std::vector<std::string> choices;
  std::string stem;   // the part of the word before `typed`: "--tee=", "a,"
  std::string typed;  // the typed part to complete

  bool operator==(const Completion&) const = default;
};

// `words` are the words after the command. The last word, which may be empty, is to be completed.
// bash splits --tee=3 at = and passes = as a separate word. Pure.
Completion completion(const options::CommandText& command, std::span<const std::string> words);

// Prints the candidates for the last word, one per line, as "WORD\tDESCRIPTION" or "WORD". Prints
// nothing for a file, or if there are no candidates. Queries the engine for jobs and partitions,
// with a short time limit.
int print_candidates(const options::CommandText& command, std::span<const std::string> words);

// The candidates that begin with `typed`, in the format of print_candidates().
std::string candidate_lines(std::span<const options::CommandText::Row> candidates,
                            std::string_view stem, std::string_view typed);

}  // namespace toprun::cli
