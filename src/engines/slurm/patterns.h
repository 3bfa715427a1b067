#pragma once

#include <string>
#include <string_view>

#include "engines/queue.h"

namespace toprun::engines::slurm {

inline constexpr std::string_view no_task = "4294967294";  // NO_VAL, the value of %a outside arrays
// The limit for the number in a pattern such as "%10j", which pads a job id with zeros (sbatch(1)).
inline constexpr std::size_t max_padding = 10;
inline constexpr std::size_t max_file_name_bytes = 4'096;  // longer names are cut

// Returns the file that a batch script's --output or --error names (sbatch(1), "filename pattern").
// %A is the id of the array job, %a the task's number, %b this number modulo 10, %J and %j the
// job's id, %N the first node, %n and %t 0, %r the number of restarts, %s "batch", %u the user, %x
// the job's name, and %% a percent sign. A number after the % ("%10j") is the width for padding
// with zeros. A backslash in the pattern disables all expansions. Other text is unchanged. If `job`
// represents several waiting tasks of an array, %a and %b are "*".
std::string expand(std::string_view pattern, const Job& job);

}  // namespace toprun::engines::slurm
