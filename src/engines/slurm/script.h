#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// The batch script of a job. Every option is a #SBATCH line, so that plain `sbatch FILE` submits
// the same job again. With the last line, the shell becomes `toprun` (exec). Pure function. Error
// (exit 2): a value that sbatch could not read back from such a line.
Result<std::string> slurm_script(const JobRequest& job);

// Whether a batch script begins like the scripts that slurm_script() writes.
bool is_written_by_toprun(std::string_view script);

// "--name=value", quoted as one word for sbatch's parser of #SBATCH lines, which is not a shell. In
// that parser, double quotes preserve blanks, quotes and #. A backslash preserves the next
// character. A line end ends the word (src/sbatch/opt.c, 22.05 to 25.11). Error: a control
// character.
Result<std::string> directive(const std::string& word);

// A word that bash reads back unchanged, on one line, so no argument can start a new line.
std::string bash_word(std::string_view word);

// The text as a file name that Slurm does not expand: % becomes %%. Error: a backslash, because it
// disables all expansion in Slurm.
Result<std::string> literal_in_pattern(const std::string& path);

// The options for salloc, the same as in the script's lines.
std::vector<std::string> option_words(const JobRequest& job);

}  // namespace toprun::engines
