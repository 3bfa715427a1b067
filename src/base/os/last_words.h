#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun {

// The last line in a program's output; blank lines do not count. This line usually explains the
// program's failure. With `count`: the last `count` such lines, joined by " | ". Colours and
// terminal sequences are removed. A line that begins with a colon belongs to the line before it.
// Empty if the program wrote nothing.
std::string last_words(std::string_view written, std::size_t count = 1);

}  // namespace toprun
