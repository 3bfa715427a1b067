#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::plan {

inline constexpr std::size_t foreign_script_bytes = 64u << 10;  // that are looked at

// Why Python cannot run this file, judged by its beginning: a program (ELF), or a script of another
// interpreter, by its "#!" or by the name of a shell script. The fix is the line that was meant;
// for a batch script of Slurm's its #SBATCH lines as options. nullopt: it may be Python's. Pure.
std::optional<Error> not_for_python(const std::string& script, std::string_view beginning);

}  // namespace toprun::plan
