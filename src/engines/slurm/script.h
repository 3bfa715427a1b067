#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// Returns the batch script of a job. Every option is a #SBATCH line, so that plain `sbatch FILE`
// submits the same job again. The script's last line replaces the shell by `toprun` (exec). Pure
// function. Error (exit 2): a value that sbatch could not read back from a #SBATCH line.
Result<std::string> slurm_script(const JobRequest& job);

// Whether a batch script begins like the scripts that slurm_script() writes.
bool is_written_by_toprun(std::string_view script);

// Quotes "--name=value" as one word for sbatch's parser of #SBATCH lines, which is not a shell. In
// that parser, double quotes preserve blanks, quotes and #. A backslash preserves the next
// character. A line end ends the word (src/sbatch/opt.c, 22.05 to 25.11). Error: a control
// character.
Result<std::string> directive(const std::string& word);

// Quotes a word so that bash reads it back unchanged. The result is on one line, so no argument can
// start a new line.
std::string bash_word(std::string_view word);

// Returns the path as a file name that Slurm does not expand: % becomes %%. A path with a
// backslash is an error: Slurm then replaces no %, so %% would stay %%.
Result<std::string> literal_in_pattern(const std::string& path);

// Returns the options for salloc, which are the same as in the batch script.
std::vector<std::string> option_words(const JobRequest& job);

// Returns the command for an interactive allocation: salloc with the request's options. Inside the
// allocation, a step on the first node runs the command `shell` on the terminal. The shell has the
// allocation's variables, but not the step's, so that toprun in this shell uses all nodes. The
// command works with and without LaunchParameters=use_interactive_step. Pure function.
std::vector<std::string> salloc_command(const JobRequest& request,
                                        const std::vector<std::string>& shell);

// Returns the command for a shell on the first node of a running job. `job`: srun's options that
// name the job. Pure function.
std::vector<std::string> attach_command(const std::vector<std::string>& job,
                                        const std::vector<std::string>& shell);

// Returns the id of the job that contains this process. Ignores Slurm's variables if they name a
// job that has ended.
std::optional<std::string> surrounding_job(const Environment& environment);

}  // namespace toprun::engines
