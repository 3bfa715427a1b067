#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::engines {

// An option of sbatch and salloc, with their name and meaning (sbatch(1)).
struct JobOption {
  std::string name;                  // "--nodes"
  std::optional<std::string> value;  // none: it stands alone
  std::string reason;                // why it is there, where the user did not say it

  bool operator==(const JobOption&) const = default;
};

// A job to be submitted, or an allocation to be asked for.
struct JobRequest {
  // Each name once, in the order in which they are written; then what --slurm-arg gave, whole words
  // as they are.
  std::vector<JobOption> options;
  std::vector<std::string> raw_options;

  // Of a job that is submitted; all paths are absolute.
  std::string log_dir;  // its files go to a folder of its own below
  std::string toprun;
  std::string verb;                      // of the script's last line: "setup"; empty: run
  std::vector<std::string> run_options;  // words for it, those for its files left out
  bool keeps_rank_files = false;         // torchrun's --log-dir is that folder too
  bool reports = true;                   // and so is report.json's; false: run_options name another
  std::vector<std::string> program;      // the script and its arguments; of setup the packages
  std::optional<int> workers;            // on each node, where a number says so
  bool survives_a_node = false;          // goes on with fewer nodes, or with a spare one

  const JobOption* find(std::string_view name) const {
    const auto found = std::ranges::find(options, name, &JobOption::name);
    return found == options.end() ? nullptr : &*found;
  }
  // Whether --slurm-arg says something about this option.
  bool has_raw(std::string_view name) const {
    return std::ranges::any_of(raw_options, [&](const std::string& word) {
      return word == name || word.starts_with(std::string(name) + '=');
    });
  }
  bool is_array() const { return find("--array") != nullptr; }
};

}  // namespace toprun::engines
