#include "bench/tables/import.h"

#include <algorithm>
#include <set>

#include "bench/tables/import_nccl_row.h"
#include "bench/tables/json.h"

namespace toprun::bench {
namespace {

bool has_all(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::all_of(words, [&](std::string_view word) { return line.contains(word); });
}

std::optional<Format> format_of_line(std::string_view line) {
  if (find_heading(line)) return Format::nccl_text;
  if (has_all(line, {"|", "payload", "busbw", "algbw"})) return Format::all_reduce_bench;
  if (has_all(line, {"bandwidth of all_reduce with a"})) return Format::all_reduce_bench;
  for (const std::string_view figure : {"_busbw", "_algbw"}) {
    const std::size_t at = line.find(figure);
    if (at != std::string_view::npos && at > 0 && decimal_digits.contains(line[at - 1])) {
      return Format::superbench;
    }
  }
  return std::nullopt;
}

std::optional<Format> format_of_json(std::string_view text) {
  if (text.contains("\"toprun.bench/")) return Format::toprun_json;
  if (has_all(text, {"\"results\"", "\"out_of_place\""})) return Format::nccl_json;
  return std::nullopt;
}

Result<Report> import_as(Format format, std::string_view text, const ImportTerms& terms) {
  switch (format) {
    case Format::toprun_json:
      return parse_report(text, terms.file);
    case Format::nccl_json:
      return import_nccl_json(text, terms);
    case Format::nccl_text:
      return import_nccl_text(text, terms);
    case Format::all_reduce_bench:
      return import_all_reduce_bench(text, terms);
    case Format::superbench:
      return import_superbench(text, terms);
  }
  return Report{};
}

bool has_rows(const Report& report) {
  return std::ranges::any_of(report.series,
                             [](const Series& series) { return !series.rows.empty(); });
}

}  // namespace

std::optional<Format> format_of(std::string_view text) {
  if (trim(text).starts_with('{')) {
    if (const auto format = format_of_json(text)) return format;
  }
  std::string buffer;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto format = format_of_line(shown_text(line, buffer))) return format;
  }
  return std::nullopt;
}

Result<Report> import_report(std::string_view text, const ImportTerms& terms) {
  if (text.size() > max_import_bytes) {
    return usage("cannot read " + printable(terms.file),
                 fmt::format("the file is larger than {} MiB", max_import_bytes >> 20));
  }
  if (trim(text).empty()) return usage("cannot read " + printable(terms.file), "it is empty");
  constexpr std::size_t looked_at = 4096;
  if (text.substr(0, looked_at).contains('\0')) {
    return usage("cannot read " + printable(terms.file), "it is not a text file",
                 "is the file compressed, or is it the wrong file?");
  }
  const auto format = format_of(text);
  if (!format) {
    return unreadable(terms, 1,
                      "neither a report of toprun bench nor a result of nccl-tests, "
                      "all_reduce_bench.py or SuperBench");
  }
  auto report = import_as(*format, text, terms);
  if (report && *format != Format::toprun_json && !has_rows(*report)) {
    return unreadable(terms, split(text, '\n').size(), "the file ends without a row of results");
  }
  return report;
}

std::unexpected<Error> unreadable(const ImportTerms& terms, std::size_t line, std::string why,
                                  std::string fix) {
  return usage(fmt::format("{}:{}", printable(terms.file), line), std::move(why), std::move(fix));
}

std::optional<Collective> collective_of_program(std::string_view line) {
  constexpr std::string_view suffix = "_perf";
  for (std::string_view word : words(line)) {
    word = word.substr(word.rfind('/') + 1);
    if (!word.ends_with(suffix)) continue;
    word.remove_suffix(suffix.size());
    if (const auto collective = find_collective(word)) return collective;
  }
  return std::nullopt;
}

std::string nccl_name(std::int64_t version) {
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::size_t nodes_of(const std::vector<Device>& devices) {
  std::set<std::string_view> hosts;
  for (const Device& device : devices) hosts.insert(device.host);
  return hosts.size();
}

std::optional<double> parse_figure(std::string_view text) {
  const auto figure = parse_double(text);
  const bool is_possible =
      figure && (*figure == 0 || (*figure >= least_figure && *figure <= most_figure));
  return is_possible ? figure : std::nullopt;
}

}  // namespace toprun::bench
