#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/call.h"
#include "cli/options/command_text.h"

namespace toprun::cli {

// Returns the completion script for a shell (bash, zsh, fish or tcsh), for `eval` or for the
// shell's folder of completion scripts. At each Tab, the script queries toprun for candidates. The
// script for tcsh does not query toprun, and completes only names of options and their fixed
// values. `program`: toprun's path; needed if another program in PATH may have the command's name
// (torchrun).
std::string completion(std::string_view shell, bool called_torchrun, std::string_view program);

// `toprun completion SHELL`: prints completion(). The scripts' queries use `completion --words
// [WORD...]` or `completion --torchrun-words [WORD...]`.
Result<int> run_completion(const options::Call& call);
// Answers a query of toprun's completion scripts, and returns the exit code. nullopt: a user typed
// the command, so there is no query to answer.
std::optional<int> answer_shell(const std::vector<std::string>& arguments);

// How the shell has to complete the last word of a command line.
struct Completion {
  enum class Kind {
    files,    // files, folders and arguments of the script, which the shell itself completes
    folders,  // which the shell itself completes
    options,
    choices,
    jobs,
    partitions,
    hosts,
    profiles,
  };
  Kind kind = Kind::files;
  std::vector<std::string> choices;
  std::string stem;           // the part of the word before `typed`: "--tee=", "a,"
  std::string typed;          // the typed part to complete
  bool is_complete = false;   // no file fits
  bool with_reports = false;  // with the names of files in this folder that may be reports

  bool operator==(const Completion&) const = default;
};

// Returns how to complete the last of `words`, the words after the command. The last word may be
// empty. (bash splits --tee=3 at the =, and passes = as a separate word.) Pure.
Completion completion(const options::CommandText& command, std::span<const std::string> words);

// Prints the candidates for the last word, one per line, as "WORD\tDESCRIPTION" or "WORD". Prints
// nothing if the last word has to be a file, or if there are no candidates. Returns the exit code:
// no_file_fits if the shell must not offer files, only_folders_fit if it must offer only folders.
// If the word is a job or a partition, queries the engine for candidates, with a short time limit.
inline constexpr int no_file_fits = 3;
inline constexpr int only_folders_fit = 4;
int print_candidates(const options::CommandText& command, std::span<const std::string> words);

// Returns the candidates that begin with `typed`, in the format of print_candidates().
std::string candidate_lines(std::span<const options::CommandText::Row> candidates,
                            std::string_view stem, std::string_view typed);

}  // namespace toprun::cli
