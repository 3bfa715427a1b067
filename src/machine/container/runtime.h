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

// The properties of this node that determine a runtime's flags. The properties are read once
// (machine/container/node.h).
struct Node {
  std::string host;  // its name in messages
  uid_t uid = 0;
  gid_t gid = 0;
  bool nvidia = false;                         // /dev/nvidiactl
  bool nvidia_cdi = false;                     // an NVIDIA CDI file below /etc/cdi or /var/run/cdi
  bool amd = false;                            // /dev/kfd
  std::vector<std::string> rdma_devices = {};  // "/dev/infiniband" if it exists
  // The setting that disables user namespaces, such as "user.max_user_namespaces=0"; empty: none
  // found.
  std::string userns_off = {};
  // The hard limits of this process, which only root may raise. A runtime that requests a higher
  // limit does not start.
  std::optional<rlim_t> hard_memlock = {};  // bytes; unset: unlimited
  std::optional<rlim_t> hard_nofile = {};
  std::optional<rlim_t> hard_nproc = {};
};

// One container and the program that is started in it.
struct Run {
  Request request;
  std::vector<Bind> binds;           // first the user's binds, then the project's folder, then
                                     // toprun's own
  std::string workdir;               // in the container, absolute
  std::vector<std::string> program;  // argv in the container; argv[0] is a path there
  // Variables to set in the container, even if the image has other values for them.
  std::vector<std::pair<std::string, std::string>> variables;
  bool interactive = false;  // the program's stdin is a terminal, from which the program reads
  // The container's name in the runtime's list of containers, while the container exists. Empty:
  // the runtime chooses a name.
  std::string id = {};
};

// A command to be executed on the host.
struct Command {
  std::vector<std::string> argv;  // argv[0] is looked up in the environment's PATH
  Environment environment;        // complete
};

// How well toprun's code for a runtime was tested with the real runtime.
enum class Tried {
  run,     // the project's tests start containers with the runtime
  parsed,  // the tests check the arguments, but start no container
};

// A program that runs containers. All functions are pure: they depend only on their arguments, on
// `Node` and on the environment. To add a runtime, add its file, its test and a line in
// runtimes.cc.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view program() const = 0;  // the name to look up in PATH; empty: no program
  virtual Tried tried() const = 0;
  // Whether the runtime accepts this image. The error says which images the runtime accepts. If
  // another runtime accepts this image, the error names that runtime.
  virtual Result<void> accepts(std::string_view image) const = 0;
  // Returns the product of creation(), which is made before the container starts: the container
  // that is kept under a name, or the file of a pulled image. The product is created atomically.
  // nullopt: the runtime needs no product.
  virtual std::optional<SourcedPath> product(const Run&, const Environment&) const {
    return std::nullopt;
  }
  // Returns the commands that make the product, in order. If the product does not exist yet,
  // prepare() (machine/container/prepare.h) runs them.
  virtual std::vector<Command> creation(const Run&, const Node&, const Environment&) const {
    return {};
  }
  // Returns the command that starts the container and its program. The command runs in the
  // foreground and ends when the program ends.
  virtual Result<Command> command(const Run& run, const Node& node,
                                  const Environment& environment) const = 0;
  // Returns the command that removes what remains of an interrupted start, including the container
  // if it still exists. nullopt: nothing can remain. The id of the run (Run::id) must be set.
  virtual std::optional<Command> removal(const Run&, const Environment&) const {
    return std::nullopt;
  }
  // Returns the requests that have no effect with this runtime, one line each.
  virtual std::vector<std::string> notes(const Run& run) const;
  // Returns the command that writes a new image file from `source`, a reference or an archive.
  // Caches and temporary files are outside of the home folder if SCRATCH and TMPDIR are set. Error
  // (exit_usage): the runtime does not write image files, or not from this source.
  virtual Result<Command> build(std::string_view source, const std::string& file,
                                const Environment& environment) const;
  // For pyxis, returns options for the engine's own command, which then starts the agents in the
  // container. Empty for all other runtimes, because an agent starts their containers with
  // command().
  virtual std::vector<std::string> step_options(const Run&) const { return {}; }
  // Explains why the runtime failed, from the runtime's output on stderr: for example "user
  // namespaces are off: set kernel.unprivileged_userns_clone=1". Known causes: the image does not
  // exist, is not readable or is for another machine; no space; user namespaces are off; a mount
  // target cannot be created; limits; the runtime is too old or forbidden by the site. nullopt:
  // another cause.
  std::optional<Error> explain(std::string_view its_words, const Run& run, const Node& node) const;
};

// Returns all runtimes, in the order in which "auto" prefers them.
std::span<const Runtime* const> runtimes();

}  // namespace toprun::container
