#include "cli/options/split.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "cli/options/command_lines.h"

namespace toprun::options {
namespace {

bool is_negative_number(std::string_view word) {
  if (!word.starts_with('-')) return false;
  word.remove_prefix(1);
  const bool digits_only =
      std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return digits_only && !word.empty() && word.back() != '.' && std::ranges::count(word, '.') <= 1;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool names_a_flag(std::string_view word, Command command) {
  const std::string_view name = word.substr(0, word.find('='));
  if (find_flag(name, command) != nullptr || !abbreviated(name, command).empty()) return true;
  return word[1] != '-' && find_flag(word[1], command) != nullptr;
}

// True if argparse would take the word as a value or the script, even if it starts with a dash.
bool is_plain_word(std::string_view word, Command command) {
  if (!word.starts_with('-') || word == "-") return true;
  if (names_a_flag(word, command)) return false;
  if (command == Command::help) return true;  // the option that it explains
  return is_negative_number(word) || word.find(' ') != std::string_view::npos;
}

bool ends_the_reading(FlagId id) {
  return id == FlagId::help || id == FlagId::help_short || id == FlagId::version ||
         id == FlagId::print_completion;
}

std::string spelled(const Flag& flag) {
  return flag.name.empty() ? std::string{'-', flag.letter} : std::string(flag.name);
}

// Options of sbatch(1) that toprun submit does not have; --slurm-arg passes them on.
constexpr std::array passed_to_slurm = {
    "--acctg-freq",
    "--batch",
    "--bb",
    "--bbf",
    "--clusters",
    "--cluster-constraint",
    "--comment",
    "--core-spec",
    "--cores-per-socket",
    "--cpu-freq",
    "--cpus-per-gpu",
    "--deadline",
    "--delay-boot",
    "--distribution",
    "--export",
    "--export-file",
    "--extra-node-info",
    "--get-user-env",
    "--gid",
    "--gpu-bind",
    "--gpu-freq",
    "--gpus-per-socket",
    "--gpus-per-task",
    "--gres-flags",
    "--hint",
    "--hold",
    "--kill-on-invalid-dep",
    "--licenses",
    "--mcs-label",
    "--mem-bind",
    "--mem-per-cpu",
    "--mem-per-gpu",
    "--mincpus",
    "--network",
    "--nice",
    "--no-kill",
    "--no-requeue",
    "--open-mode",
    "--overcommit",
    "--oversubscribe",
    "--power",
    "--prefer",
    "--priority",
    "--propagate",
    "--reboot",
    "--sockets-per-node",
    "--spread-job",
    "--thread-spec",
    "--threads-per-core",
    "--time-min",
    "--tmp",
    "--uid",
    "--use-min-nodes",
    "--wait-all-nodes",
    "--wckey",
};

// What sbatch calls otherwise. Empty: no such option, or the command does not start ranks for
// Slurm.
std::string instead_of_slurms(std::string_view name, Command command) {
  if (command != Command::submit) return {};
  std::string word(name.substr(0, name.find('=')));
  std::ranges::replace(word, '_', '-');
  if (word == "--ntasks-per-node") return "toprun starts the ranks: give --nproc-per-node";
  const bool is_short = word.starts_with("-n") && (word.size() == 2 || is_digits(word.substr(2)));
  if (word == "--ntasks" || is_short) {
    return "toprun starts the ranks: give --nodes and --nproc-per-node";
  }
  if (word == "--wrap") return "give the command itself: toprun submit --no-python COMMAND";
  if (std::ranges::find(passed_to_slurm, word) == passed_to_slurm.end()) return {};
  return fmt::format("only Slurm knows this option: write --slurm-arg={0} or --slurm-arg={0}=VALUE",
                     word);
}

// What kubectl, docker, mpirun, accelerate, deepspeed or PBS call an option, and toprun's name for
// it.
constexpr std::pair<std::string_view, std::string_view> names_elsewhere[] = {
    {"-H", "--hosts"},
    {"--cpu", "--cpus-per-task"},
    {"--cpus", "--cpus-per-task"},
    {"--cwd", "--chdir"},
    {"--gpu", "--gpus-per-node"},
    {"--host", "--hosts"},
    {"--hosts-file", "--hostfile"},
    {"--include", "--hosts"},
    {"--image", "--container"},
    {"--machine-rank", "--node-rank"},
    {"--machinefile", "--hostfile"},
    {"--main-process-ip", "--master-addr"},
    {"--main-process-port", "--master-port"},
    {"--max-retries", "--max-restarts"},
    {"--memory", "--mem"},
    {"--name", "--job-name"},
    {"--num-gpus", "--gpus-per-node"},
    {"--num-gpus", "--nproc-per-node"},
    {"--num-machines", "--nnodes"},
    {"--num-nodes", "--nnodes"},
    {"--replicas", "--nodes"},
    {"--shm-size", "--shm"},
    {"--walltime", "--time"},
    {"--workdir", "--chdir"},
    {"--workers", "--nodes"},
};

// Options of accelerate and deepspeed that toprun does not have, and what to do instead.
constexpr std::pair<std::string_view, std::string_view> ways_elsewhere[] = {
    {"--deepspeed", "it is an option of the script: give it after the script"},
    {"--dynamo-backend", "set -e ACCELERATE_DYNAMO_BACKEND=VALUE"},
    {"--mixed-precision", "set -e ACCELERATE_MIXED_PRECISION=VALUE"},
    {"--multi-gpu", "leave it out: toprun starts a rank for each GPU"},
};

// "-g" or "-g2".
bool is_letter(std::string_view word, char letter) {
  if (!word.starts_with('-') || !word.substr(1).starts_with(letter)) return false;
  return word.size() == 2 || is_digits(word.substr(2));
}

// Empty: no such option, or the command does not have it.
std::string instead_of_others(std::string_view name, Command command) {
  std::string word(name.substr(0, name.find('=')));
  std::ranges::replace(word, '_', '-');
  // The number of GPUs of each thread of nccl-tests.
  if ((of(command) & of(Command::bench, Command::bench_pairs)) != 0 && is_letter(word, 'g')) {
    return "toprun starts one rank for each GPU: give --nproc-per-node";
  }
  if (word == "--json") {
    const Flag* const format = find_flag("--format", command);
    if (format != nullptr && format->value.contains("json")) return "--format json prints JSON";
    if (command == Command::bench_compare) {
      return "toprun bench import FILE --format json prints the results of one file";
    }
    if (command == Command::bench_history) {
      return "its file, bench.jsonl, has a line of JSON for each recorded measurement";
    }
  }
  if ((of(command) & starting) != 0) {
    if (is_letter(word, 'n') || word == "--num-processes" || word == "--ntasks" ||
        word == "--ntasks-per-node") {
      return "toprun counts the ranks of one node: give --nproc-per-node";
    }
    for (const auto& [elsewhere, way] : ways_elsewhere) {
      if (word == elsewhere) return std::string(way);
    }
  }
  for (const auto& [elsewhere, ours] : names_elsewhere) {
    if (word != elsewhere || find_flag(ours, command) == nullptr) continue;
    return fmt::format("toprun calls it {}", ours);
  }
  return {};
}

// What shows the same of a launch. Empty: no such option.
std::string instead_of_launchs(std::string_view name, Command command) {
  if (command != Command::topo_order || name != "--order") return {};
  return "this verb shows the order by topology; toprun --dry-run --order ORDER shows another "
         "order, toprun topo score compares orders";
}

// What the collectives, or only `bench pairs`, do not have. Empty: another option or command.
std::string instead_of_benchs(std::string_view name, Command command) {
  if (command == Command::bench && name == "--list") {
    return "toprun bench --help lists the collectives";
  }
  if (command != Command::bench_pairs) return {};
  const std::string_view bare = name.substr(0, name.find('='));
  if (bare == "--format" || bare == "--json") return "--save FILE writes the results as JSON";
  if (bare == "--backend" || bare == "--fabrics") {
    return "bench pairs always measures TCP connections of its own";
  }
  return {};
}

// "--time" or "-N2", as submit knows them; null: it does not.
const Flag* flag_of_submit(std::string_view name) {
  if (name.starts_with("--")) return find_flag(name, Command::submit);
  return name.size() < 2 ? nullptr : find_flag(name[1], Command::submit);
}

bool has_no_allocation(Command command) {
  return command == Command::run || command == Command::bench || command == Command::bench_pairs;
}

// `flag`: the option of `toprun run` with this name, or null.
std::unexpected<Error> unknown_option(std::string_view name, const Flag* flag, Command command) {
  std::string what = fmt::format("unknown option {}", name);
  if (flag != nullptr && command == Command::torchrun) {
    return usage(std::move(what), "under the name torchrun, toprun accepts only torchrun's options",
                 "start the program as toprun");
  }
  for (auto& instead : {instead_of_slurms(name, command), instead_of_launchs(name, command),
                        instead_of_benchs(name, command), instead_of_others(name, command)}) {
    if (!instead.empty()) return usage(std::move(what), {}, instead);
  }
  auto near = nearest_flag(name, command);
  const bool is_slip = near && edit_distance(*near, name) == 1;  // as --nodes for --nnodes
  const Flag* const submits = is_slip ? nullptr : flag_of_submit(name);
  if (submits && has_no_allocation(command) && !knows(command, *submits)) {
    return usage(std::move(what), {},
                 fmt::format("{} is an option of toprun submit",
                             name.starts_with("--") ? submits->name : name.substr(0, 2)));
  }
  // As mpirun's -np 4.
  if (!near && !name.starts_with("--")) {
    const std::vector<const Flag*> longer = abbreviated(fmt::format("-{}", name), command);
    if (longer.size() == 1) near = longer.front()->name;
  }
  if (near) {
    return usage(std::move(what), {}, fmt::format("did you mean {}?", *near));
  }
  return usage(std::move(what), {},
               fmt::format("{} --help lists the options", full_name(line_of(command))));
}

// An error such as "no ID given; toprun cancel --help shows the usage".
std::unexpected<Error> wrong_operands(const CommandLine& line, std::string what) {
  return usage(std::move(what), {}, fmt::format("{} --help shows the usage", full_name(line)));
}

// What is short for an option of torchrun's may be meant for one of Slurm's.
void add_slurms_options(std::string_view name, Command command, std::vector<const Flag*>& found) {
  for (const Flag& flag : all_flags()) {
    const bool is_slurms = flag.id == FlagId::slurm_option && knows(command, flag);
    if (is_slurms && flag.name.starts_with(name)) found.push_back(&flag);
  }
}

class Splitter {
 public:
  Splitter(const std::vector<std::string>& argv, std::size_t start, Command command)
      : argv_(argv), next_(start), command_(command), line_(line_of(command)) {
    out_.command = command;
  }

  Result<Split> run() {
    while (next_ < argv_.size() && !ended_) {
      const std::string& word = argv_[next_++];
      if (word == "--") {
        take_operand();
        take_rest();
      } else if (is_plain_word(word, command_)) {
        --next_;
        take_operand();
        if (!ends_at_first_operand(command_)) continue;
        take_rest();
        drop_separator();
      } else if (auto taken = word.starts_with("--") ? take_long(word) : take_short(word); !taken) {
        return std::unexpected(std::move(taken.error()));
      }
    }
    TRY(check_operands());
    return std::move(out_);
  }

 private:
  void take_operand() {
    if (next_ == argv_.size()) return;
    const std::string& word = argv_[next_++];
    if (ends_at_first_operand(command_)) {
      out_.script = word;
    } else {
      out_.arguments.push_back(word);
    }
  }

  void take_rest() {
    out_.arguments.insert(out_.arguments.end(), argv_.begin() + static_cast<std::ptrdiff_t>(next_),
                          argv_.end());
    next_ = argv_.size();
  }

  Result<void> check_operands() const {
    if (ended_ || ends_at_first_operand(command_)) return {};
    const std::size_t argument = out_.arguments.size();
    const auto& operands = line_.operands;
    if (argument < operands.size() && operands[argument].is_required()) {
      return wrong_operands(line_, fmt::format("no {} given", operands[argument].name));
    }
    const bool repeats = !operands.empty() && operands.back().repeats();
    if (argument <= operands.size() || repeats) return {};
    std::string what = fmt::format("unexpected argument {}", out_.arguments[operands.size()]);
    constexpr Commands about_hosts =
        of(Command::doctor, Command::topo_show, Command::topo_order, Command::topo_draw,
           Command::topo_score, Command::topo_convert);
    if ((of(command_) & about_hosts) != 0) {
      return usage(std::move(what), {}, "give hosts with --hosts LIST");
    }
    if (argument > 1 && operands.size() == 1 && operands.front().form.starts_with("ID")) {
      return usage(std::move(what), fmt::format("{} shows one job at a time", full_name(line_)),
                   "run it for each job; toprun jobs lists all");
    }
    return wrong_operands(line_, std::move(what));
  }

  // As in argparse, `SCRIPT -- ARGS` ends the options once more; later separators belong to the
  // script.
  void drop_separator() {
    std::vector<std::string>& words = out_.arguments;
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
  }

  Result<const Flag*> long_flag(std::string_view name) const {
    if (const Flag* flag = find_flag(name, command_)) return flag;
    std::vector<const Flag*> candidates = abbreviated(name, command_);
    if (!candidates.empty()) add_slurms_options(name, command_, candidates);
    if (candidates.empty()) return unknown_option(name, find_flag(name, Command::run), command_);
    if (candidates.size() == 1) return candidates.front();
    std::vector<std::string> names;
    for (const Flag* flag : candidates) names.emplace_back(flag->name);
    return usage(fmt::format("ambiguous option {}", name), "it could be " + join(names, ", "),
                 "write the full name of the option");
  }

  Result<void> take_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const auto flag = TRY(long_flag(word.substr(0, equals)));
    if (equals == std::string_view::npos) return take_value_from_next(*flag);
    if (flag->is_switch()) {
      return usage(fmt::format("{} takes no value", flag->name), {},
                   fmt::format("write {} alone", flag->name));
    }
    return add(*flag, word.substr(equals + 1));
  }

  // Parses a group of short options; the last one may take the rest of the word as its value.
  Result<void> take_short(std::string_view word) {
    for (std::string_view rest = word.substr(1); !rest.empty() && !ended_;) {
      const Flag* flag = find_flag(rest.front(), command_);
      if (flag == nullptr)
        return unknown_option(word, find_flag(rest.front(), Command::run), command_);
      rest.remove_prefix(1);
      if (!flag->is_switch() && !rest.empty()) {
        return add(*flag, rest.starts_with('=') ? rest.substr(1) : rest);
      }
      if (auto taken = take_value_from_next(*flag); !taken) return taken;
    }
    return {};
  }

  // If the next word may have another meaning, an optional value needs "=".
  bool may_be_value_next() const {
    return flag_takes_next_ && next_ < argv_.size() && is_plain_word(argv_[next_], command_);
  }

  Result<void> take_value_from_next(const Flag& flag) {
    if (flag.is_switch() || (flag.value_optional && !may_be_value_next())) return add(flag, {});
    if (next_ == argv_.size() || !is_plain_word(argv_[next_], command_)) {
      return usage(fmt::format("{} needs a value", spelled(flag)), {},
                   fmt::format("{} {}", spelled(flag), flag.value));
    }
    return add(flag, argv_[next_++]);
  }

  Result<void> add(const Flag& flag, std::string_view value) {
    out_.options.push_back({&flag, std::string(value)});
    ended_ = ends_the_reading(flag.id);
    return {};
  }

  const std::vector<std::string>& argv_;
  std::size_t next_;
  const Command command_;
  const CommandLine& line_;
  const bool flag_takes_next_ = line_.operands.empty() && !ends_at_first_operand(command_);
  bool ended_ = false;
  Split out_;
};

}  // namespace

Result<Split> split(const std::vector<std::string>& argv) {
  if (is_torchrun(argv)) return Splitter(argv, 1, Command::torchrun).run();
  const bool says_run = argv.size() > 1 && argv[1] == "run";
  return Splitter(argv, says_run ? 2 : 1, Command::run).run();
}

bool is_torchrun(const std::vector<std::string>& argv) {
  return !argv.empty() && argv[0].ends_with("torchrun");
}

std::string word_of(const ParsedOption& option) {
  const Flag& flag = *option.flag;
  if (flag.is_switch() || (flag.value_optional && option.value.empty())) {
    return std::string(flag.name);
  }
  return fmt::format("{}={}", flag.name, option.value);
}

Result<Split> split_verb(const std::vector<std::string>& arguments, Command command) {
  return Splitter(arguments, 0, command).run();
}

}  // namespace toprun::options
