#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// The batch script of a job: every option a #SBATCH line, so that plain `sbatch FILE` submits the
// same again, and a last line that becomes `toprun`. Pure. Error (exit 2): a value that sbatch
// could not read back from such a line.
Result<std::string> slurm_script(const JobRequest& job);

// Whether a batch script begins as one that slurm_script() wrote.
bool is_written_by_toprun(std::string_view script);

// "--name=value", read as one word by the parser that sbatch has for #SBATCH lines, which is not a
// shell: double quotes keep blanks, quotes and #, a backslash keeps what follows, and a line ends
// it (src/sbatch/opt.c, 22.05 to 25.11). Error: a control character.
Result<std::string> directive(const std::string& word);

// A word that bash reads back as it is, on one line: no argument can look like a line of its own.
std::string bash_word(std::string_view word);

// The text as a file name that Slurm does not expand: %% for %. Error: a backslash, after which
// Slurm expands nothing at all.
Result<std::string> literal_in_pattern(const std::string& path);

// The words for salloc: those of the script's lines.
std::vector<std::string> option_words(const JobRequest& job);

}  // namespace toprun::engines
