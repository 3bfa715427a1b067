#pragma once

#include <string>
#include <string_view>

#include "engines/queue.h"

namespace toprun::engines::slurm {

inline constexpr std::string_view no_task = "4294967294";  // NO_VAL, as Slurm writes it for %a
inline constexpr std::size_t max_padding = 10;             // "%10j"; sbatch(1)
inline constexpr std::size_t max_file_name_bytes = 4'096;  // what is longer is cut

// The file that a batch script's --output or --error names (sbatch(1), "filename pattern"): %A
// array job, %a task, %b task modulo 10, %J and %j job, %N first node, %n and %t 0, %r restarts, %s
// "batch", %u user, %x name, %% a percent sign; a number in between pads numbers with zeros. A
// backslash in the pattern turns all of them off. What is none of these stays as it is. Of tasks
// that wait together %a and %b are "*".
std::string expand(std::string_view pattern, const Job& job);

}  // namespace toprun::engines::slurm
