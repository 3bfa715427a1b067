#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

std::string counted_text(std::int64_t count, std::string_view noun);

// Returns "1 node", "2 nodes", "3 switches".
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return counted_text(static_cast<std::int64_t>(count), noun);
}

// Formats ascending numbers as a list of ranges: "0-2,4,6-7". After `most` ranges, the text ends
// with the number of values that are left out: "9 more".
std::string ranges_text(std::span<const int> numbers, std::size_t most = std::string::npos);
// The inverse of ranges_text(): returns the first `most` numbers of a text such as "0-2,4". Parts
// of the text that are not ranges of numbers are ignored.
std::vector<int> numbers_of_ranges(std::string_view text, std::size_t most);

// Formats bytes in a binary unit. The number has three significant digits, unless it is whole: "512
// B", "1 KiB", "1.50 MiB", "12.3 GiB".
std::string bytes_text(double bytes);

// One character of a text whose bytes need not be valid UTF-8.
struct Character {
  std::string_view bytes;  // a single byte if this byte is not valid UTF-8
  char32_t code = 0;
  bool valid = false;
};

// Returns the first character of a text, which must not be empty (RFC 3629).
Character first_character(std::string_view text);

// Whether the character is harmless inside a line. A harmless character is visible, does not
// control a terminal (C0, C1), does not end the line, and does not change the direction of the
// following text (Unicode Standard, 23.1 and annex 9).
bool is_harmless(const Character& character);

// Like printable() below, but for whole lines: keeps line ends, tabs and colours (ECMA-48's SGR).
std::string printable_lines(std::string_view text);

std::string_view trim(std::string_view text);
// Returns the first line that is not blank, trimmed. Use first_line() to show an error of several
// lines where only one line fits.
std::string_view first_line(std::string_view text);
// Returns the pieces between separators, empty ones included; an empty text is one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
// Returns the pieces between runs of blanks (space, tab, CR, LF), without empty ones.
std::vector<std::string_view> words(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string lower(std::string_view text);

// Parses a whole decimal number within the range of the type, without blanks or a plus sign.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// Compares names with numbers in the order that people expect: n2 before n10. If two names differ
// only in leading zeros, the name with more zeros is first: n01 before n1. The comparison is a
// strict weak order. Two texts are equivalent only if they are equal.
bool natural_less(std::string_view a, std::string_view b);

// Returns how many letters were inserted, deleted, replaced, or swapped with their neighbour
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate with the smallest edit distance to `word`, if this distance is small enough
// for a typing error.
std::optional<std::string> did_you_mean(std::string_view word,
                                        std::span<const std::string> candidates);

// Returns the text on one line. Line ends, tabs and other harmful bytes, as in terminal sequences,
// become \n, \t or \xNN.
std::string printable(std::string_view text);
bool is_printable(std::string_view text);  // without ASCII control characters

// Quotes words so that a POSIX shell reads them as the same words.
std::string shell_quote(std::span<const std::string> argv);

}  // namespace toprun
