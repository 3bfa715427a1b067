#include "engines/login/login.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "engines/allocation.h"
#include "engines/mpi/world.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {

std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line) {
  std::vector<std::string> argv;
  const std::string program = environment.non_empty(ssh_program_variable).value_or("ssh");
  for (const std::string_view word : words(program)) argv.emplace_back(word);
  for (const std::string& option :
       {std::string("BatchMode=yes"), fmt::format("ConnectTimeout={}", ssh_connect_limit_s),
        std::string("ServerAliveInterval=5"), std::string("ServerAliveCountMax=3")}) {
    argv.insert(argv.end(), {"-o", option});
  }
  argv.insert(argv.end(), {"-T", "--", login, line});
  return argv;
}

std::string ssh_line(std::span<const Binary> binaries) {
  return fmt::format("exec sh -c '{}'", login_script(binaries));
}

namespace {

constexpr const char* job_variable = "TOPRUN_LOGIN_JOB";
constexpr const char* nodes_variable = "TOPRUN_LOGIN_NODES";  // "a=4,b"
constexpr const char* node_variable = "TOPRUN_LOGIN_NODE";
constexpr const char* root_variable = "TOPRUN_LOGIN_ROOT";
constexpr const char* root_address_variable = "TOPRUN_LOGIN_ROOT_ADDRESS";

constexpr const char* engine_variable = "TOPRUN_LOGIN_ENGINE";
constexpr const char* stays_variable = "TOPRUN_LOGIN_STAYS";

constexpr int login_port = 29500;
constexpr std::string_view ended_words = "toprun-login ended with ";
constexpr int most_exit_code = 255;

// `m` is the kind of machine; `h` and `n` are its program's id and size.
constexpr std::string_view login_commands =
    R"sh(u=${LOGNAME:-$(id -u)}; w=; )sh"
    R"sh(s() { echo "toprun-login $*"; }; )sh"
    R"sh(size() { [ "$(wc -c <"$1")" -eq $n ]; }; )sh"
    R"sh(own() { if [ -h "$d" ]; then return 1; fi; [ -O "$d" ] && [ -O "$d/$h" ] && { chmod 700 "$d" "$d/$h" 2>/dev/null || :; }; }; )sh"
    R"sh(go() { s run ${SSH_CONNECTION:-- - - -} "$1"; TOPRUN_STEP=login; export TOPRUN_STEP; exec "$1"; }; )sh"
    R"sh(set -- "${XDG_CACHE_HOME:-$HOME/.cache}/toprun" "/var/tmp/toprun-$u" "/dev/shm/toprun-$u" "/tmp/toprun-$u"; )sh"
    R"sh(for d; do f=$d/$h/toprun; [ -x "$f" ] && own && [ -O "$f" ] && size "$f" && go "$f"; done; )sh"
    R"sh(for d; do f=$d/$h/toprun; )sh"
    R"sh(if [ -h "$d" ]; then w="$w; $d: is a link"; continue; fi; )sh"
    R"sh(e=$(mkdir -p "$d/$h" 2>&1) || { w="$w; $d: ${e##*: }"; continue; }; )sh"
    R"sh(own || { w="$w; $d: not owned by this user"; continue; }; )sh"
    R"sh(t=$f.$(uname -n).$$; )sh"
    R"sh(e=$({ head -c $n /dev/zero >"$t"; } 2>&1) || { w="$w; $d: ${e##*: }"; rm -f "$t"; continue; }; )sh"
    R"sh(chmod 700 "$t"; [ -x "$t" ] || { w="$w; $d: mounted noexec"; rm -f "$t"; continue; }; )sh"
    R"sh(s need $m; head -c $n >"$t"; size "$t" || { rm -f "$t"; s refused $n "the program came incomplete to $d"; exit 1; }; )sh"
    R"sh(find "$d" -maxdepth 1 -name "????????????????*" -mtime +30 -exec rm -rf {} + 2>/dev/null; )sh"
    R"sh(mv -f "$t" "$f" && go "$f"; w="$w; $d: cannot be written"; done; )sh"
    R"sh(s refused $n "${w#; }"; exit 1)sh";

Result<int> index_in(const Environment& environment, const char* variable, std::size_t nodes) {
  const auto index = parse_int(environment.get(variable).value_or(""));
  if (index && *index >= 0 && *index < static_cast<std::int64_t>(nodes)) {
    return static_cast<int>(*index);
  }
  return fail(fmt::format("{}=\"{}\"", variable, environment.get(variable).value_or("")),
              "this is not one of the launch's nodes", "only toprun sets this variable");
}

Result<Allocation> agent(const Environment& environment, const Hints& hints) {
  Allocation allocation;
  allocation.nodes =
      TRY(parse_node_list(nodes_variable, environment.get(nodes_variable).value_or("")));
  const auto node = TRY(index_in(environment, node_variable, allocation.nodes.size()));
  const auto root = TRY(index_in(environment, root_variable, allocation.nodes.size()));
  allocation.stance = Stance::agent;
  const int all = static_cast<int>(allocation.nodes.size());
  allocation.node_count = std::min(hints.nnodes.value_or(all), all);
  allocation.node_count_source = "hosts that answered";
  allocation.my_node = node;
  allocation.node_name = allocation.nodes[static_cast<std::size_t>(node)].name;
  allocation.job = environment.get(job_variable).value_or("");
  allocation.root_node = root;
  allocation.root_address = environment.get(root_address_variable).value_or("");
  allocation.started_by_toprun = true;
  const bool by_ssh = environment.get(engine_variable) == name_of(EngineKind::ssh);
  allocation.engine = by_ssh ? EngineKind::ssh : EngineKind::exec;
  allocation.hears_launcher = !environment.has(stays_variable);
  allocation.reasons.push_back(
      fmt::format("agent of {} in a job by {}", allocation.node_name, name_of(allocation.engine)));
  return allocation;
}

Result<void> check_options_beside_hosts(const Hints& hints) {
  const auto refuse = [&](std::string_view option, std::string_view why) {
    return usage(fmt::format("{} with {}", option, hints.hosts_source), std::string(why),
                 "drop one of them");
  };
  if (hints.standalone) return refuse("--standalone", "--standalone works only on this host");
  if (hints.ranks_in_place) return refuse("--ranks-in-place", "each login starts one agent");
  if (hints.node_rank) return refuse("--node-rank", "the list of hosts determines the node ranks");
  if (on_command_line(hints.endpoint_source)) {
    return refuse(hints.endpoint_source, "the agents find each other");
  }
  return {};
}

// srun and mpirun start several toprun, and each of them would start the whole job.
Result<void> check_started_once(const Environment& environment, const Hints& hints) {
  const auto refuse = [&](std::string_view launcher, int count) {
    return usage(std::string(hints.hosts_source),
                 fmt::format("{} has started {} processes of toprun, and each of them would start "
                             "the whole job on these hosts",
                             launcher, count),
                 fmt::format("drop {}, or start toprun only once", hints.hosts_source));
  };
  const auto step = slurm::step(environment);
  const bool is_ours = environment.has(slurm::own_step_variable);
  if (step && *step && (*step)->tasks > 1 && !is_ours) return refuse("srun", (*step)->tasks);
  const auto world = mpi_world(environment);
  if (world && *world && (*world)->size > 1) return refuse((*world)->launcher, (*world)->size);
  return {};
}

Result<Allocation> starter(const Hints& hints) {
  Allocation allocation;
  const int listed = static_cast<int>(hints.hosts.size());
  const bool are_pods = !hints.hosts.front().exec.empty();
  const auto count = hints.use_of(listed);
  if (!count) {
    return usage(
        fmt::format("{} {}", hints.nnodes_source, *hints.nnodes),
        fmt::format("{} names {}", hints.hosts_source, counted(listed, are_pods ? "pod" : "host")));
  }
  allocation.engine = are_pods ? EngineKind::exec : EngineKind::ssh;
  allocation.stance = Stance::starter;
  allocation.nodes = hints.hosts;
  allocation.node_count = *count;
  allocation.node_count_source = hints.nnodes ? hints.nnodes_source : hints.hosts_source;
  allocation.node_name = hints.host_name;
  allocation.reasons.push_back(fmt::format("starts one agent per {} of {} by {}",
                                           are_pods ? "pod" : "host", hints.hosts_source,
                                           name_of(allocation.engine)));
  return allocation;
}

constexpr std::string_view end_of_command = "command terminated with exit code ";
constexpr std::string_view no_shell_fix =
    "use an image with a shell, or have the job itself run the script: toprun submit";

// Of kubectl and the API server, of kubelet, and of containerd and CRI-O, whose runc says what it
// could not execute. The first match counts.
constexpr KnownTrouble exec_troubles[] = {
    {"cannot create resource \"pods/exec\"", "you have no right to execute commands in pods",
     "ask the cluster's administrator; kubectl auth can-i create pods/exec shows your right"},
    {"(forbidden)", "",
     "ask the cluster's administrator; kubectl auth can-i --list shows your rights"},
    {"executable file not found", "its image has no sh", no_shell_fix},
    {"exec: \"sh\"", "its image has no sh", no_shell_fix},
    {"container not found", "its container does not run", "see toprun status, and try again"},
    {"cannot exec into a container in a completed pod", "the pod has ended",
     "submit the job again"},
    {"(notfound)", "the pod is gone",
     "the job may start another pod: see toprun status, and try again"},
    {"you must be logged in", "", "log in to the cluster again"},
    {"unauthorized", "", "log in to the cluster again"},
    {"unable to upgrade connection", "",
     "check that the pod's node is up, and that no proxy blocks the connection"},
    {"error dialing backend", "", "is the pod's node up?"},
    {"unable to connect to the server", "", "check the cluster's address: kubectl config view"},
    {"connection refused", "", "check the cluster's address: kubectl config view"},
    {"was refused", "", "check the cluster's address: kubectl config view"},
    {"unknown flag", "",
     "this program's version does not know the exec options that toprun uses: update the program"},
};

// Of a login's script too: the last counts.
constexpr std::size_t most_login_lines = 4'096;

// Of OpenSSH 9. The first match counts; ssh's own line counts from these words on.
constexpr KnownTrouble ssh_troubles[] = {
    {"remote host identification has changed", "its host key has changed",
     "if the new key is right, remove the old key: ssh-keygen -R HOST"},
    {"host key is known for", "its host key is not known",
     "log in once by hand and confirm the key: ssh HOST"},
    {"host key verification failed", "its host key could not be verified",
     "log in once by hand: ssh HOST"},
    {"could not resolve hostname", "no such name",
     "check the name's spelling, DNS and ~/.ssh/config"},
    {"connection timed out", "", "is the host up, and its sshd reachable?"},
    {"operation timed out", "", "is the host up, and its sshd reachable?"},
    {"timed out during banner exchange", "no answer in time", "is the host overloaded?"},
    {"connection refused", "", "is an sshd running there?"},
    {"no route to host", "", "is the host up?"},
    {"network is unreachable", "", "is this host connected to that network?"},
    {"too many authentication failures", "", "name the one key to use in ~/.ssh/config"},
    {"kex_exchange_identification", "", "its sshd may have turned the login away (MaxStartups)"},
    {"connection reset by", "connection reset", "see sshd's log on HOST"},
    {"connection closed by", "connection closed", "see sshd's log on HOST"},
};

std::string_view line_at(std::string_view text, std::size_t at) {
  return trim(text.substr(at, text.find_first_of("\r\n", at) - at));
}

// "root@n1: Permission denied (publickey,password)."
std::optional<LoginTrouble> denied(std::string_view said) {
  constexpr std::string_view words = "Permission denied (";
  const std::size_t at = said.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view why = line_at(said, at);
  if (why.ends_with('.')) why.remove_suffix(1);
  const bool wants_password = why.find("password") != std::string_view::npos ||
                              why.find("keyboard-interactive") != std::string_view::npos;
  return LoginTrouble{
      lower(why), wants_password ? "no password is asked for here: set up a key (ssh-copy-id HOST)"
                                 : "check user and key: `ssh HOST true` has to work"};
}

}  // namespace

bool is_login_agent(const Environment& environment) {
  return environment.has(nodes_variable);
}

Result<std::optional<Allocation>> LoginEngine::detect(const Environment& environment,
                                                      const Hints& hints) const {
  const bool reported = is_login_agent(environment);
  const bool named = !hints.hosts.empty() && hints.via.empty();
  // Hosts on the command line have priority over hosts from a variable.
  const bool overruled = wants_single(hints) && !on_command_line(hints.hosts_source);
  if (!reported && (!named || overruled)) return std::nullopt;
  TRY(reported ? Result<void>() : check_options_beside_hosts(hints));
  TRY(reported ? Result<void>() : check_started_once(environment, hints));
  auto allocation = TRY(reported ? agent(environment, hints) : starter(hints));
  allocation.port = login_port;
  return std::move(allocation);
}

std::map<std::string, std::string> variables_of(const LoginPlace& place) {
  std::map<std::string, std::string> variables = {
      {job_variable, place.job},
      {nodes_variable, node_list_text(place.nodes)},
      {node_variable, fmt::format("{}", place.node)},
      {root_variable, fmt::format("{}", place.root)},
      {root_address_variable, place.root_address},
      {engine_variable, std::string(name_of(place.engine))}};
  if (place.stays) variables[stays_variable] = "1";
  return variables;
}

std::string login_script(std::span<const Binary> binaries) {
  std::string choice = "m=$(uname -m); case $m in ";
  for (const Binary& binary : binaries) {
    choice += fmt::format("{}) h={}; n={};; ", binary.machine, binary.id, binary.bytes);
  }
  return fmt::format("{}*) echo {}other $m; exit 1;; esac; {}", choice, login_mark, login_commands);
}

std::string login_up(std::string_view machine, std::string_view address) {
  const auto word = [](std::string_view text) { return text.empty() ? "-" : text; };
  return fmt::format("{}up {} {}\n", login_mark, word(machine), word(address));
}

std::string login_ended(int exit_code) {
  return fmt::format("{}{}\n", ended_words, exit_code);
}

std::optional<int> take_login_end(std::string& text) {
  const std::size_t at = text.find(ended_words);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t digits = at + ended_words.size();
  const std::size_t end = text.find('\n', digits);
  const auto code = parse_int(std::string_view(text).substr(digits, end - digits));
  if (!code || *code < 0 || *code > most_exit_code) return std::nullopt;
  text.erase(at);
  return static_cast<int>(*code);
}

std::vector<std::string> exec_login(const std::vector<std::string>& exec,
                                    std::span<const Binary> binaries) {
  std::vector<std::string> argv = exec;
  argv.insert(argv.end(), {"sh", "-c", login_script(binaries)});
  return argv;
}

std::string without_exec_end(std::string_view said) {
  std::string kept;
  for (const std::string_view line : split(said, '\n')) {
    if (!line.starts_with(end_of_command)) kept.append(line).push_back('\n');
  }
  return kept;
}

LoginTrouble exec_trouble(std::string_view said) {
  constexpr std::string_view advice = "print the command with toprun --dry-run and run it by hand";
  const auto lines = complaint(without_exec_end(said), most_login_lines);
  for (const KnownTrouble& known : exec_troubles) {
    const auto line = std::ranges::find_if(
        lines, [&](const std::string& one) { return lower(one).contains(known.words); });
    if (line == lines.end()) continue;
    return {known.why.empty() ? *line : std::string(known.why), std::string(known.fix)};
  }
  const std::string last = lines.empty() ? std::string() : lines.back();
  return {last.empty() ? "it ended without a message" : last, std::string(advice)};
}

LoginTrouble ssh_trouble(std::string_view said) {
  if (auto found = denied(said)) return *found;
  const std::string searched = lower(said);
  for (const KnownTrouble& known : ssh_troubles) {
    const std::size_t at = searched.find(known.words);
    if (at == std::string::npos) continue;
    const std::string_view own = line_at(searched, at);
    return {std::string(known.why.empty() ? own : known.why), std::string(known.fix)};
  }
  const std::string last = last_words(said);
  if (last.empty()) return {"ssh ended without a message", "try `ssh HOST true`"};
  return {last, "try `ssh HOST true`"};
}

}  // namespace toprun::engines
