#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::engines {

// An option of sbatch and salloc, with the name and meaning in sbatch(1).
struct JobOption {
  std::string name;                  // "--nodes"
  std::optional<std::string> value;  // unset: the option has no value
  std::string reason;                // why toprun added the option, if the user did not set it

  bool operator==(const JobOption&) const = default;
};

// A job to submit, or an allocation to request.
struct JobRequest {
  // Each name appears once, in the order in which the options are written. The words of --slurm-arg
  // come after these options, unchanged.
  std::vector<JobOption> options;
  std::vector<std::string> raw_options;

  // These fields are only for a submitted job; all paths are absolute.
  std::string log_dir;  // the job's files go to a separate folder in this folder
  std::string toprun;
  std::string verb;                      // toprun's verb in the script's last line: "setup"; empty:
                                         // run
  std::vector<std::string> run_options;  // options of that verb, without those for its files
  bool keeps_rank_files = false;         // the job's folder is also the value of torchrun's
                                         // --log-dir
  bool reports = true;                   // report.json is written to the job's folder; false:
                                         // run_options name another file
  std::vector<std::string> program;      // the script and its arguments; for `toprun setup`, the
                                         // packages
  std::optional<int> workers;            // on each node, if given as a number
  std::string launcher;                  // the program that starts every rank (--launcher):
                                         // "mpirun"; empty: toprun starts them
  bool survives_a_node = false;          // the job continues after the loss of a node, with fewer
                                         // nodes or with a spare node

  const JobOption* find(std::string_view name) const {
    const auto found = std::ranges::find(options, name, &JobOption::name);
    return found == options.end() ? nullptr : &*found;
  }
  // Whether --slurm-arg sets this option.
  bool has_raw(std::string_view name) const {
    return std::ranges::any_of(raw_options, [&](const std::string& word) {
      return word == name || word.starts_with(std::string(name) + '=');
    });
  }
  bool is_array() const { return find("--array") != nullptr; }
};

}  // namespace toprun::engines
