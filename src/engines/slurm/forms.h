#pragma once

#include <string_view>

namespace toprun::engines::slurm {

// What is wrong with the form of a value of one of sbatch's options (sbatch(1)), as a phrase.
// Empty: nothing, or only Slurm can judge it. It is asked before anything is written: with an order
// that Slurm would refuse only at submission, a dry run would look well.
std::string_view wrong_form(std::string_view option, std::string_view value);
// Whether wrong_form() knows what its values look like.
bool has_form(std::string_view option);

}  // namespace toprun::engines::slurm
