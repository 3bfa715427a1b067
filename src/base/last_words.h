#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun {

// What a program wrote last, as a reason for its failure: its last line that is not blank, or the
// last `count` of them with " | " between, without colours and harmless to a terminal. A line that
// goes on with a colon belongs to the one before it. Empty: it wrote nothing.
std::string last_words(std::string_view written, std::size_t count = 1);

}  // namespace toprun
