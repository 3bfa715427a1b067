#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::hosts {

// The maximum number of hosts in one expanded list or in one file. Large machines have 10,000
// hosts; the largest machine ever built had 158,976. Without this limit, expanding a short text
// such as "n[0-999]x[0-999]" would take seconds.
inline constexpr std::size_t max_hosts = 262'144;
inline constexpr std::size_t max_name_bytes = 255;  // the limit for one host name in DNS

// An error in a host list, and the error's position in the text.
struct ListFault {
  std::size_t column = 1;  // the first wrong character, counted from 1
  std::string why;
  std::string fix;
};

// Parses Slurm's hostlist grammar (src/common/hostlist.c, scontrol(1) "show hostnames"). Items are
// separated by commas, blanks or newlines. An item is text with any number of bracketed lists of
// numbers and ranges, as in "a[01-03,7]b[1-2],c". The numbers of a range are padded with zeros to
// the width of its first number. If an item has several brackets, the last bracket varies fastest,
// then the first, then the second, and so on, as in Slurm's own expansion. The result keeps the
// list's order and duplicates; for an empty list, it is empty. A list of more than `limit` hosts is
// refused before memory is allocated for it.
std::expected<std::vector<std::string>, ListFault> parse_hostlist(std::string_view text,
                                                                  std::size_t limit = max_hosts);

// Like parse_hostlist(), but the error (exit_usage) contains the list and the column.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

// Returns a short text with all these hosts in this order, for messages: "n[0-3,7],login". Names
// that follow each other in `hosts` share one pair of brackets if they differ only in the last
// number before the first dot. expand_hostlist() converts the text back to the hosts, unless a name
// contains commas, blanks, brackets or braces.
std::string compress_hostlist(const std::vector<std::string>& hosts);

// Returns a text for messages: the first 32 hosts in natural order, each once, and the number of
// the other hosts: "n[0-31] and 9 more".
std::string short_list(std::vector<std::string> hosts);

// Expands Slurm's counts per node, as in SLURM_TASKS_PER_NODE: "2(x3),1" becomes 2 2 2 1. Error:
// there are more than max_hosts counts, or a count is negative.
Result<std::vector<int>> expand_counts(std::string_view text);

}  // namespace toprun::hosts
