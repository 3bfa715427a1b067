#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options/command_text.h"
#include "options/split.h"

namespace CLI {
class App;
}

namespace toprun::cli {

// What all verbs with options of their own share.

// What toprun itself says to a verb in place of the user's arguments: print your section of the
// manual page; or, followed by the words of a command line, print what its last may become.
inline constexpr std::string_view ask_for_manual = "--help=roff";
inline constexpr std::string_view ask_for_completion = "--complete";

// Parses the arguments behind the verb. An exit code: nothing is left to do, because help (or one
// of the above) was asked for and printed, or the arguments are wrong, which one line on stderr
// says.
//
// The app's footer is its examples and notes: a line "COMMAND  # WHAT FOR" is an example, any other
// a note; lines that begin with two blanks are kept as they are.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& arguments);

options::CommandText command_text(const CLI::App& app);

// The same for verbs whose options stand in flags.cc. An exit code: nothing is left to do.
std::expected<options::Split, int> parse(options::Dialect dialect,
                                         const std::vector<std::string>& arguments);

}  // namespace toprun::cli
