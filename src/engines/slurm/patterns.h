#pragma once

#include <string>
#include <string_view>

#include "engines/queue.h"

namespace toprun::engines::slurm {

inline constexpr std::string_view no_task = "4294967294";  // NO_VAL, the value of %a outside arrays
inline constexpr std::size_t max_padding = 10;             // "%10j"; sbatch(1)
inline constexpr std::size_t max_file_name_bytes = 4'096;  // longer names are cut

// The file that a batch script's --output or --error names (sbatch(1), "filename pattern"): %A
// array job, %a task, %b task modulo 10, %J and %j job, %N first node, %n and %t 0, %r restarts, %s
// "batch", %u user, %x name, %% a percent sign. A number after the % pads numbers with zeros. A
// backslash in the pattern disables all of them. Other text is unchanged. For tasks that wait
// together, %a and %b are "*".
std::string expand(std::string_view pattern, const Job& job);

}  // namespace toprun::engines::slurm
