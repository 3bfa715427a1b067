#pragma once

#include <string>
#include <string_view>

namespace toprun::bench {

// Returns a log line as a terminal shows it, without escape sequences and without text overwritten
// after a carriage return. If the result differs from the line, it is stored in `buffer`.
std::string_view shown_text(std::string_view line, std::string& buffer);

// Removes what logs and web pages append to a line: the rest of a JSON line in Docker's logs, the
// quotation mark and comma in a list, or the bars in a table.
std::string_view without_closing(std::string_view line);

// Identifies the writer of a line by the prefix that a launcher printed: "10.3.35.83: " from pdsh,
// "[1,0]<stdout>:" from mpirun, "[pod/x/y] 2026-05-16T16:39:51.2Z " from kubectl. Removes times and
// blanks from the prefix, because they differ between lines of one writer. Empty if nothing else is
// in the prefix.
std::string writer_of(std::string_view prefix);

}  // namespace toprun::bench
