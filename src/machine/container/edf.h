#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/container.h"

namespace toprun::container {

inline constexpr std::size_t max_edf_bytes = 1u << 20;
inline constexpr std::size_t max_edf_levels = 10;  // levels of base_environment, the same limit as
                                                   // CSCS has
inline constexpr std::size_t max_edf_files = 100;  // all files that one EDF uses, directly or
                                                   // indirectly

// The content of one environment definition file (EDF) for CSCS' container engine
// (docs.cscs.ch/software/container-engine/edf). An EDF may be based on other EDFs (`bases`).
struct Edf {
  std::vector<std::string> bases;
  std::optional<std::string> image;
  std::optional<std::string> workdir;
  std::optional<bool> entrypoint;
  std::optional<bool> writable;
  std::vector<Bind> mounts;
  // In `env`, ${NAME} is not replaced yet. A variable with the value "" is unset in the container.
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::pair<std::string, std::string>> annotations;  // "com.hooks.ssh.enabled"
  std::vector<std::string> notes;  // settings that have no effect here
};

// Parses an EDF, and replaces ${NAME} by the variable's value in `environment`. Exception: in the
// table `env`, ${NAME} means the image's value, so parse_edf() only checks the form of ${NAME}
// there. Errors (exit_usage) contain file:line:column.
Result<Edf> parse_edf(std::string_view text, std::string_view label,
                      const Environment& environment);

using ReadText = std::function<Result<std::string>(const std::string& path)>;

// Adds the settings of the EDF named by --environment to the request. The other options have
// priority. If --environment is a name, the EDF is NAME.toml in the folders of EDF_PATH, else in
// ~/.edf. A value with a slash or with the ending .toml is the EDF's path. An image without a
// transport is from Docker Hub. Returns one line for each setting in the EDF that has no effect.
// Errors: there is no such file (the message lists the searched folders); the chain of base EDFs
// is too long or circular; neither these EDFs nor --container names an image.
Result<std::vector<std::string>> apply_edf(Request& request, const Environment& environment,
                                           const ReadText& read);

}  // namespace toprun::container
