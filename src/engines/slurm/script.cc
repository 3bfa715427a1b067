#include "engines/slurm/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/process/command.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "engines/program_words.h"
#include "engines/slurm/facts.h"

namespace toprun::engines {
namespace {

constexpr std::string_view first_line = "#!/bin/bash\n# Written by toprun";

// Characters that need no quotes for sbatch or bash.
bool is_plain(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  return !word.empty() && word.find_first_not_of(plain) == std::string_view::npos;
}

std::string word_of(const JobOption& option) {
  return option.value ? fmt::format("{}={}", option.name, *option.value) : option.name;
}

std::string bash_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += ' ' + bash_word(word);
  return line;
}

// The job's folder below the log directory. For a task of an array its name has the array's id and
// the task's index, as squeue shows them.
std::string folder_line(const JobRequest& job) {
  const std::string_view name =
      job.is_array() ? R"("${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID")" : R"("$SLURM_JOB_ID")";
  return fmt::format("folder={}/{}\n", bash_word(job.log_dir), name);
}

// shellcheck warns about quoted text that a shell would expand without quotes: here it is data.
std::string words_are_data(const JobRequest& job) {
  const auto looks_expandable = [](const std::string& word) {
    return word.find_first_of("$`\\") != std::string::npos;
  };
  const bool any = looks_expandable(job.log_dir) || looks_expandable(job.toprun) ||
                   std::ranges::any_of(job.run_options, looks_expandable) ||
                   std::ranges::any_of(job.program, looks_expandable);
  return any ? "# shellcheck disable=SC1003,SC2016\n" : "";
}

// A verb writes its own files; Slurm's file is enough for its output.
std::string verb_line(const JobRequest& job) {
  return fmt::format("exec {} {}{}{}\n", bash_word(job.toprun), job.verb,
                     bash_words(job.run_options), bash_words(job.program));
}

std::string run_line(const JobRequest& job) {
  std::string line = "exec " + bash_word(job.toprun) + R"( --node-log "$folder")";
  if (job.reports) line += R"( --report "$folder/report.json")";
  if (job.keeps_rank_files) line += R"( --log-dir "$folder")";
  line += bash_words(job.run_options);
  return line + bash_words(after_options(job.program)) + '\n';
}

// A step of one task that leaves all resources to the steps that toprun starts beside it.
const std::vector<std::string> step_command = {
    "srun", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--pty", "--overlap", "--mpi=none"};

}  // namespace

std::string bash_word(std::string_view word) {
  if (is_printable(word)) {
    const std::string whole(word);
    return shell_quote(std::span(&whole, 1));
  }
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      // Three digits, so that a following digit does not become part of the number.
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + '\'';
}

Result<std::string> directive(const std::string& word) {
  if (!is_printable(word)) {
    return usage(word, "a #SBATCH line cannot contain a control character", "leave it out");
  }
  if (is_plain(word)) return word;
  const std::size_t value = word.find('=') + 1;  // without a value: all of it
  std::string out = word.substr(0, value) + '"';
  for (const char c : word.substr(value)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

Result<std::string> literal_in_pattern(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '\\') {
      return usage("log directory " + path, "Slurm interprets a backslash in a file name",
                   "choose another directory with --log-dir");
    }
    out += c;
    if (c == '%') out += c;
  }
  return out;
}

std::vector<std::string> option_words(const JobRequest& job) {
  std::vector<std::string> words;
  for (const JobOption& option : job.options) words.push_back(word_of(option));
  words.insert(words.end(), job.raw_options.begin(), job.raw_options.end());
  return words;
}

bool is_written_by_toprun(std::string_view script) {
  return script.starts_with(first_line);
}

Result<std::string> slurm_script(const JobRequest& job) {
  std::string script = fmt::format("{} {}; `sbatch FILE` submits it again.\n", first_line, version);
  for (const std::string& word : option_words(job)) {
    const auto written = TRY(directive(word));
    script += fmt::format("#SBATCH {}\n", written);
  }
  script += words_are_data(job);  // before the first command it is about the whole file
  script += "set -euo pipefail\n";
  if (!job.verb.empty()) return script + verb_line(job);
  script += folder_line(job);
  script += run_line(job);
  return script;
}

std::vector<std::string> salloc_command(const JobRequest& request,
                                        const std::vector<std::string>& shell) {
  std::vector<std::string> command = {"salloc"};
  for (std::string& word : option_words(request)) command.push_back(std::move(word));
  command.insert(command.end(), step_command.begin(), step_command.end());
  command.insert(command.end(), {"--preserve-env", "env", "--unset=SLURM_STEP_ID",
                                 "--unset=SLURM_STEPID", "--unset=SLURM_PTY_PORT"});
  command.insert(command.end(), shell.begin(), shell.end());
  return command;
}

std::vector<std::string> attach_command(const std::vector<std::string>& job,
                                        const std::vector<std::string>& shell) {
  std::vector<std::string> command = step_command;
  command.insert(command.end(), job.begin(), job.end());
  command.insert(command.end(), shell.begin(), shell.end());
  return command;
}

std::optional<std::string> surrounding_job(const Environment& environment) {
  const auto id = environment.non_empty("SLURM_JOB_ID");
  if (!id) return std::nullopt;
  const auto state = process::output_of({"squeue", "--noheader", "--jobs=" + *id, "-o", "%T"},
                                        environment, slurm_answer_limit(environment));
  if (!state || trim(*state) != "RUNNING") return std::nullopt;
  return id;
}

}  // namespace toprun::engines
