#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options/command_text.h"

namespace toprun::cli {

// The last word of a command line, which the shell completes.
struct Wanted {
  enum class Kind {
    files,  // the shell completes it: files and folders, also the script's own arguments
    options,
    choices,
    jobs,
    partitions,
    hosts,
    profiles,
  };
  Kind kind = Kind::files;
  std::vector<std::string> choices;
  std::string stem;   // the part of the word before it: "--tee=", "a,"
  std::string typed;  // its typed part

  bool operator==(const Wanted&) const = default;
};

// `words`: those behind the command, the last of them, which may be empty, to be completed. bash
// makes a word of its own of each = in --tee=3. Pure.
Wanted wanted(const options::CommandText& command, std::span<const std::string> words);

// Prints the candidates for the last word, one per line, "WORD\tDESCRIPTION" or "WORD". Prints
// nothing for a file, or if there are none. Asks the engine for jobs and partitions, with a short
// time limit.
int print_candidates(const options::CommandText& command, std::span<const std::string> words);

// The candidates that begin with `typed`, in the format of print_candidates().
std::string candidate_lines(std::span<const options::CommandText::Row> candidates,
                            std::string_view stem, std::string_view typed);

}  // namespace toprun::cli
