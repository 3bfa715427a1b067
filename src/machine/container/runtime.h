#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/container.h"

namespace toprun::container {

// What a runtime's flags depend on, read off this node once (machine/container/node.h).
struct Node {
  std::string host;  // its name, for messages
  uid_t uid = 0;
  gid_t gid = 0;
  bool nvidia = false;      // /dev/nvidiactl
  bool nvidia_cdi = false;  // a CDI file of NVIDIA's below /etc/cdi or /var/run/cdi
  bool amd = false;         // /dev/kfd
  std::vector<std::string> rdma_devices = {};  // "/dev/infiniband" where it is there
  // What switches user namespaces off, as "user.max_user_namespaces=0"; empty: nothing seen.
  std::string userns_off = {};
  // The hard limits, which only root may raise: a runtime that asks for more does not start.
  std::optional<rlim_t> hard_memlock = {};  // bytes; unset: unlimited
  std::optional<rlim_t> hard_nofile = {};
  std::optional<rlim_t> hard_nproc = {};
};

// One container and the one program that is started in it.
struct Run {
  Wanted wanted;
  std::vector<Bind> binds;           // the user's, the project's folder, our own; in this order
  std::string workdir;               // inside, absolute
  std::vector<std::string> program;  // argv inside; argv[0] is a path inside
  // Set inside whatever the image says.
  std::vector<std::pair<std::string, std::string>> variables;
  bool interactive = false;  // its standard input is a terminal, which it gets
  // Its name among the runtime's containers while it exists; empty: the runtime names it.
  std::string id = {};
};

// What is executed on the host.
struct Command {
  std::vector<std::string> argv;  // argv[0] is found in the environment's PATH
  Environment environment;        // complete
};

// How far what a runtime's file says was tried on the real program.
enum class Tried {
  run,     // the project's tests start containers with it
  parsed,  // argument vector checked against its grammar, never run
};

// One program that runs containers. Everything here is pure; what has to be looked up comes in
// `Node` and in the environment. Adding a runtime: its file, its test and a line in runtimes.cc.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view program() const = 0;  // what is looked for in PATH; empty: none
  virtual Tried tried() const = 0;
  // Whether it takes such an image. The error says what it takes and names a runtime that takes
  // this one, if there is one.
  virtual Result<void> accepts(std::string_view image) const = 0;
  // What creation() makes before the container starts: the container that is kept under a name, or
  // the file of an image that was pulled. It comes into being in one step. nullopt: nothing has to
  // be made.
  virtual std::optional<Place> product(const Run& run, const Environment& environment) const;
  // What makes it, in order. Run by prepare() (machine/container/prepare.h) where it is not there
  // yet.
  virtual std::vector<Command> creation(const Run& run, const Node& node,
                                        const Environment& environment) const;
  // Starts the container and the program in it, in the foreground: it ends with the program.
  virtual Result<Command> command(const Run& run, const Node& node,
                                  const Environment& environment) const = 0;
  // Removes what a start that was cut off may have left, and the container if it is still there.
  // nullopt: nothing can be left. Only for a run with an id.
  virtual std::optional<Command> removal(const Run& run, const Environment& environment) const;
  // What is wanted and has no effect with it, a line each.
  virtual std::vector<std::string> notes(const Run& run) const;
  // Writes a new file of an image from what `source` names, a reference or an archive. Caches and
  // temporary files stay out of the home where SCRATCH and TMPDIR say where else. Error
  // (exit_usage): it makes no files, or none of such a source.
  virtual Result<Command> build(std::string_view source, const std::string& file,
                                const Environment& environment) const;
  // pyxis: the engine's own command starts the agents inside, by these options of it; empty for
  // all others, whose containers an agent starts by command().
  virtual std::vector<std::string> step_options(const Run& run) const;
  // What its own words on standard error mean for the user, as in "user namespaces are off: set
  // kernel.unprivileged_userns_clone=1"; nullopt: nothing better than those words.
  virtual std::optional<Error> explain(std::string_view its_words, const Run& run,
                                       const Node& node) const;
};

// All runtimes, in the order in which "auto" prefers them.
std::span<const Runtime* const> runtimes();

}  // namespace toprun::container
