#include "engines/mpi/mpirun.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::engines {
namespace {

constexpr std::chrono::seconds version_limit{20};  // a cold network file system
constexpr std::string_view tag_option = "--tag-output";
constexpr std::size_t longest_quote = 200;  // of a line that mpirun or ssh wrote
constexpr int oldest_open_mpi = 3;
constexpr int first_with_prrte = 5;
// From this number of hosts on, mpirun logs in to all hosts directly and at once: in its tree of
// logins, a host that hangs delays all hosts behind it.
constexpr std::size_t many_hosts = 64;

// The number that follows `word`.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = words(text.substr(at + word.size()));
  if (rest.empty()) return std::nullopt;
  return parse_int(rest.front().substr(0, rest.front().find('.')));
}

// mpirun breaks its sentences into lines at any place.
std::string on_one_line(std::string_view said) {
  std::string text;
  for (const std::string_view word : words(said)) text.append(word).append(" ");
  return text;
}

void add(std::vector<std::string>& argv, std::initializer_list<std::string> more) {
  argv.insert(argv.end(), more);
}

void add_variables(std::vector<std::string>& argv, const MpirunCommand& command) {
  // -genvlist omits names in some environments (observed with MPICH 4.2, cause unknown).
  if (command.kind == Mpirun::hydra) return add(argv, {"-genvall"});
  for (const std::string& name : command.variables) add(argv, {"-x", name});
}

void add_logins(std::vector<std::string>& argv, Mpirun kind, std::size_t hosts) {
  if (hosts < many_hosts || kind == Mpirun::hydra) return;
  const std::string count = fmt::format("{}", hosts);
  if (kind == Mpirun::prrte) {
    return add(argv, {"--prtemca", "plm_ssh_no_tree_spawn", "1", "--prtemca",
                      "plm_ssh_num_concurrent", count});
  }
  add(argv, {"--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_num_concurrent", count});
}

std::vector<std::string> beginning(const MpirunCommand& command) {
  std::vector<std::string> argv = command.program;
  if (command.as_root && command.kind != Mpirun::hydra) argv.push_back("--allow-run-as-root");
  return argv;
}

// The line of a message that holds the words, or the words where the message is wrapped in them.
std::string_view line_with(std::string_view words, std::string_view said) {
  for (const std::string_view line : split(said, '\n')) {
    if (line.contains(words) && line.size() <= longest_quote) return trim(line);
  }
  return words;
}

struct Trouble {
  std::string_view words;
  const char* what;
  const char* fix;
  bool is_before_ranks = false;  // mpirun starts no rank before all its daemons have answered
};
// Messages of Open MPI 4.1 and 5.0, and of ssh.
constexpr Trouble troubles[] = {
    {"not enough slots available", "mpirun has fewer slots than ranks",
     "request fewer ranks with --ranks-per-node, or more tasks per node in the job's header", true},
    {"Host key verification failed", "ssh does not know the key of a host",
     "log in to each host once, or add their keys to known_hosts", true},
    {"Permission denied (", "ssh would have asked for a password",
     "give the hosts your public key: ssh-copy-id HOST", true},
    {"Could not resolve hostname", "a host's name is unknown",
     "check --hosts, or the Host lines of ssh's configuration", true},
    {"unable to find the specified executable file", "a host lacks a program",
     "install the program on every host at the same path, or on a file system that all hosts "
     "share"},
    {"could not access or execute an executable", "a host lacks a program",
     "install the program on every host at the same path, or on a file system that all hosts "
     "share"},
    {"orted: command not found", "a host lacks Open MPI's orted",
     "install the same Open MPI on every host, or give mpirun --prefix in TOPRUN_MPIRUN", true},
    {"prted: command not found", "a host lacks Open MPI's prted",
     "install the same Open MPI on every host, or give mpirun --prefix in TOPRUN_MPIRUN", true},
    // ssh's own line names the host; mpirun's text about its daemon follows.
    {"ssh: connect to host ", "ssh cannot reach a host",
     "check that the host is up and that no firewall blocks its port, or leave it out of "
     "--hosts",
     true},
    {"PMIX ERROR: TIMEOUT", "PMIx gave up waiting for a rank",
     "look for the rank that did not start; its node may hang"},
    {"unable to reliably start one or more daemons", "mpirun could not start its daemon on a host",
     "log in to each host by ssh without a password, and look for a firewall between them", true},
    {"has unexpectedly failed after launch and before",
     "mpirun's daemon on a host ended before it reached mpirun",
     "look for a network that all hosts share and a firewall between them, and install the same "
     "Open MPI on every host",
     true},
    {"was unable to start on", "mpirun could not start its daemon on a host",
     "log in to each host by ssh without a password, and look for a firewall between them"},
};

// nullptr: no known one.
const Trouble* trouble_in(std::string_view said) {
  const std::string text = on_one_line(said);
  const auto known = std::ranges::find_if(
      troubles, [&](const Trouble& trouble) { return text.contains(trouble.words); });
  return known == std::end(troubles) ? nullptr : known;
}

constexpr std::size_t longest_tag_bytes = 40;

struct Tag {
  int rank = 0;
  std::size_t bytes = 0;
};

// The tag at the beginning of a text.
std::optional<Tag> tag_of(std::string_view text) {
  const std::size_t comma = text.find(',');
  const std::size_t close = text.find(']');
  if (!text.starts_with('[') || comma == text.npos || close == text.npos || comma > close) {
    return std::nullopt;
  }
  const auto job = parse_int(text.substr(1, comma - 1));
  const auto rank = parse_int(text.substr(comma + 1, close - comma - 1));
  if (!job || !rank || *rank < 0 || *rank > (1 << 30)) return std::nullopt;
  for (const std::string_view name : {"<stdout>:", "<stderr>:", "<stddiag>:"}) {
    if (text.substr(close + 1).starts_with(name)) {
      return Tag{static_cast<int>(*rank), close + 1 + name.size()};
    }
  }
  return std::nullopt;
}

// Whether this text, which has no tag, could become one with more bytes.
bool may_become_tag(std::string_view text) {
  constexpr std::string_view letters = "[0123456789,]<stdouterrdiag>:";
  return text.size() < longest_tag_bytes && text.find_first_not_of(letters) == text.npos;
}

}  // namespace

Result<Mpirun> mpirun_in(std::string_view printed) {
  // Under another name than mpirun, the program prints only the name of its run-time, OpenRTE.
  for (const char* name : {"(Open MPI)", "(OpenRTE)"}) {
    const auto version = number_after(printed, name);
    if (!version) continue;
    if (*version >= first_with_prrte) return Mpirun::prrte;
    if (*version >= oldest_open_mpi) return Mpirun::orte;
    return fail(fmt::format("mpirun is Open MPI {}", *version), "this version is too old",
                fmt::format("use Open MPI {} or newer, MPICH or Intel MPI", oldest_open_mpi));
  }
  if (printed.find("PRRTE") != std::string_view::npos) return Mpirun::prrte;
  for (const char* word : {"HYDRA", "Intel(R) MPI"}) {
    if (printed.find(word) != std::string_view::npos) return Mpirun::hydra;
  }
  return fail(
      "mpirun --version",
      fmt::format("mpirun printed \"{}\"", printable(printed.substr(0, printed.find('\n')))),
      fmt::format("give the path of the mpirun of Open MPI, MPICH or Intel MPI in {}",
                  mpirun_variable));
}

std::vector<std::string> mpirun_agents(const MpirunCommand& command,
                                       const std::vector<Node>& nodes) {
  std::vector<std::string> argv = beginning(command);
  std::vector<std::string> names;
  const bool hydra = command.kind == Mpirun::hydra;
  for (const Node& node : nodes) names.push_back(hydra ? node.name : node.name + ":1");
  add(argv, {"-n", fmt::format("{}", nodes.size()), hydra ? "-hosts" : "--host", join(names, ",")});
  if (hydra) {
    add(argv, {"-ppn", "1", "-bind-to", "none"});
  } else {
    add(argv, {"--map-by", "ppr:1:node", "--bind-to", "none"});
  }
  add_logins(argv, command.kind, nodes.size());
  add_variables(argv, command);
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  return argv;
}

bool tags_output(const MpirunCommand& command) {
  return command.kind == Mpirun::orte &&
         std::ranges::find(command.program, tag_option) == command.program.end();
}

std::vector<std::string> mpirun_ranks(const MpirunCommand& command, const std::string& host_file,
                                      int ranks) {
  std::vector<std::string> argv = beginning(command);
  add(argv, {"-n", fmt::format("{}", ranks)});
  if (command.kind == Mpirun::hydra) {
    add(argv, {"-f", host_file, "-bind-to", "none"});
  } else {
    add(argv, {"--hostfile", host_file, "--map-by", "seq", "--bind-to", "none"});
    if (tags_output(command)) argv.emplace_back(tag_option);
  }
  add_variables(argv, command);
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  return argv;
}

std::optional<Error> mpirun_trouble(std::string_view said) {
  const Trouble* const trouble = trouble_in(said);
  if (trouble == nullptr) return std::nullopt;
  return Error{trouble->what, fmt::format("mpirun printed \"{}\"", line_with(trouble->words, said)),
               trouble->fix, exit_failure};
}

bool no_rank_began(std::string_view said) {
  const Trouble* const trouble = trouble_in(said);
  return trouble != nullptr && trouble->is_before_ranks;
}

bool mpirun_is_ending(std::string_view said) {
  constexpr std::string_view known[] = {
      "1 process returned a non-zero exit code",             // Open MPI 4.1
      "one or more processes exited with non-zero status"};  // … and 5.0
  const std::string text = on_one_line(said);
  return std::ranges::any_of(
      known, [&](std::string_view one) { return text.find(one) != std::string::npos; });
}

std::optional<int> first_to_fail(std::string_view said) {
  // "Process name: [[JOB,1],RANK]" (Open MPI 4.1.4)
  for (const std::string_view mark : {"Process name: [[", ",1],"}) {
    const std::size_t at = said.find(mark);
    if (at == said.npos) return std::nullopt;
    said.remove_prefix(at + mark.size());
  }
  const auto rank = parse_int(said.substr(0, said.find(']')));
  if (!rank || *rank < 0 || !std::in_range<int>(*rank)) return std::nullopt;
  return static_cast<int>(*rank);
}

std::optional<KilledRank> killed_rank(std::string_view said) {
  // "mpirun noticed that process rank 1 with PID 4711 on node n1 exited on signal 9 (Killed)."
  const std::string text = on_one_line(said);
  std::string_view rest = text;
  const auto number_behind = [&](std::string_view mark) -> std::optional<int> {
    const std::size_t at = rest.find(mark);
    if (at == rest.npos) return std::nullopt;
    rest.remove_prefix(at + mark.size());
    const auto number = parse_int(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (!number || !std::in_range<int>(*number)) return std::nullopt;
    return static_cast<int>(*number);
  };
  const auto rank = number_behind(" noticed that process rank ");
  const auto signal = rank ? number_behind(" exited on signal ") : std::nullopt;
  if (!signal || *signal <= 0 || *signal >= NSIG) return std::nullopt;
  return KilledRank{*rank, *signal};
}

Result<MpirunCommand> find_mpirun(const Environment& environment) {
  MpirunCommand command;
  const std::string named = environment.non_empty(mpirun_variable).value_or("mpirun");
  for (const std::string_view word : words(named)) command.program.emplace_back(word);
  if (command.program.empty()) command.program = {"mpirun"};
  const std::string& program = command.program.front();
  if (!process::find_program(program, environment)) {
    if (program.contains('/')) {
      return usage(fmt::format("{}={}", mpirun_variable, named), "no such executable file");
    }
    return usage(fmt::format("no {} in PATH", program), "",
                 fmt::format("load the program's module, or give the program's path in {}",
                             mpirun_variable));
  }
  const auto printed = TRY(process::output_of({program, "--version"}, environment, version_limit));
  command.kind = TRY(mpirun_in(printed));
  return command;
}

std::string MpirunOutput::add(std::string_view bytes) {
  std::string out;
  std::string all = std::move(held_);
  held_.clear();
  all += bytes;
  for (std::string_view rest = all; !rest.empty();) {
    const std::size_t bracket = rest.find('[');
    take(rest.substr(0, bracket), out);
    if (bracket == rest.npos) break;
    rest.remove_prefix(bracket);
    const std::string_view head = rest.substr(0, longest_tag_bytes);
    if (const auto tag = tag_of(head)) {
      rank_ = tag->rank;
      rest.remove_prefix(tag->bytes);
    } else if (head.size() == rest.size() && may_become_tag(rest)) {
      held_ = rest;
      break;
    } else {
      take(rest.substr(0, 1), out);
      rest.remove_prefix(1);
    }
  }
  return out;
}

void MpirunOutput::take(std::string_view piece, std::string& out) {
  while (!piece.empty()) {
    std::string& line = unfinished_[rank_];
    const std::size_t end = piece.find_first_of("\r\n");
    line += piece.substr(0, end == piece.npos ? end : end + 1);
    if (end != piece.npos || line.size() >= longest_line_bytes) {
      out += line;
      line.clear();
    }
    if (end == piece.npos) return;
    // After the end of a line, text of a rank begins with another tag.
    if (piece[end] == '\n') rank_ = no_rank;
    piece.remove_prefix(end + 1);
  }
}

std::string MpirunOutput::rest() {
  std::string out;
  take(std::exchange(held_, {}), out);
  for (auto& [rank, line] : unfinished_) out += std::exchange(line, {});
  return out;
}

std::map<int, std::string> texts_by_rank(std::string_view tagged) {
  std::map<int, std::string> texts;
  int rank = by_mpirun;
  while (!tagged.empty()) {
    if (const auto tag = tag_of(tagged.substr(0, longest_tag_bytes))) {
      rank = tag->rank;
      tagged.remove_prefix(tag->bytes);
      continue;
    }
    const std::size_t bracket = tagged.find('[', 1);
    const std::size_t line = tagged.find('\n');
    const bool ends = line < bracket;
    const std::string_view piece = tagged.substr(0, ends ? line + 1 : bracket);
    texts[rank] += piece;
    if (ends) rank = by_mpirun;
    tagged.remove_prefix(piece.size());
  }
  return texts;
}

}  // namespace toprun::engines
