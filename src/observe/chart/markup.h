#pragma once

#include <string>
#include <string_view>

namespace toprun::chart {

// Names of hosts and domains come from files and networks and may contain any bytes. These
// functions convert such names to text for a picture.

// Returns UTF-8 in one line. Control characters are replaced as in printable(). Invalid UTF-8,
// characters that XML forbids, and characters that reverse the text direction become U+FFFD.
std::string clean_text(std::string_view text);

// Escapes clean_text() output for XML text or attributes.
std::string xml_text(std::string_view text);

// Escapes clean_text() output for a quoted Graphviz label; \N, \l … and &name; become plain text.
std::string dot_text(std::string_view text);

}  // namespace toprun::chart
