#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "node/plan/job.h"

namespace toprun::plan {

// This variable is set for an agent that toprun's own launcher started. The standard input of such
// an agent comes from the launcher: first the line "secret HEX", then "signal N" lines. End of file
// on the agent's standard input means that the launcher has ended.
inline constexpr std::string_view step_variable = "TOPRUN_STEP";
// `toprun shell` sets this variable for the toprun on a job's node that becomes a shell. The value
// names the shell.
inline constexpr const char* entered_shell_variable = "TOPRUN_SHELL";
// How long an agent waits for the line with the secret.
inline constexpr std::chrono::seconds orders_timeout{30};
// If an agent receives nothing from its launcher for this time, it treats the launcher as lost.
inline constexpr std::chrono::seconds launcher_silence_limit{30};
// How long an agent started by a login (such as SSH) waits for its LoginOrders. The launcher may
// first wait until all other hosts have answered or failed.
inline constexpr std::chrono::seconds login_orders_timeout{600};

// What receive_orders() returns.
struct Orders {
  bool from_launcher = false;
  std::optional<std::string> secret;
};

// Reads a line of at most 1024 bytes and returns it without its newline. The bytes after the line
// stay unread.
Result<std::string> read_orders_line(int fd, SteadyTime deadline);
Result<std::string> read_orders_bytes(int fd, std::size_t count, SteadyTime deadline);

// Reads the line "secret HEX" from stdin. Blocks for at most `orders_timeout`.
Result<std::string> receive_secret();

// Reads the secret from stdin if toprun's launcher wrote it there; without a launcher, uses the
// secret that the engine (such as Slurm) provides, if any. Blocks for at most `orders_timeout`.
Result<Orders> receive_orders(const Job& job);

inline constexpr std::size_t max_login_orders_bytes = 4u << 20;

// The variables of options that are valid on a single node only. toprun does not pass them on to
// other nodes.
inline constexpr std::array variables_of_one_node = {"PET_NODE_RANK", "PET_MASTER_ADDR",
                                                     "PET_RDZV_ENDPOINT", "PET_STANDALONE"};

// The instructions that a launcher sends to an agent that it started through a login (such as SSH).
// The agent reads the instructions from stdin; the job's secret comes after the instructions. The
// instructions contain everything that an engine such as Slurm passes to its agents by command
// line, working directory and environment.
struct LoginOrders {
  std::vector<std::string> argv;  // toprun's command line, as the user wrote it
  std::string directory;          // working directory; empty: stay in the login's directory
  std::map<std::string, std::string> variables;  // variables to set
  // True: the agent runs in a Kubernetes pod. The agent ignores the variables that the pod's
  // operator has set, because they describe the pod's own job, not this run.
  bool in_pod = false;
  std::string kept_as = {};  // the run's name if the agent must outlive its login (kept_run.h)
  // A program beside the launcher's toprun that ranks on this host may become
  // (rank_program_variable). The agent puts it beside its own toprun. The login itself copies only
  // toprun.
  struct Program {
    std::string name;     // a file name; empty: no program
    std::string machine;  // the kind of machine that it is for, as process::this_machine()
    std::string content = {};
    std::size_t bytes = 0;  // size of `content`, which comes after the JSON
  } program = {};
};

// Returns the text that the launcher sends: "orders BYTES\n", then BYTES bytes of JSON, then the
// content of the program, if any.
std::string text_of(const LoginOrders& orders);
// Parses this JSON. The result's program has no content yet.
Result<LoginOrders> parse_login_orders(std::string_view json);

// This variable of the launcher names the program that its agents' ranks may become, such as
// "toprun-bench-gloo". `toprun bench` sets it.
inline constexpr const char* rank_program_variable = "TOPRUN_RANK_PROGRAM";
// The limit for a value in the job's store (store::Limits), by which other hosts get the program.
inline constexpr std::size_t max_rank_program_bytes = 8u << 20;

// Prints on stdout, for the launcher, that the agent is running, and in a pod the agent's address.
// Then reads the instructions from stdin, and leaves the bytes after them unread. Blocks for at
// most `login_orders_timeout`. Errors name this host.
Result<LoginOrders> receive_login_orders(const Environment& environment);

// Changes to the directory in `orders`, puts the program of `orders` beside this toprun, and
// returns `environment` with the variables of `orders` set.
Result<Environment> obey(const LoginOrders& orders, Environment environment);

// Where the agents run: on machines of the same site as the launcher, or in images that may differ
// from the launcher's machine.
enum class Likeness { same_site, own_image };

// Selects the variables of the launcher that every agent gets: those that toprun itself reads, and
// the settings of PyTorch and its libraries. On machines of the same site, an agent also gets the
// variables that select the Python interpreter and the network proxies. Leaves out PATH and
// LD_LIBRARY_PATH, whose values would be wrong on another host. `names`: further variables, from
// the options and the user.
std::map<std::string, std::string> passed_variables(const Environment& environment,
                                                    const std::vector<std::string>& names,
                                                    Likeness likeness = Likeness::same_site);

}  // namespace toprun::plan
