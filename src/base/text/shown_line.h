#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// Returns the last line in a program's output; blank lines do not count. This line usually says why
// the program failed. With `count`, returns the last `count` such lines, joined by " | ". Colours
// and terminal sequences are removed. A line that begins with a colon counts as a part of the line
// before it. Empty if the program wrote nothing.
std::string last_words(std::string_view written, std::size_t count = 1);

// Extracts the error message for people from the stderr of a program that failed: at most `most`
// lines, each once. Labels are removed ("error: ", "Error from server "), as are lines for
// developers. Programs such as kubectl write such lines in klog's form (`E1124 22:53:22.909201
// 25386 memcache.go:265] "Unhandled Error" err="…"`). If stderr contains only lines for developers,
// returns the error texts from these lines. Terminal sequences are removed.
std::vector<std::string> complaint(std::string_view stderr_text, std::size_t most);

// Formats a line that a program printed, so that a report can show it. Only the text after the last
// \r is kept, so overwritten progress bars disappear. Terminal sequences are removed; control
// characters and invalid UTF-8 are escaped as \xNN. A line of more than `limit_bytes` is cut and
// ends in "…".
std::string shown_line(std::string_view line, std::size_t limit_bytes);

// Returns the last `count` non-empty lines of `text`, each formatted by shown_line().
std::vector<std::string> last_lines(std::string_view text, std::size_t count,
                                    std::size_t line_limit_bytes);

// Returns what a terminal shows last after `text`: the last line that is not blank, or the last
// state of a progress bar. Warnings and notes from PyTorch's C++ code are skipped, unless the text
// contains nothing else. The line is formatted by shown_line(), without secrets, and has at most
// `limit_bytes`, including the "…". Empty: nothing is shown.
std::string last_state(std::string_view text, std::size_t limit_bytes);

// Returns the last `count` lines that are not blank, the newest last, each in the form of
// last_state().
std::vector<std::string> last_public_lines(std::string_view text, std::size_t count,
                                           std::size_t limit_bytes);

// Removes the line end: \n, \r or both.
std::string_view without_line_end(std::string_view line);

// Whether this is a warning or note that PyTorch's C++ code logs (c10/util/Logging.cpp). An example
// is "[W1128 12:00:00.123456789 socket.cpp:752] …", with or without the rank before it. Such a line
// does not show a rank's progress.
bool is_note_of_pytorch(std::string_view line);

}  // namespace toprun
