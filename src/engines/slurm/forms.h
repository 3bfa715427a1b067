#pragma once

#include <string_view>

namespace toprun::engines::slurm {

// Returns what is wrong with the form of an sbatch option's value (sbatch(1)), as a phrase. Empty:
// nothing is wrong, or only Slurm can tell whether the value is valid. The form is checked before
// anything is written, so that a dry run does not accept a value that Slurm refuses at submission.
std::string_view wrong_form(std::string_view option, std::string_view value);
// Whether wrong_form() can check the values of the option.
bool has_form(std::string_view option);

}  // namespace toprun::engines::slurm
