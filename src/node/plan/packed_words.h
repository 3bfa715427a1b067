#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::plan {

// argv[1] of a toprun whose own words stand packed in argv[2].
inline constexpr std::string_view packed_word = "packed-words";

// One word takes 128 KiB at most (Linux: MAX_ARG_STRLEN), and base64 a third more than it holds.
inline constexpr std::size_t max_packed_bytes = 90u << 10;

// The command line (toprun and its words) as one that arrives unchanged whatever is done on the way
// with quotes, blanks, commas and $: toprun, packed_word and one word of letters, digits, - and _.
// Error (exit 2): it is too long.
Result<std::vector<std::string>> pack_words(const std::vector<std::string>& argv);

// The command line itself, of a packed one what is in it. Error (exit 2): what follows packed_word
// is not a packed one.
Result<std::vector<std::string>> words_unpacked(std::vector<std::string> argv);

// The command line of the two words behind argv[0]. Error (exit 2): it is not such a word.
Result<std::vector<std::string>> unpack_words(std::string_view packed);

}  // namespace toprun::plan
