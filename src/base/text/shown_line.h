#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// One printed line in the form for a report: only the text after the last \r (without overwritten
// progress bars), no terminal sequences, control characters and invalid UTF-8 escaped as \xNN, at
// most `limit_bytes` and "…".
std::string shown_line(std::string_view line, std::size_t limit_bytes);

// The last `count` non-empty lines of `text`, each formatted by shown_line().
std::vector<std::string> last_lines(std::string_view text, std::size_t count,
                                    std::size_t line_limit_bytes);

// What `text` shows last on a terminal: its last line, or the last state of a progress bar, that is
// not blank, nor a warning or note that PyTorch's C++ code logs if anything else is shown;
// formatted by shown_line(), without secrets, at most `limit_bytes` with its "…". Empty: nothing is
// shown.
std::string last_state(std::string_view text, std::size_t limit_bytes);

// The last `count` lines that are not blank, the newest last, each in the same form.
std::vector<std::string> last_public_lines(std::string_view text, std::size_t count,
                                           std::size_t limit_bytes);

// Without the line end, \n, \r or both.
std::string_view without_line_end(std::string_view line);

// A warning or a note that PyTorch's C++ code logs, such as
// "[W1128 12:00:00.123456789 socket.cpp:752] …", with or without the rank before it
// (c10/util/Logging.cpp): it says nothing of how far a rank is.
bool is_note_of_pytorch(std::string_view line);

}  // namespace toprun
