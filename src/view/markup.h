#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::view {

// Names of hosts and domains come from files and networks and may hold anything. These make text of
// them that can stand in a picture.

// UTF-8 on one line: control characters as printable() shows them; what is no UTF-8, may not stand
// in XML, or would turn the direction of what follows, as U+FFFD.
std::string clean_text(std::string_view text);

// How many columns of a fixed-width font a clean text takes; East Asian wide characters take two.
std::size_t columns(std::string_view text);

// A clean text in at most so many columns, ≥ 3, with "…" in place of its middle.
std::string shortened(std::string_view text, std::size_t most_columns);

// A clean text in XML, between tags or in an attribute.
std::string xml_text(std::string_view text);

// A clean text between the double quotes of a Graphviz label, which reads \N, \l … and &name; too.
std::string dot_text(std::string_view text);

}  // namespace toprun::view
