#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace toprun::setup {

// What `toprun setup` leaves in a virtual environment, or beside an image, from which run, submit
// and shell know what it was made for. States:
//
//   submitted → building → complete
//                   └────→ failed
//
// A build that was killed stays `building` (a cancelled job: `submitted`), so that everything but
// `complete` is an environment that is not to be used.
enum class State { submitted, building, complete, failed };

struct Record {
  State state = State::building;
  std::string why = {};    // failed: one line
  std::string job = {};    // the engine's id; empty: built by hand
  std::string host = {};   // where it was built; empty: it has not begun
  std::string begun = {};  // RFC 3339
  std::string ended = {};
  std::string toprun = {};                 // version
  std::string os = {};                     // ID and VERSION_ID of os-release(5), as in "debian 12"
  std::string architecture = {};           // as uname(2) says: "x86_64"
  std::string python = {};                 // "3.11.2"
  std::string base_python = {};            // which program it was made from
  std::vector<std::string> modules = {};   // as LOADEDMODULES names them: "cuda/12.4"
  std::vector<std::string> packages = {};  // what was asked for, words and files
  std::vector<std::string> asked = {};     // all of it, as contents_differences() compares it
  std::map<std::string, std::string> imports = {};  // module → its version, "" where it has none
};

inline constexpr std::string_view record_name = "toprun-setup.json";

// Whether toprun setup builds an image there, and no virtual environment: FILE.sif, FILE.sqsh.
bool is_image(const std::filesystem::path& built);
// In a virtual environment; beside an image, as FILE.sif.toprun-setup.json.
std::filesystem::path record_path(const std::filesystem::path& built);

// {"schema": "toprun.setup/1", "state": "complete", "job": …}: the fields of Record by their names.
std::string text_of(const Record& record);
// Error: no such object, named by `label`. Fields that are missing are empty; others are ignored.
Result<Record> parse_record(std::string_view text, const std::string& label);

// The record of what is built at this path. nullopt: there is none. Error: it cannot be read.
Result<std::optional<Record>> read_record(const std::filesystem::path& built);
// Replaces it in one step.
Result<void> write_record(const std::filesystem::path& built, const Record& record);

// LOADEDMODULES as a list.
std::vector<std::string> loaded_modules(std::string_view variable);

// What differs, in words: "cuda/12.2 in place of cuda/12.4, without nccl/2.20, rocm/6 besides".
// Their order is none of it. Empty: nothing.
std::string module_differences(const std::vector<std::string>& built,
                               const std::vector<std::string>& loaded);

// What two lists of wishes differ by, in words: "without numpy, torch==2.7.0 besides". Their order
// is none of it. Empty: nothing.
std::string contents_differences(const std::vector<std::string>& built,
                                 const std::vector<std::string>& wanted);

// Whether it may be used on a node of this architecture; `what` says whose it is, as in "--venv env
// on host n0". Error: it is not complete, or was built for another architecture.
Result<void> check_usable(const Record& record, const std::string& what,
                          std::string_view architecture);

// What to say of one that is not complete.
std::string state_words(const Record& record);

}  // namespace toprun::setup
