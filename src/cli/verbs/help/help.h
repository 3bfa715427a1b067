#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_text.h"
#include "cli/options/flags.h"

namespace toprun::cli {

// The meaning of a command's exit codes. Help and manual page use this table. Tests compare
// docs/reference/exit-codes.md with this table.
struct ExitCode {
  std::string code;  // "75", "128+N"
  std::string_view meaning;
};

std::span<const ExitCode> exit_codes(options::Command command);

// These functions return the output of -h, --help and --version: complete lines of at most
// help_columns columns.
std::string short_help(options::Command command);
std::string full_help(options::Command command);
std::string version_text();

// Returns the help of an option such as "--nnodes" or "nnodes". The result covers each command that
// has the option, or only one command. Empty: no command has it.
std::string option_help(std::string_view option,
                        std::optional<options::Command> only = std::nullopt);

inline constexpr std::string_view exit_codes_title = "Exit codes";
std::vector<options::CommandText::Row> exit_code_rows(options::Command command);

// Returns the whole description of the command.
options::CommandText command_text(options::Command command);

// The manual page's rows about environment variables and about files: a name and its meaning.

// Returns the variables that set options, and all other variables that toprun reads.
std::vector<options::CommandText::Row> environment_rows();
std::vector<options::CommandText::Row> file_rows();

// A library that is linked into this binary.
struct Library {
  std::string name;
  std::string version;       // the version, from the library's headers, else from its package;
                             // empty: unknown
  std::string license;       // an SPDX expression
  std::string home;          // the library's home page
  std::string distribution;  // the source of the library's package: "debian"; empty: no package is
                             // known
  // the source package; `package_version`: its version, including the distribution's patches
  std::string package = {};
  std::string package_version = {};
};

std::vector<Library> linked_libraries();

// Returns the upstream version in a package's version: "0.7.0" for "1:0.7.0+dfsg-8".
std::string upstream_version(std::string_view package_version);

// Returns a bill of materials: CycloneDX 1.5, JSON (cyclonedx.org/docs/1.5/json). Pure.
std::string sbom(const std::vector<Library>& libraries, std::string_view toprun_version);

// Returns the output of `toprun version -v`: build, compiler, libraries.
std::string version_details();

}  // namespace toprun::cli
