#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

inline constexpr std::size_t max_json_bytes = std::size_t{64} << 20;
inline constexpr int max_json_depth = 16;

// Parses a JSON object. `file` is the file's name for error messages. Errors: the text is not JSON
// (with line and column), is too large, is nested too deeply, or is not an object.
Result<nlohmann::json> parse_document(std::string_view text, const std::string& file);

// Reads an object's fields and remembers the first invalid field. So the caller can read all fields
// first, and then check once whether there was an error. For an invalid or absent value, a function
// returns 0, an empty string, an empty object or an empty list.
class JsonFields {
 public:
  // `place` is the object's path in the document, such as "results[3]". `wrong` contains the first
  // error. Several objects may share `wrong`.
  JsonFields(const nlohmann::json& object, std::string place, std::string& wrong);

  bool has(const char* key) const;  // present and not null

  std::string text(const char* key);
  double number(const char* key);         // finite, not negative
  std::uint64_t count(const char* key);   // a whole number, not negative
  std::int64_t integer(const char* key);  // may also be a string, as nccl-tests writes a root
  // Reads an integer that fits into the type.
  template <class Whole>
  Whole whole(const char* key) {
    const std::int64_t value = integer(key);
    if (std::in_range<Whole>(value)) return static_cast<Whole>(value);
    fault(key, "within its range");
    return 0;
  }
  JsonFields object(const char* key);

  // These functions read a field. They return `otherwise` if the field is absent or null.
  std::string text_or(const char* key, std::string otherwise = {});
  double number_or(const char* key, double otherwise);
  std::uint64_t count_or(const char* key, std::uint64_t otherwise);

  // Calls `read` with each object of a list.
  template <class Read>
  void each(const char* key, Read read) {
    const nlohmann::json& elements = list(key);
    for (std::size_t i = 0; i < elements.size() && wrong_.empty(); ++i) {
      JsonFields fields(elements[i], place_of(key) + "[" + std::to_string(i) + "]", wrong_);
      read(fields);
    }
  }
  std::vector<std::string> texts(const char* key);
  std::size_t size_of(const char* key);  // The number of elements in a list.

  // Reports "FIELD is not EXPECTED", unless an earlier error was reported.
  void fault(const char* key, std::string_view expected);

 private:
  const nlohmann::json& list(const char* key);
  const nlohmann::json* find(const char* key) const;
  std::string place_of(const char* key) const;

  const nlohmann::json& object_;
  std::string place_;
  std::string& wrong_;
};

inline constexpr std::string_view report_schema = "toprun.bench/1";

// Returns the report as JSON, with the fields, units (µs, GB/s) and spelling of an nccl-tests -J
// file: a root is a string, and a truth value is "true". In addition, each result has collective,
// backend, nodes, ranks, order, fabric, line_gbps, limit_gbps and wire_floor_gbps, and each
// placement (in place, out of place) has min, median, p99, cv and samples. The field "schema"
// occurs only in toprun's format. Ends with a newline.
std::string report_json(const Report& report);

// Reads a report from its JSON. Adjacent results of the same series become one Series again, so a
// series without rows is lost. `file` is the file's name for error messages. Errors (exit code 2):
// the text is not JSON, is too large, is nested too deeply or has another schema; or a field is
// invalid.
Result<Report> parse_report(std::string_view text, const std::string& file);

}  // namespace toprun::bench
