#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/command_text.h"

namespace toprun::cli {

// What the shell's completion is about: the last word of a command line.
struct Wanted {
  enum class Kind {
    files,  // the shell knows better: files and folders, also for the script's own arguments
    options,
    choices,
    jobs,
    partitions,
    profiles,
  };
  Kind kind = Kind::files;
  std::vector<std::string> choices;
  std::string stem;   // what stands before it in the same word: "--tee=", "a,"
  std::string typed;  // what there is of it

  bool operator==(const Wanted&) const = default;
};

// `words`: those behind the command, the last of them, which may be empty, to be completed. bash
// makes a word of its own of each = in --tee=3. Pure.
Wanted wanted(const options::CommandText& command, std::span<const std::string> words);

// Prints what the last word may become, one per line, "WORD\tWHAT IT IS". Nothing: a file, or
// nothing is known. Jobs and partitions are asked of the engine, for a moment only.
int print_candidates(const options::CommandText& command, std::span<const std::string> words);

// Of these candidates, those that begin with `typed`, as print_candidates() prints them.
std::string candidate_lines(std::span<const options::CommandText::Row> candidates,
                            std::string_view stem, std::string_view typed);

}  // namespace toprun::cli
