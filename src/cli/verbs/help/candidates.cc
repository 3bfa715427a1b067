#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/os/console.h"
#include "base/os/environment.h"
#include "base/text/text.h"
#include "cli/config/config_search.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/known_job.h"
#include "cli/options/flags.h"
#include "cli/verbs/help/completion.h"
#include "engines/queue.h"
#include "machine/fabric/profiles.h"

namespace toprun::cli {
namespace {

using Kind = Completion::Kind;
using Option = options::CommandText::Option;
using Row = options::CommandText::Row;

constexpr const char* engine_timeout_s = "2";  // a user waits with a finger on the Tab key
constexpr std::string_view script_operand = "SCRIPT";
constexpr std::string_view host_list = "HOSTS";
constexpr std::string_view fabric_choice = "|FABRIC";
constexpr std::size_t most_jobs = 1'000;
constexpr std::size_t most_described = 50;  // each by reading its report

const Option* find_option(const options::CommandText& command, std::string name) {
  if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
  for (const auto& section : command.options) {
    for (const Option& option : section.options) {
      if (std::ranges::find(option.names, name) != option.names.end()) return &option;
    }
  }
  return nullptr;
}

// Whether the next word is the option's value: an optional value only follows "=".
bool takes_a_word(const Option* option) {
  return option != nullptr && !option->value.empty() && !option->value_optional;
}

// Words that are neither options nor their values.
std::size_t count_operands(const options::CommandText& command,
                           std::span<const std::string> words) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "=") {
      ++i;  // its value
    } else if (!words[i].starts_with('-')) {
      ++count;
    } else if (takes_a_word(find_option(command, words[i])) &&
               (i + 1 == words.size() || words[i + 1] != "=")) {
      ++i;
    }
  }
  return count;
}

Kind kind_of(std::string_view form) {
  if (form.starts_with("ID")) return Kind::jobs;
  if (form.starts_with("PARTITION")) return Kind::partitions;
  if (form == host_list) return Kind::hosts;
  if (form == "PROFILE") return Kind::profiles;
  return form.contains("DIR") && !form.contains("FILE") ? Kind::folders : Kind::files;
}

// Whether the name of a file is, or may begin, a value of the form.
bool takes_file(std::string_view form) {
  constexpr std::string_view of_files[] = {"FILE",  "DIR",     "PATH",    "SCRIPT", "SRC",
                                           "IMAGE", "PATTERN", "COMMAND", "CMD",    "PACKAGE"};
  return std::ranges::any_of(of_files, [&](std::string_view word) { return form.contains(word); });
}

// The words of a list that are not in what is typed of it.
std::vector<std::string> rest_of_list(std::string_view form, std::string_view typed) {
  const auto given = split(typed, ',');
  std::vector<std::string> rest;
  for (const std::string_view word : options::list_choices(form)) {
    const bool is_given =
        std::ranges::find(given.begin(), given.end() - 1, word) != given.end() - 1;
    if (!is_given) rest.emplace_back(word);
  }
  return rest;
}

Completion value_of(std::string_view form, std::string stem, std::string_view typed) {
  Completion out{kind_of(form), rest_of_list(form, typed), std::move(stem), {}};
  const bool is_of_words = !options::list_choices(form).empty();
  for (const std::string_view choice : options::choices(form)) out.choices.emplace_back(choice);
  if (form.ends_with(fabric_choice)) {
    for (const fabric::Profile& profile : fabric::profiles())
      out.choices.emplace_back(profile.name);
  }
  if (!out.choices.empty() || is_of_words) out.kind = Kind::choices;
  // A report is a file, and may have any name. Before a letter is typed, only likely names fit.
  out.with_reports = out.kind == Kind::jobs && takes_file(form) && typed.empty();
  out.is_complete = out.kind == Kind::profiles || !takes_file(form) || out.with_reports;
  const bool is_list = is_of_words || form.contains(",...") || form == host_list;
  const std::size_t comma = is_list ? typed.rfind(',') : std::string_view::npos;
  const std::size_t start = comma == std::string_view::npos ? 0 : comma + 1;
  out.stem += typed.substr(0, start);
  out.typed = typed.substr(start);
  return out;
}

// torchrun's spelling, for a user that types it: --nproc_per_node.
std::string with_underscores(std::string name) {
  if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

std::vector<Row> option_rows(const options::CommandText& command, std::string_view typed) {
  std::vector<Row> rows;
  for (const auto& section : command.options) {
    for (const Option& option : section.options) {
      const std::string& name = option.names.back();
      rows.push_back({typed.contains('_') ? with_underscores(name) : name, option.text});
    }
  }
  return rows;
}

Environment impatient(Environment environment) {
  environment.set("TOPRUN_ENGINE_TIMEOUT", engine_timeout_s);
  return environment;
}

std::vector<Row> queued_rows(const Environment& environment) {
  const auto queue = engines::find_queue(environment);
  if (!queue) return {};
  const auto jobs = (*queue)->jobs(::getuid());
  if (!jobs) return {};
  std::vector<Row> rows;
  for (const engines::Job& job : jobs->jobs) {
    rows.push_back({job.id, fmt::format("{}, {}", job.name, lower(job.state_word))});
  }
  return rows;
}

// "train, failed, exit code 1: …". Each task of an array has an end of its own.
std::string described(const jobs::FoundFiles& found, const std::vector<jobs::FoundFiles>& all) {
  const auto tasks = std::ranges::count_if(
      all, [&](const auto& other) { return other.id.starts_with(found.id + "_"); });
  const jobs::JobSummary summary = jobs::summary_of(jobs::forgotten_job(found));
  if (tasks > 0 && !summary.is_over) return "array with files of " + counted(tasks, "task");
  if (summary.name.empty() || summary.words.empty()) return summary.name + summary.words;
  return summary.name + ", " + summary.words;
}

// Also those whose files are in this folder though the engine has forgotten them; the latest first.
std::vector<Row> job_rows(const Environment& environment) {
  std::vector<Row> rows = queued_rows(environment);
  std::vector<jobs::FoundFiles> left = jobs::all_files(jobs::likely_folders({}));
  std::ranges::sort(left, [](const auto& a, const auto& b) { return natural_less(b.id, a.id); });
  std::size_t reports = 0;
  for (const jobs::FoundFiles& found : left) {
    if (rows.size() == most_jobs) break;
    if (std::ranges::find(rows, found.id, &Row::left) != rows.end()) continue;
    const std::string text = ++reports <= most_described ? described(found, left) : std::string();
    rows.push_back({found.id, text.empty() ? "its files are here" : text});
  }
  return rows;
}

std::optional<engines::Machines> machines_in(const Environment& environment) {
  const auto queue = engines::find_queue(environment);
  if (!queue) return std::nullopt;
  auto machines = (*queue)->machines();
  if (!machines) return std::nullopt;
  return *std::move(machines);
}

std::vector<Row> partition_rows(const Environment& environment) {
  std::vector<Row> rows;
  const auto machines = machines_in(environment);
  if (!machines) return rows;
  for (const engines::Partition& partition : machines->partitions) {
    rows.push_back({partition.name, partition.is_default ? "the default" : ""});
  }
  return rows;
}

std::vector<Row> host_rows(const Environment& environment) {
  std::vector<Row> rows;
  const auto machines = machines_in(environment);
  if (!machines) return rows;
  for (const engines::ClusterNode& node : machines->nodes) {
    rows.push_back({node.name, node.idle ? "idle" : node.usable ? "in use" : "not usable"});
  }
  return rows;
}

std::vector<Row> profile_rows(const Environment& environment) {
  const auto config = config::find_config(std::nullopt, environment);
  std::vector<Row> rows;
  if (!config) return rows;
  for (const config::ConfigFile& file : config->files) {
    for (const auto& [name, table] : file.profiles) rows.push_back({name, "of " + file.label});
  }
  return rows;
}

// The files of this folder that may be reports.
std::vector<Row> report_rows() {
  std::vector<Row> rows;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(".", error), end; !error && entry != end;
       entry.increment(error)) {
    if (rows.size() == most_jobs) break;
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".json") && !name.starts_with('.')) rows.push_back({name, "a file"});
  }
  std::ranges::sort(rows, natural_less, &Row::left);
  return rows;
}

// The value of --on in the words before the one that is typed. bash makes "=" a word of its own.
std::string engine_in(std::span<const std::string> before) {
  std::string engine;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].starts_with("--on=")) engine = before[i].substr(std::string_view("--on=").size());
    if (before[i] != "--on") continue;
    const std::size_t at = i + 1 < before.size() && before[i + 1] == "=" ? i + 2 : i + 1;
    if (at < before.size()) engine = before[at];
  }
  return engine;
}

std::vector<Row> rows_of(const options::CommandText& command, const Completion& what,
                         std::span<const std::string> before) {
  Environment environment = impatient(Environment::from(environ));
  if (const auto on = engine_in(before); engines::queue_kind(on)) environment.set("TOPRUN_ON", on);
  switch (what.kind) {
    case Kind::files:
    case Kind::folders:
      return {};
    case Kind::options:
      return option_rows(command, what.typed);
    case Kind::choices: {
      std::vector<Row> rows;
      for (const std::string& choice : what.choices) rows.push_back({choice, ""});
      return rows;
    }
    case Kind::jobs:
      return job_rows(environment);
    case Kind::partitions:
      return partition_rows(environment);
    case Kind::hosts:
      return host_rows(environment);
    case Kind::profiles:
      return profile_rows(environment);
  }
  return {};
}

}  // namespace

Completion completion(const options::CommandText& command, std::span<const std::string> words) {
  if (words.empty()) return {};
  const std::string& current = words.back();
  const std::span<const std::string> before = words.first(words.size() - 1);
  const std::size_t operands = count_operands(command, before);
  const bool has_script = !command.positionals.empty() && command.positionals[0] == script_operand;
  if (has_script && operands > 0) return {};
  const auto value = [&](const std::string& name, std::string stem, std::string_view typed) {
    const Option* const option = find_option(command, name);
    if (option == nullptr) return Completion{};
    return value_of(option->value, std::move(stem), typed);
  };
  if (current == "=" && !before.empty()) return value(before.back(), {}, {});
  if (before.size() >= 2 && before.back() == "=")
    return value(before[before.size() - 2], {}, current);
  const std::size_t equals = current.find('=');
  if (current.starts_with("--") && equals != std::string::npos) {
    const std::string_view typed = std::string_view(current).substr(equals + 1);
    return value(current.substr(0, equals), current.substr(0, equals + 1), typed);
  }
  if (!before.empty() && takes_a_word(find_option(command, before.back()))) {
    return value(before.back(), {}, current);
  }
  if (current.starts_with('-') || command.positionals.empty()) {
    return {Kind::options, {}, {}, current};
  }
  return value_of(command.positionals[std::min(operands, command.positionals.size() - 1)], {},
                  current);
}

std::string candidate_lines(std::span<const Row> candidates, std::string_view stem,
                            std::string_view typed) {
  std::string out;
  for (const Row& row : candidates) {
    if (!row.left.starts_with(typed) || !is_printable(row.left)) continue;
    out += fmt::format("{}{}", stem, row.left);
    if (!row.text.empty()) out += '\t' + printable(row.text);
    out += '\n';
  }
  return out;
}

int print_candidates(const options::CommandText& command, std::span<const std::string> words) {
  const Completion what = completion(command, words);
  const auto before = words.first(words.empty() ? 0 : words.size() - 1);
  std::vector<Row> rows = rows_of(command, what, before);
  if (what.kind == Kind::jobs) {  // cancel takes several jobs, each once
    std::erase_if(
        rows, [&](const Row& row) { return std::ranges::find(before, row.left) != before.end(); });
  }
  if (what.with_reports) {
    for (Row& row : report_rows()) rows.push_back(std::move(row));
  }
  const int code = print(candidate_lines(rows, what.stem, what.typed));
  if (code != 0) return code;
  if (what.is_complete) return no_file_fits;
  return what.kind == Kind::folders ? only_folders_fit : 0;
}

}  // namespace toprun::cli
