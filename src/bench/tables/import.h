#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "base/text/text.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

enum class Format {
  toprun_json,  // report_json()
  nccl_json,    // nccl-tests -J, file version 2
  nccl_text,    // the output of nccl-tests and rccl-tests, including old versions and logs with
                // prefixes
  all_reduce_bench,  // all_reduce_bench.py from ml-engineering: Markdown, or two lines from older
                     // versions
  superbench,  // SuperBench results such as …/allreduce_8388608_busbw:0 = 89.51, or JSON lines
};

// Recognises the format of a text by the first line that occurs in only one format.
std::optional<Format> format_of(std::string_view text);

struct ImportTerms {
  std::string file;                      // the file's name in errors
  std::optional<Collective> collective;  // the collective of tables that do not name their
                                         // collective
};

inline constexpr std::size_t max_import_bytes = std::size_t{64} << 20;

// Reads a report in any format that format_of() recognises. Errors (exit code 2) name the file and
// the line. Errors are: an unknown format, no rows, a row that does not fit its heading, a table
// whose collective is unknown, and a file that is too large. Values that the file does not contain
// stay 0 or unset. The spread of the iterations is mostly unknown (`samples` is 0).
Result<Report> import_report(std::string_view text, const ImportTerms& terms);

inline constexpr std::string_view decimal_digits = "0123456789";

// One function per foreign format. Results and errors are as for import_report().
Result<Report> import_nccl_json(std::string_view text, const ImportTerms& terms);
Result<Report> import_nccl_text(std::string_view text, const ImportTerms& terms);
Result<Report> import_all_reduce_bench(std::string_view text, const ImportTerms& terms);
Result<Report> import_superbench(std::string_view text, const ImportTerms& terms);

// Creates the error "FILE:LINE: WHY".
std::unexpected<Error> unreadable(const ImportTerms& terms, std::size_t line, std::string why,
                                  std::string fix = {});

// Returns a log line as a terminal shows it, without escape sequences and without text overwritten
// after a carriage return. If the result differs from the line, it is stored in `buffer`.
std::string_view shown_text(std::string_view line, std::string& buffer);

// Removes what logs and web pages append to a line: the rest of a JSON line in Docker's logs, the
// quotation mark and comma in a list, or the bars in a table.
std::string_view without_closing(std::string_view line);

// Identifies the writer of a line by the prefix that a launcher printed: "10.3.35.83: " from pdsh,
// "[1,0]<stdout>:" from mpirun, "[pod/x/y] 2026-05-16T16:39:51.2Z " from kubectl. Removes times and
// blanks from the prefix, because they differ between lines of one writer. Empty if the prefix
// contains nothing but times and blanks.
std::string writer_of(std::string_view prefix);

// Passes each line's number, and its text as a terminal shows it, to reader.read(). Returns
// reader.take(). The first line has number 1.
template <class Reader>
Result<Report> read_lines(std::string_view text, Reader reader) {
  std::size_t number = 0;
  std::string buffer;
  for (const std::string_view line : split(text, '\n')) {
    TRY(reader.read(shown_text(line, buffer), ++number));
  }
  return std::move(reader).take();
}

// Returns the collective of the nccl-tests program that this line names, such as
// build/all_reduce_perf.
std::optional<Collective> collective_of_program(std::string_view line);

// Converts NCCL's version number: 22807 → "NCCL 2.28.7".
std::string nccl_name(std::int64_t version);

// Returns the number of different hosts in the list of devices. 0 (unknown) if the list is empty.
std::size_t nodes_of(const std::vector<Device>& devices);

// The limits of a measured value other than 0, so that all results computed from it are finite.
inline constexpr double least_figure = 1e-12;
inline constexpr double most_figure = 1e18;
// Parses a measured value. nullopt: not a number, or outside least_figure and most_figure.
std::optional<double> parse_figure(std::string_view text);

}  // namespace toprun::bench
