#include "cli/jobs/job_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/os/files.h"
#include "base/text/text.h"
#include "cli/jobs/job_story.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_entries = 100'000;    // of a folder; the rest is not looked at
constexpr std::size_t most_rank_files = 4'096;  // whose times are compared
constexpr std::size_t max_folders = 1'000;      // that are searched for a forgotten job's files
constexpr std::string_view host_suffix = ".out";
constexpr std::string_view script_name = "job.sbatch";
constexpr std::size_t max_script_bytes = 4u << 20;

using Names = std::vector<std::string>;

// Names in a folder in natural order; empty: it cannot be read.
Names names_in(const fs::path& folder) {
  Names names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end;
       !error && entry != end && names.size() < max_entries; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names, natural_less);
  return names;
}

// %x with a percent sign in it looks like a pattern in what the engine says.
std::string real_path(const engines::Queue& queue, const engines::Job& job,
                      const std::string& reported) {
  if (is_there(reported)) return reported;
  const fs::path expanded = queue.expand(reported, job);
  return (expanded.is_absolute() ? expanded : fs::path(job.folder) / expanded).string();
}

// The job that a name in a log folder speaks of: "17" or "17_3" of "train.17_3.out", "slurm-17.out"
// and the folders themselves. Empty: none, or none of this id (empty: any).
std::string id_in(std::string_view name, std::string_view id) {
  if (name.ends_with(host_suffix)) {
    name.remove_suffix(host_suffix.size());
    constexpr std::string_view slurms = "slurm-";
    name.remove_prefix(name.starts_with(slurms) ? slurms.size() : name.rfind('.') + 1);
  }
  if (id.empty()) {
    const auto parsed = engines::parse_job_id(name);
    return parsed && !parsed->number.empty() ? std::string(name) : std::string();
  }
  if (!name.starts_with(id)) return {};
  const std::string_view task = name.substr(id.size());
  const bool is_task = task.size() > 1 && task[0] == '_' && parse_int(task.substr(1));
  return task.empty() || is_task ? std::string(name) : std::string();
}

// A folder with "slurm-4711.out" or "train.17.out" may be a LOGDIR whose name is a number.
bool is_job_folder(const fs::path& folder) {
  const auto names = names_in(folder);
  return std::ranges::any_of(names, [](const std::string& name) {
    return name == script_name || name == "report.json" ||
           (name.ends_with(host_suffix) && id_in(name, {}).empty());
  });
}

// Tasks that left nothing of their own: their array's story tells that they were cancelled.
void add_cancelled_tasks(const fs::path& log_dir, const engines::JobId& array,
                         std::vector<FoundFiles>& found) {
  TaskNumbers tasks = read_story((log_dir / array.number).string()).cancelled_tasks;
  if (!array.task.empty()) {
    tasks = common_tasks(tasks, parse_tasks(array.task).value_or(TaskNumbers()));
  }
  const std::string start = array.number + "_";
  for (const FoundFiles& job : found) {
    if (!job.id.starts_with(start)) continue;
    const auto own = parse_tasks(std::string_view(job.id).substr(start.size()));
    if (own) tasks = tasks_without(tasks, *own);
  }
  if (tasks.empty()) return;
  const std::string id = id_of_tasks(array.number, tasks);
  found.push_back({id, {{}, (log_dir / id).string()}});
}

// Jobs that may be arrays: the one with this id, or all that were found.
std::vector<engines::JobId> arrays_in(const std::vector<FoundFiles>& found, const std::string& id) {
  std::vector<engines::JobId> arrays;
  if (!id.empty()) {
    if (auto parsed = engines::parse_job_id(id); parsed && !parsed->number.empty()) {
      arrays.push_back(*std::move(parsed));
    }
    return arrays;
  }
  for (const FoundFiles& job : found) {
    auto parsed = engines::parse_job_id(job.id);
    if (parsed && parsed->text == parsed->number) arrays.push_back(*std::move(parsed));
  }
  return arrays;
}

// The jobs of this id with files in LOGDIR; of "12_[0-3]", each of these tasks.
std::vector<FoundFiles> found_in(const fs::path& log_dir, const std::string& id) {
  const std::size_t list = id.find("_[");
  const auto tasks = list == id.npos ? std::nullopt : parse_tasks(id.substr(list + 1));
  const std::string of = tasks ? id.substr(0, list) : id;
  std::vector<FoundFiles> found;
  for (const std::string& name : names_in(log_dir)) {
    const std::string whose = id_in(name, of);
    if (whose.empty()) continue;
    if (tasks) {
      const auto own = parse_tasks(whose.substr(std::min(whose.size(), of.size() + 1)));
      if (!own || common_tasks(*own, *tasks).empty()) continue;
    }
    auto job = std::ranges::find(found, whose, &FoundFiles::id);
    if (job == found.end()) {
      job = found.insert(job, {whose, {{}, (log_dir / whose).string()}});
    }
    if (name != whose) job->files.own.push_back((log_dir / name).string());
  }
  std::erase_if(found, [](const FoundFiles& job) {
    return job.files.own.empty() && !is_job_folder(job.files.folder);
  });
  const auto arrays = arrays_in(found, id);
  for (const engines::JobId& array : arrays) add_cancelled_tasks(log_dir, array, found);
  std::ranges::sort(found, natural_less, &FoundFiles::id);
  return found;
}

// Each of these folders, and then those in it.
std::vector<std::string> with_folders_in(const std::vector<std::string>& tops) {
  std::vector<std::string> folders;
  for (const std::string& top : tops) {
    folders.push_back(top);
    std::size_t looked_at = 0;
    for (const std::string& name : names_in(top)) {
      std::error_code error;
      const fs::path folder = fs::path(top) / name;
      if (!fs::is_directory(folder, error)) continue;
      if (++looked_at > max_folders) break;
      folders.push_back(folder.string());
    }
  }
  return folders;
}

// The words of a line that toprun has quoted for a shell; at least one, perhaps empty.
std::vector<std::string> words_in_shell(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_quote = quote == 0 ? c == '\'' || c == '"' : c == quote;
    if (is_quote) {
      quote = quote == 0 ? c : '\0';
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else if (c == ' ' && quote == 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

Result<std::vector<LogFile>> of_node(const JobFiles& files, const std::string& node) {
  const auto all = node_files(files);
  std::vector<LogFile> found;
  std::vector<std::string> hosts;
  for (const LogFile& file : all) {
    hosts.push_back(file.label);
    if (file.label == node) found.push_back(file);
  }
  if (!found.empty()) return found;
  if (hosts.empty()) {
    return fail("no output of node " + node, "there is no HOST.out in " + files.folder,
                "jobs from toprun submit write one such file per host; leave --node out to see the "
                "output that the engine kept");
  }
  constexpr std::size_t few = 12;
  const auto meant = hosts.size() > few ? did_you_mean(node, hosts) : std::nullopt;
  return usage(
      "--node " + node, "the job has no output from this node",
      meant ? fmt::format("did you mean {}?", *meant) : "choose one of: " + join(hosts, ", "));
}

void add_rank_files(const fs::path& worker, const std::string& label, std::vector<LogFile>& found) {
  for (const char* name : {"stdout.log", "stderr.log"}) {
    if (is_there(worker / name)) found.push_back({(worker / name).string(), label});
  }
}

// torchrun's layout: a folder per agent, attempt_N in it, a folder per local rank in that.
std::vector<LogFile> of_rank_by_report(const model::RunRecord& run, int rank) {
  std::vector<LogFile> found;
  for (const model::AttemptRecord& attempt : run.attempts) {
    for (const model::NodeRecord& node : attempt.nodes) {
      if (node.logs.empty() || rank < node.first_rank || rank >= node.first_rank + node.nproc) {
        continue;
      }
      add_rank_files(fs::path(node.logs.raw()) / fmt::format("attempt_{}", attempt.attempt) /
                         fmt::to_string(rank - node.first_rank),
                     {}, found);
    }
  }
  return found;
}

// If only one agent left a folder, local ranks are ranks.
std::vector<LogFile> of_rank_by_layout(const JobFiles& files, int rank) {
  std::vector<fs::path> agents;
  for (const std::string& name : names_in(files.folder)) {
    const fs::path agent = fs::path(files.folder) / name;
    if (is_there(agent / "attempt_0")) agents.push_back(agent);
  }
  std::vector<LogFile> found;
  if (agents.size() != 1) return found;
  for (const std::string& name : names_in(agents[0])) {
    if (name.starts_with("attempt_")) {
      add_rank_files(agents[0] / name / fmt::to_string(rank), {}, found);
    }
  }
  return found;
}

// HOST.out of a node that had no other rank in any attempt; empty: the rank shared its node, or had
// different ones.
std::vector<LogFile> of_rank_alone(const JobFiles& files, const model::RunRecord& run, int rank) {
  std::optional<std::string> host;
  for (const model::AttemptRecord& attempt : run.attempts) {
    for (const model::NodeRecord& node : attempt.nodes) {
      const bool has_rank = rank >= node.first_rank && rank < node.first_rank + node.nproc;
      const bool is_known = host && node.name.raw() == *host;
      if (!has_rank && !is_known) continue;
      if (!has_rank || node.nproc != 1 || (host && !is_known)) return {};
      host = node.name.raw();
    }
  }
  std::vector<LogFile> all = node_files(files);
  std::erase_if(all, [&](const LogFile& file) { return !host || file.label != *host; });
  return all;
}

Result<std::vector<LogFile>> of_rank(const JobFiles& files, int rank) {
  const auto report = TRY(read_report(files.report()));
  auto found = report ? of_rank_by_report(report->run, rank) : std::vector<LogFile>();
  if (found.empty()) found = of_rank_by_layout(files, rank);
  if (found.empty() && report) found = of_rank_alone(files, report->run, rank);
  if (!found.empty()) return found;
  if (report && !report->run.attempts.empty()) {
    std::int64_t ranks = 0;
    for (const auto& node : report->run.attempts.back().nodes) ranks += node.nproc;
    if (ranks > 0 && rank >= ranks) {
      return usage(fmt::format("--rank {}", rank),
                   fmt::format("the job has ranks 0 to {}", ranks - 1));
    }
  }
  return fail(fmt::format("cannot show the output of rank {} by itself", rank),
              "the job did not write one file per rank in " + files.folder,
              "to have such files, submit the job with --redirects 3 or --tee 3 (in a job script "
              "of your own, toprun also needs --log-dir); leave --rank out to see all output");
}

// The files in LOGDIR of the job with exactly this id; empty: none.
std::optional<FoundFiles> found_with(const fs::path& log_dir, const std::string& id) {
  if (id.empty()) return std::nullopt;
  for (FoundFiles& found : found_in(log_dir, id)) {
    if (found.id == id) return std::move(found);
  }
  return std::nullopt;
}

// Of the job whose id the folder's name is.
std::optional<FoundFiles> of_folder(const fs::path& folder) {
  auto found = found_with(folder.parent_path(), id_in(folder.filename().string(), {}));
  return found && is_there(found->files.folder) ? std::move(found) : std::nullopt;
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::vector<LogFile> node_files(const JobFiles& files) {
  std::vector<LogFile> found;
  for (const std::string& name : names_in(files.folder)) {
    if (!name.ends_with(host_suffix) || name.size() == host_suffix.size()) continue;
    found.push_back({files.folder + "/" + name, name.substr(0, name.size() - host_suffix.size())});
  }
  return found;
}

std::optional<JobFiles> files_of(const engines::Queue& queue, const engines::Job& job) {
  if (job.out.empty()) return std::nullopt;
  JobFiles files;
  files.own.push_back(real_path(queue, job, job.out));
  if (!job.err.empty()) {
    const std::string err = real_path(queue, job, job.err);
    if (err != files.own[0]) files.own.push_back(err);
  }
  // Of a heterogeneous job the root agent is in the first component.
  const std::string& id = job.het_leader.empty() ? job.id : job.het_leader;
  files.folder = (fs::path(files.own[0]).parent_path() / id).string();
  return files;
}

std::string name_in(const JobFiles& files, const std::string& id) {
  if (files.own.empty()) return {};
  const std::string name = fs::path(files.own.front()).filename().string();
  const std::string end = "." + id + ".out";
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
}

std::string dependency_in(const std::string& folder) {
  constexpr std::string_view start = "#SBATCH --dependency=";
  const auto script = read_plain_file(fs::path(folder) / script_name, max_script_bytes);
  for (const std::string_view line : split(script.value_or(""), '\n')) {
    if (line.starts_with(start)) return std::string(line.substr(start.size()));
  }
  return {};
}

bool has_files_per_rank_alone(const JobFiles& files) {
  const auto script = read_plain_file(fs::path(files.folder) / script_name, max_script_bytes);
  const std::string text = script.value_or("");
  if (!text.contains(" --redirects") && !text.contains(" -r ")) return false;
  return std::ranges::any_of(names_in(files.folder), [&](const std::string& name) {
    return is_there(fs::path(files.folder) / name / "attempt_0");
  });
}

std::vector<LogFile> rank_files(const JobFiles& files, const JobReport* report) {
  Names attempts;
  if (report != nullptr) {
    const model::AttemptRecord& last = model::last_attempt(report->run);
    for (const model::NodeRecord& node : last.nodes) {
      if (node.logs.empty()) continue;
      attempts.push_back(fmt::format("{}/attempt_{}/", node.logs.raw(), last.attempt));
    }
  }
  for (const std::string& name : attempts.empty() ? names_in(files.folder) : Names()) {
    const std::string agent = files.folder + "/" + name + "/";
    std::string latest;
    for (const std::string& own : names_in(agent)) {
      if (own.starts_with("attempt_")) latest = agent + own + "/";
    }
    if (!latest.empty()) attempts.push_back(latest);
  }
  std::vector<LogFile> found;
  for (const std::string& attempt : attempts) {
    for (const std::string& rank : names_in(attempt)) {
      if (found.size() >= most_rank_files) return found;
      add_rank_files(attempt + rank, {}, found);
    }
  }
  return found;
}

std::string directory_in(const std::string& folder) {
  constexpr std::string_view start = "#SBATCH --chdir=";
  const auto script = read_plain_file(fs::path(folder) / script_name, max_script_bytes);
  std::string directory;
  for (const std::string_view line : split(script.value_or(""), '\n')) {
    if (line.starts_with(start)) directory = join(words_in_shell(line.substr(start.size())), " ");
  }
  return directory;
}

std::string built_in(const std::string& folder) {
  const auto script = read_plain_file(fs::path(folder) / script_name, max_script_bytes);
  const fs::path directory = directory_in(folder);
  std::string built;
  for (const std::string_view line : split(script.value_or(""), '\n')) {
    if (!line.starts_with("exec ") || !line.contains(" setup --on=local ")) continue;
    for (const std::string& word : words_in_shell(line)) {
      for (const std::string_view option : {"--venv=", "--container="}) {
        if (word.starts_with(option)) built = word.substr(option.size());
      }
    }
  }
  return built.empty() ? built : (directory / built).string();
}

std::vector<FoundFiles> files_beside(const std::string& folder, const std::string& id) {
  return found_in(fs::path(folder).parent_path(), id);
}

std::optional<FoundFiles> without_tasks(FoundFiles found, const std::string& array,
                                        const TaskNumbers& known) {
  const auto tasks =
      parse_tasks(std::string_view(found.id)
                      .substr(array.size())
                      .substr(std::min<std::size_t>(1, found.id.size() - array.size())));
  if (!tasks) return std::nullopt;  // the array's own folder
  const TaskNumbers rest = tasks_without(*tasks, known);
  if (rest.empty()) return std::nullopt;
  if (rest != *tasks) {
    found.id = id_of_tasks(array, rest);
    found.files.folder = (fs::path(found.files.folder).parent_path() / found.id).string();
  }
  return found;
}

std::vector<FoundFiles> other_tasks(const std::string& log_dir, const std::string& array,
                                    const TaskNumbers& known) {
  std::vector<FoundFiles> others;
  for (FoundFiles& found : found_in(log_dir, array)) {
    if (auto rest = without_tasks(std::move(found), array, known)) {
      others.push_back(*std::move(rest));
    }
  }
  return others;
}

std::optional<FoundFiles> files_at(const std::string& path) {
  const bool is_path = path.contains('/') || path == "." || path == ".." ||
                       path.ends_with(".json") || path.ends_with(host_suffix);
  std::error_code error;
  fs::path at = is_path ? fs::canonical(path, error) : fs::path();
  if (!is_path || error) return std::nullopt;  // an id
  if (at.filename() == "report.json") at = at.parent_path();
  if (fs::is_directory(at, error)) return of_folder(at);
  if (!path.ends_with(host_suffix)) return std::nullopt;
  auto of_host = of_folder(at.parent_path());  // HOST.out; the host may be 10.0.0.5
  if (of_host && has_evidence(*of_host)) return of_host;
  auto named = found_with(at.parent_path(), id_in(at.filename().string(), {}));
  return named ? std::move(named) : std::move(of_host);
}

bool has_evidence(const FoundFiles& found) {
  if (!found.files.own.empty()) return true;
  const fs::path folder = found.files.folder;
  const fs::path of_array = folder.parent_path() / found.id.substr(0, found.id.find('_'));
  if (is_there(folder / script_name) || is_there(of_array / script_name)) return true;
  const auto report = read_report(found.files.report());
  return report && *report;
}

std::vector<std::string> likely_folders(const std::vector<engines::Job>& jobs) {
  std::error_code error;
  std::vector<std::string> folders = {fs::current_path(error).string()};
  for (const engines::Job& job : jobs) {
    if (!job.folder.empty() && job.folder != folders.front()) folders.push_back(job.folder);
  }
  return folders;
}

std::string no_files_text(const std::vector<engines::Job>& jobs) {
  return "no files of this job were found below " + printable(join(likely_folders(jobs), ", "));
}

std::vector<FoundFiles> search_files(const std::string& id, const std::vector<std::string>& below) {
  for (const std::string& folder : with_folders_in(below)) {
    auto found = found_in(folder, id);
    const bool has_tasks =
        std::ranges::any_of(found, [&](const FoundFiles& job) { return job.id != id; });
    if (has_tasks) {
      std::erase_if(found, [&](const FoundFiles& job) {
        return job.id == id && job.files.own.empty() && node_files(job.files).empty();
      });
    }
    if (!found.empty()) return found;
  }
  return {};
}

std::vector<FoundFiles> all_files(const std::vector<std::string>& below) {
  std::vector<FoundFiles> all;
  for (const std::string& folder : with_folders_in(below)) {
    for (FoundFiles& job : found_in(folder, {})) all.push_back(std::move(job));
  }
  return all;
}

bool has_several_nodes(const JobFiles& files) {
  if (node_files(files).size() > 1) return true;
  const auto report = read_report(files.report());
  return report && *report &&
         std::ranges::any_of((*report)->run.attempts, [](const model::AttemptRecord& attempt) {
           return attempt.nodes.size() > 1;
         });
}

std::vector<LogFile> with_root_last(std::vector<LogFile> files, std::string_view host) {
  const auto root = std::ranges::find_if(files, [&](const LogFile& file) {
    return !file.label.empty() &&
           (file.label == host || file.label == host.substr(0, host.find('.')));
  });
  if (root == files.end()) return files;
  const auto engine = std::ranges::find(files, std::string(), &LogFile::label);
  std::rotate(root, root + 1, engine);
  return files;
}

Result<std::vector<LogFile>> log_files(const JobFiles& files, const LogChoice& choice) {
  if (choice.rank) return of_rank(files, *choice.rank);
  if (!choice.node.empty()) return of_node(files, choice.node);
  std::vector<LogFile> found = node_files(files);
  for (const std::string& path : files.own) {
    if (is_there(path)) found.push_back({path, {}});
  }
  return found;
}

Result<std::vector<std::vector<LogFile>>> log_files(const std::vector<JobFiles>& jobs,
                                                    const LogChoice& choice) {
  std::vector<std::vector<LogFile>> all;
  std::optional<Error> first;
  bool has_any = false;
  for (const JobFiles& job : jobs) {
    auto files = log_files(job, choice);
    if (!files && !first) first = files.error();
    has_any = has_any || files;
    all.push_back(files ? *std::move(files) : std::vector<LogFile>());
  }
  if (first && !has_any) return std::unexpected(*std::move(first));
  return all;
}

}  // namespace toprun::jobs
