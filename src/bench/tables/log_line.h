#pragma once

#include <string>
#include <string_view>

namespace toprun::bench {

// A log's line as a terminal shows it: without escape sequences, and without what a carriage return
// made it write over. `buffer` holds the text where it differs from the line.
std::string_view shown_text(std::string_view line, std::string& buffer);

// A line without what logs and web pages put behind it: the rest of a line of JSON, as Docker keeps
// logs, the quotation mark and comma of a list, the bars of a table.
std::string_view without_closing(std::string_view line);

// The writer of a line, by what a launcher put before the writer's own text: "10.3.35.83: " of
// pdsh,
// "[1,0]<stdout>:" of mpirun, "[pod/x/y] 2026-05-16T16:39:51.2Z " of kubectl. Times and blanks,
// which differ from line to line, are left out; empty: nothing else stands there.
std::string writer_of(std::string_view prefix);

}  // namespace toprun::bench
