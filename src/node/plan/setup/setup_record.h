#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::setup {

// The file that `toprun setup` writes into a virtual environment or beside an image. The commands
// `toprun run`, `submit` and `shell` read this file to find out how the environment was built.
// States:
//
//   submitted → building → complete
//                   └────→ failed
//
// If a build is killed, its state stays `building`; if a job is cancelled, the state stays
// `submitted`. So an environment may be used only if it is `complete`.
enum class State { submitted, building, complete, failed };

// The content of this file.
struct Record {
  State state = State::building;
  std::string why = {};    // if the build failed: the reason, in one line
  std::string job = {};    // the engine's job id; empty: built without a job
  std::string host = {};   // the host of the build; empty: the build has not started
  std::string begun = {};  // RFC 3339
  std::string ended = {};
  std::string toprun = {};                 // toprun's version
  std::string os = {};                     // ID and VERSION_ID of os-release(5), as in "debian 12"
  std::string architecture = {};           // from uname(2): "x86_64"
  std::string python = {};                 // "3.11.2"
  std::string base_python = {};            // path of the Python that created the environment
  std::vector<std::string> modules = {};   // names as in LOADEDMODULES: "cuda/12.4"
  std::vector<std::string> packages = {};  // the requested packages and files
  std::vector<std::string> asked = {};     // everything that contents_differences() compares
  // The version of each imported module, "" if a module has no version.
  std::map<std::string, std::string> imports = {};
};

inline constexpr std::string_view record_name = "toprun-setup.json";

// Whether `toprun setup` builds an image at this path (FILE.sif, FILE.sqsh) instead of a virtual
// environment.
bool is_image(const std::filesystem::path& built);
// Returns the path of the record: inside a virtual environment, or beside an image as
// FILE.sif.toprun-setup.json.
std::filesystem::path record_path(const std::filesystem::path& built);

// Returns the JSON text {"schema": "toprun.setup/1", "state": "complete", "job": …}, with the
// fields of Record under their names.
std::string text_of(const Record& record);
// Parses the JSON text of a record. Missing fields are empty; unknown fields are ignored. Error:
// the text is not a record. The error names `label`.
Result<Record> parse_record(std::string_view text, const std::string& label);

// Reads the record of the environment at this path; returns nullopt if it has none. Error: the
// record cannot be read.
Result<std::optional<Record>> read_record(const std::filesystem::path& built);
// Replaces the record atomically.
Result<void> write_record(const std::filesystem::path& built, const Record& record);

// Splits the value of LOADEDMODULES, which names the loaded modules, into a list.
std::vector<std::string> loaded_modules(std::string_view variable);

// Describes how the loaded modules differ from those of the build: "cuda/12.2 instead of cuda/12.4,
// without nccl/2.20, rocm/6 besides". Empty if there is no difference.
std::string module_differences(const std::vector<std::string>& built,
                               const std::vector<std::string>& loaded);

// Describes how the environment's contents differ from what a command line requests: "its
// setup was asked for numpy, and this command line asks for torch==2.7". The order of
// contents does not matter. Empty: there is no difference.
std::string contents_differences(const std::vector<std::string>& built,
                                 const std::vector<std::string>& requested);

// Checks that the environment can be used on a node with this architecture. `what` names the
// environment in errors, as in "--venv env on host n0". Error: the environment is not complete, or
// was built for another architecture.
Result<void> check_usable(const Record& record, const std::string& what,
                          std::string_view architecture);

// Describes the state of an environment that is not complete.
std::string state_words(const Record& record);

}  // namespace toprun::setup
