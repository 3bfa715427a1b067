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
inline constexpr std::size_t max_edf_levels = 10;  // of base_environment, as CSCS has it
inline constexpr std::size_t max_edf_files = 100;  // of all that one names, directly or not

// An environment definition file (EDF) of CSCS' container engine
// (docs.cscs.ch/software/container-engine/edf), one file of a chain.
struct Edf {
  std::vector<std::string> bases;
  std::optional<std::string> image;
  std::optional<std::string> workdir;
  std::optional<bool> entrypoint;
  std::optional<bool> writable;
  std::vector<Bind> mounts;
  std::vector<std::pair<std::string, std::string>> env;  // ${NAME} not yet replaced; "": unset
  std::vector<std::pair<std::string, std::string>> annotations;  // "com.hooks.ssh.enabled"
  std::vector<std::string> notes;                                // what has no effect here
};

// ${NAME} is replaced from `environment`, in `env` only checked: the image's value counts there.
// Errors (exit_usage) say file:line:column.
Result<Edf> parse_edf(std::string_view text, std::string_view label,
                      const Environment& environment);

using ReadText = std::function<Result<std::string>(const std::string& path)>;

// What --environment names joined to what was said beside it, which goes before. A name is looked
// up as NAME.toml in the folders of EDF_PATH, else in ~/.edf; what has a slash or ends in .toml is
// a path. An image without a transport is one of Docker Hub. Returns what has no effect, a line
// each. Errors: no such file, with the folders that were looked in; a chain that is too long or
// leads to itself; no image at all.
Result<std::vector<std::string>> apply_edf(Wanted& wanted, const Environment& environment,
                                           const ReadText& read);

}  // namespace toprun::container
