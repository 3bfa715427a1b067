#pragma once

#include <string>
#include <string_view>

namespace toprun::chart {

// Names of hosts and domains come from files and networks and may contain any bytes. These
// functions convert such names to text for a picture.

// Returns UTF-8 in one line. Control characters are replaced as in printable(). Invalid UTF-8,
// characters that XML forbids, and characters that reverse the text direction become U+FFFD.
std::string clean_text(std::string_view text);

// Escapes a clean text for XML, between tags or in an attribute.
std::string xml_text(std::string_view text);

// Escapes a clean text for a Graphviz label in double quotes, including \N, \l … and &name;.
std::string dot_text(std::string_view text);

}  // namespace toprun::chart
