#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/process/command.h"
#include "base/text/error.h"
#include "machine/container/container.h"

namespace toprun::container {

// The properties of this node that determine a runtime's flags. find_node() reads the properties
// once.
struct Node {
  std::string host;  // its name in messages
  uid_t uid = 0;
  gid_t gid = 0;
  bool nvidia = false;                         // /dev/nvidiactl
  bool nvidia_cdi = false;                     // an NVIDIA CDI file below /etc/cdi or /var/run/cdi
  bool amd = false;                            // /dev/kfd
  std::vector<std::string> rdma_devices = {};  // "/dev/infiniband" if it exists
  // The sysctl setting that disables user namespaces, such as "user.max_user_namespaces=0". Empty:
  // no such setting was found.
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
  // prepare() (machine/container/prepare.h) runs these commands.
  virtual std::vector<Command> creation(const Run&, const Node&, const Environment&) const {
    return {};
  }
  // Returns the command that starts the container and its program. The command runs in the
  // foreground and ends when the program ends.
  virtual Result<Command> command(const Run& run, const Node& node,
                                  const Environment& environment) const = 0;
  // Returns the command that removes what remains of an interrupted start, including the container
  // if it still exists. nullopt: nothing can remain. The container's name (Run::id) must be set.
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

// Return the runtimes Apptainer (1.0 and newer) and SingularityCE. Their command lines and
// variables differ only in the first part of the names: "apptainer" or "singularity" (apptainer
// exec --help in 1.4; internal/pkg/util/env). Both programs work with and without a setuid
// installation.
//
// With --cleanenv, the program gets the image's environment and toprun's variables. toprun's
// variables are passed as APPTAINERENV_NAME, which allows any value; --env would split values at
// commas. As for all runtimes, inside() (environment.h) decides which of the host's variables the
// ranks get.
const Runtime& apptainer();
const Runtime& singularity();

// Returns the runtime Docker: docker-run(1), version 20.10 and newer. Docker uses a daemon that
// runs as root, so with --container-root the ranks are really root on the host. The ranks have the
// daemon's resource limits, not the user's.
const Runtime& docker();

// Returns the runtime enroot, 3.4 and newer (doc/cmd in its sources). As usual with enroot, the
// image's command script (its entrypoint) runs first and then starts the rank's program. Because
// enroot has no option for the working folder, the program changes to Run::workdir itself. An image
// name without a tag, as in `--container torch`, means a container that `enroot create` has made.
const Runtime& enroot();

// Returns the runtime Podman: podman-run(1), version 4.3 and newer, rootless or as root. A site's
// settings for images, networks, cgroups and storage stay unchanged. Podman reads these settings
// from its own files: containers.conf(5), storage.conf(5), registries.conf(5), and files that
// variables name.
const Runtime& podman();

// Returns the runtime pyxis, NVIDIA's plugin for Slurm (args.c in pyxis 0.20 and newer): srun
// itself starts the program in the container, through enroot. So command() is not used for pyxis;
// the srun that starts the agents gets step_options().
const Runtime& pyxis();

// Returns the runtime named by --container-runtime. For "auto", this is the first runtime in
// runtimes() that accepts this image and exists on this node. The runtime pyxis exists if the
// engine has this plugin. Every other runtime exists if its program is in a folder of PATH. Errors:
// an unknown name; a runtime that does not accept the image (exit_usage); no runtime on this node.
// If there is no runtime, the error lists every folder that was searched, and what to install or
// load.
Result<const Runtime*> choose(const Request& request, const Environment& environment,
                              const process::IsExecutable& is_executable, bool engine_has_pyxis);

// Returns the runtime with exactly this name; nullptr: there is no such runtime.
const Runtime* find_runtime(std::string_view name);

std::vector<std::string> runtime_names();

// An argument vector that is built step by step; flags and their values are separate words.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {}

  void add(std::string word) { words_.push_back(std::move(word)); }
  void add(std::string flag, std::string value) {
    words_.push_back(std::move(flag));
    words_.push_back(std::move(value));
  }
  void add_all(const std::vector<std::string>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

// Returns the argument of --env that sets a variable in the container. `environment` is the
// environment in which the container runtime runs. If `environment` already contains the value, the
// argument is only "NAME", so that the process list does not show the value. Otherwise the argument
// is "NAME=VALUE". A secret is always added to `environment` first.
std::string variable_word(const std::string& name, const std::string& value,
                          Environment& environment);

// Returns "type=bind,source=SRC,destination=DST[,ro]" for the --mount option of Podman, Docker and
// Apptainer. Fields are separated by commas and may be in quotes (RFC 4180).
std::string mount_form(const Bind& bind);
// Adds each of the run's binds to `words`, as `flag` and "SRC:DST[:ro]". A bind whose path contains
// ':', ',' or '"' would be misread in this form, so it is added as --mount with mount_form().
void add_binds(Arguments& words, const Run& run, const char* flag);

// Detects the properties of this node. Devices and CDI files (cdi.md in the Container Device
// Interface) are searched below `root`; user, group and limits are this process's.
Node find_node(std::string host, const std::filesystem::path& root = "/");

// Returns the node-wide numbers of a Slurm job's GPUs, if the job numbers them differently. Slurm
// hides a node's other GPUs with a cgroup (ConstrainDevices in cgroup.conf). Slurm counts the job's
// GPUs from 0 in CUDA_VISIBLE_DEVICES. A container with a cgroup of its own would see all GPUs, so
// GPU 0 there could belong to another job. Empty: the container may see all GPUs of the node.
std::vector<std::string> renumbered_gpus(const Environment& environment);

}  // namespace toprun::container
