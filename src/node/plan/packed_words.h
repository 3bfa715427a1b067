#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::plan {

// argv[1] of a toprun whose own arguments are packed in argv[2].
inline constexpr std::string_view packed_word = "packed-words";

// One argument may have at most 128 KiB (Linux: MAX_ARG_STRLEN), and base64 adds a third to the
// size.
inline constexpr std::size_t max_packed_bytes = 90u << 10;

// Packs a command line (toprun and its arguments), so that programs which pass it on do not change
// quotes, blanks, commas and $. Returns three words: toprun, packed_word and one argument of
// letters, digits, - and _. Error (exit 2): the command line is too long.
Result<std::vector<std::string>> pack_words(const std::vector<std::string>& argv);

// Returns the command line, unpacked if it was packed. Error (exit 2): the argument after
// packed_word is not a packed command line.
Result<std::vector<std::string>> words_unpacked(std::vector<std::string> argv);

// Returns the command line that is packed in `packed`, the argument after packed_word. Error
// (exit 2): `packed` is not a packed command line.
Result<std::vector<std::string>> unpack_words(std::string_view packed);

}  // namespace toprun::plan
