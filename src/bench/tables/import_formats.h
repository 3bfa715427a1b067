#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "base/text/text.h"
#include "bench/tables/import.h"
#include "bench/tables/log_line.h"

namespace toprun::bench {

inline constexpr std::string_view decimal_digits = "0123456789";

// One function per foreign format. Results and errors are as for import_report().
Result<Report> import_nccl_json(std::string_view text, const ImportTerms& terms);
Result<Report> import_nccl_text(std::string_view text, const ImportTerms& terms);
Result<Report> import_all_reduce_bench(std::string_view text, const ImportTerms& terms);
Result<Report> import_superbench(std::string_view text, const ImportTerms& terms);

// Creates the error "FILE:LINE: WHY".
std::unexpected<Error> unreadable(const ImportTerms& terms, std::size_t line, std::string why,
                                  std::string fix = {});

// Passes each line, as a terminal shows it, and its number to reader.read(). Returns reader.take().
// The first line has number 1.
template <class Reader>
Result<Report> read_lines(std::string_view text, Reader reader) {
  std::size_t number = 0;
  std::string buffer;
  for (const std::string_view line : split(text, '\n')) {
    TRY(reader.read(shown_text(line, buffer), ++number));
  }
  return std::move(reader).take();
}

// The collective of the nccl-tests program in this line, such as build/all_reduce_perf.
std::optional<Collective> collective_of_program(std::string_view line);

// Converts NCCL's version number: 22807 → "NCCL 2.28.7".
std::string nccl_name(std::int64_t version);

// The number of different hosts in the list of devices. 0: unknown, because the list is empty.
std::size_t nodes_of(const std::vector<Device>& devices);

// A measured value is 0 or within these limits, so that all results computed from it are finite.
inline constexpr double least_figure = 1e-12;
inline constexpr double most_figure = 1e18;
std::optional<double> parse_figure(std::string_view text);

}  // namespace toprun::bench
