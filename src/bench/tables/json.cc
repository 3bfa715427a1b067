#include "bench/tables/json.h"

#include <algorithm>
#include <cmath>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "bench/tables/figures.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

using nlohmann::json;

std::string place_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

// How deep brackets are nested, those in strings left out. Looked at before the library reads the
// text, because it makes an object for each level.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

// The library's exceptions end here.
Result<json> parsed(std::string_view text, const std::string& file) {
  if (depth_of(text) > max_json_depth) {
    return usage("cannot read " + printable(file),
                 fmt::format("the file is nested more than {} levels deep", max_json_depth));
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return usage(fmt::format("{}:{}", printable(file), place_in(text, error.byte)), "not JSON");
  } catch (const json::exception&) {
    return usage("cannot read " + printable(file),
                 "the file contains a number that is out of range");
  }
}

const json& no_object() {
  static const json object = json::object();
  return object;
}

const json& no_list() {
  static const json list = json::array();
  return list;
}

using nlohmann::ordered_json;

// From this algbw in GB/s on, a busbw that was printed as 0 was not measured.
constexpr double least_reported_gigabytes = 0.1;

// Null for a value that is unknown if it is 0 or an empty text.
template <class Value>
ordered_json known_json(const Value& value) {
  return or_null(value != Value(), value);
}

std::string truth(bool value) {
  return value ? "true" : "false";
}

ordered_json device_json(const Device& device) {
  return {{"rank", device.rank},       {"group", 0},
          {"pid", device.pid},         {"hostname", device.host},
          {"device", device.device},   {"device_hex", device.bus_id},
          {"device_info", device.name}};
}

ordered_json side_json(const Series& series, const std::optional<Side>& side) {
  if (!side) return nullptr;
  const Times& times = side->times;
  // A rounded 0 is a figure; without any algbw, or beside one that is not small, it is none.
  const bool has_algbw = side->algbw > 0 || times.mean_us > 0;
  const bool has_busbw =
      side->busbw > 0 || side->algbw < least_reported_gigabytes || series.ranks == 1;
  return {{"time", known_json(times.mean_us)},
          {"alg_bw", or_null(has_algbw, side->algbw)},
          {"bus_bw", or_null(has_busbw, side->busbw)},
          {"nwrong", or_null(side->wrong)},
          {"min", known_json(times.min_us)},
          {"median", known_json(times.median_us)},
          {"p99", known_json(times.p99_us)},
          {"cv", or_null(times.samples > 0, times.cv)},
          {"samples", times.samples}};
}

// Null: the ranks or nodes that it depends on are not known.
ordered_json wire_floor_json(const Series& series, double algbw) {
  if (series.nodes == 0 || series.ranks == 0) return nullptr;
  return gbps_of(wire_floor(series.collective, algbw, series.nodes, series.ranks));
}

ordered_json result_json(const Series& series, const Row& row) {
  const Side* const side = side_of(row);
  const double algbw = side != nullptr ? side->algbw : 0;
  const bool has_count = row.count > 0 || row.bytes == 0;
  ordered_json result = {{"size", row.bytes},
                         {"count", or_null(has_count, row.count)},
                         {"type", known_json(row.type)},
                         {"redop", known_json(row.redop)},
                         {"root", fmt::format("{:6}", row.root)},
                         {"out_of_place", side_json(series, row.out_of_place)},
                         {"in_place", side_json(series, row.in_place)},
                         {"collective", std::string(facts_of(series.collective).name)},
                         {"backend", series.backend},
                         {"nodes", known_json(series.nodes)},
                         {"ranks", known_json(series.ranks)},
                         {"order", series.order},
                         {"fabric", series.fabric},
                         {"line_gbps", or_null(series.line_gbps)},
                         {"limit_gbps", or_null(series.limit_gbps)},
                         {"wire_floor_gbps", wire_floor_json(series, algbw)}};
  if (series.least_ranks > 0) result["least_ranks"] = series.least_ranks;
  if (!series.source.empty()) result["source"] = series.source;
  return result;
}

// NCCL's own number of a version: 2.30.7 is 23007. Null: another library.
ordered_json nccl_version(std::string_view library) {
  if (!library.starts_with("NCCL ")) return nullptr;
  const auto parts = split(library.substr(5), '.');
  if (parts.size() != 3) return nullptr;
  std::int64_t code = 0;
  for (const std::string_view part : parts) {
    const auto number = parse_int(part);
    if (!number || *number < 0 || *number > 99) return nullptr;
    code = code * 100 + *number;
  }
  return code;
}

struct Sums {
  std::uint64_t wrong = 0;
  double average_busbw = 0;  // of all series together, weighted by their rows
};

Sums sums_of(const Report& report) {
  Series all;
  for (const Series& series : report.series) {
    all.rows.insert(all.rows.end(), series.rows.begin(), series.rows.end());
  }
  return {wrong_elements(all), average_busbw(all)};
}

bool is_same_series(const Series& a, const Series& b) {
  return a.collective == b.collective && a.backend == b.backend && a.order == b.order &&
         a.fabric == b.fabric && a.ranks == b.ranks && a.nodes == b.nodes &&
         a.least_ranks == b.least_ranks && a.source == b.source && a.line_gbps == b.line_gbps &&
         a.limit_gbps == b.limit_gbps;
}

std::optional<double> optional_number(JsonFields& fields, const char* key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.number(key);
}

Device read_device(JsonFields& fields) {
  return {static_cast<std::size_t>(fields.count("rank")),
          fields.text("hostname"),
          fields.whole<long>("pid"),
          fields.whole<int>("device"),
          fields.text("device_info"),
          fields.text_or("device_hex")};
}

std::optional<Side> read_side(JsonFields& result, const char* key) {
  if (!result.has(key)) return std::nullopt;
  JsonFields fields = result.object(key);
  Side side;
  side.times.mean_us = fields.number_or("time", 0);
  side.times.min_us = fields.number_or("min", 0);
  side.times.median_us = fields.number_or("median", 0);
  side.times.p99_us = fields.number_or("p99", 0);
  side.times.cv = fields.number_or("cv", 0);
  side.times.samples = fields.count("samples");
  side.algbw = fields.number_or("alg_bw", 0);
  side.busbw = fields.number_or("bus_bw", 0);
  if (fields.has("nwrong")) side.wrong = fields.count("nwrong");
  return side;
}

Series read_series(JsonFields& fields) {
  Series series;
  if (const auto collective = find_collective(fields.text("collective"))) {
    series.collective = *collective;
  } else {
    fields.fault("collective", "a known collective");
  }
  series.backend = fields.text("backend");
  series.order = fields.text("order");
  series.fabric = fields.text("fabric");
  series.ranks = fields.count_or("ranks", 0);
  series.nodes = fields.count_or("nodes", 0);
  series.least_ranks = fields.count_or("least_ranks", 0);
  series.source = fields.text_or("source");
  series.line_gbps = optional_number(fields, "line_gbps");
  series.limit_gbps = optional_number(fields, "limit_gbps");
  return series;
}

Row read_row(JsonFields& fields) {
  return {fields.count("size"),         fields.count_or("count", 0),
          fields.text_or("type"),       fields.text_or("redop"),
          fields.whole<int>("root"),    read_side(fields, "out_of_place"),
          read_side(fields, "in_place")};
}

void read_result(JsonFields& fields, Report& report) {
  Series series = read_series(fields);
  if (report.series.empty() || !is_same_series(report.series.back(), series)) {
    report.series.push_back(std::move(series));
  }
  report.series.back().rows.push_back(read_row(fields));
}

void read_environment(JsonFields& fields, Report& report) {
  for (const std::string& line : fields.texts("env")) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) {
      fields.fault("env", "a list of NAME=VALUE");
      return;
    }
    report.env.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
}

}  // namespace

Result<json> parse_document(std::string_view text, const std::string& file) {
  if (text.size() > max_json_bytes) {
    return usage("cannot read " + printable(file),
                 fmt::format("the file is larger than {} MiB", max_json_bytes >> 20));
  }
  auto document = parsed(text, file);
  if (document && !document->is_object()) {
    return usage(printable(file) + ":1:1", "not a JSON object");
  }
  return document;
}

JsonFields::JsonFields(const json& object, std::string place, std::string& wrong)
    : object_(object.is_object() ? object : no_object()), place_(std::move(place)), wrong_(wrong) {
  if (!object.is_object() && wrong_.empty()) wrong_ = place_ + " is not an object";
}

bool JsonFields::has(const char* key) const {
  return find(key) != nullptr;
}

std::string JsonFields::text(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  fault(key, "a text");
  return {};
}

double JsonFields::number(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number) && number >= 0) return number;
  }
  fault(key, "a number from 0 up");
  return 0;
}

// nccl-tests writes counts of wrong elements with a decimal point.
std::uint64_t JsonFields::count(const char* key) {
  constexpr double exact = 9007199254740992;  // 2^53
  const json* const value = find(key);
  if (value != nullptr && value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (value != nullptr && value->is_number_float()) {
    const auto number = value->get<double>();
    if (number >= 0 && number <= exact && number == std::floor(number)) {
      return static_cast<std::uint64_t>(number);
    }
  }
  fault(key, "a whole number from 0 up");
  return 0;
}

std::int64_t JsonFields::integer(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_number_integer()) return value->get<std::int64_t>();
  if (value != nullptr && value->is_string()) {
    if (const auto number = parse_int(trim(value->get_ref<const std::string&>()))) return *number;
  }
  fault(key, "a whole number");
  return 0;
}

JsonFields JsonFields::object(const char* key) {
  const json* const value = find(key);
  return {value != nullptr ? *value : no_list(), place_of(key), wrong_};
}

std::string JsonFields::text_or(const char* key, std::string otherwise) {
  return has(key) ? text(key) : std::move(otherwise);
}

double JsonFields::number_or(const char* key, double otherwise) {
  return has(key) ? number(key) : otherwise;
}

std::uint64_t JsonFields::count_or(const char* key, std::uint64_t otherwise) {
  return has(key) ? count(key) : otherwise;
}

std::vector<std::string> JsonFields::texts(const char* key) {
  std::vector<std::string> out;
  for (const json& element : list(key)) {
    if (element.is_string()) {
      out.push_back(element.get<std::string>());
    } else {
      fault(key, "a list of texts");
    }
  }
  return out;
}

std::size_t JsonFields::size_of(const char* key) {
  return list(key).size();
}

void JsonFields::fault(const char* key, std::string_view expected) {
  if (wrong_.empty()) wrong_ = fmt::format("{} is not {}", place_of(key), expected);
}

const json& JsonFields::list(const char* key) {
  const json* const value = find(key);
  if (value != nullptr && value->is_array()) return *value;
  fault(key, "a list");
  return no_list();
}

const json* JsonFields::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonFields::place_of(const char* key) const {
  return place_.empty() ? key : place_ + "." + key;
}

std::string report_json(const Report& report) {
  ordered_json devices = ordered_json::array();
  for (const Device& device : report.devices) devices.push_back(device_json(device));
  ordered_json results = ordered_json::array();
  for (const Series& series : report.series) {
    for (const Row& row : series.rows) results.push_back(result_json(series, row));
  }
  ordered_json environment = ordered_json::array();
  for (const auto& [name, value] : report.env) environment.push_back(name + "=" + value);
  const Sums sums = sums_of(report);
  const ordered_json document = {
      {"schema", std::string(report_schema)},
      {"version", report.version},
      {"start_time", report.start_time},
      {"args", report.args},
      {"env", std::move(environment)},
      {"nccl_version", nccl_version(report.library)},
      {"library", report.library},
      {"config", {{"nthreads", 1}, {"ngpus", 1}, {"devices", std::move(devices)}}},
      {"results", std::move(results)},
      {"out_of_bounds", {{"count", sums.wrong}, {"okay", truth(sums.wrong == 0)}}},
      {"average_bus_bandwidth", {{"bandwidth", sums.average_busbw}, {"okay", "unchecked"}}},
      {"errors", report.errors},
      {"end_time", report.end_time}};
  return json_text(document, 1) + "\n";
}

Result<Report> parse_report(std::string_view text, const std::string& file) {
  const auto document = TRY(parse_document(text, file));
  std::string wrong;
  JsonFields fields(document, "", wrong);
  if (fields.text_or("schema") != report_schema) {
    return usage("cannot read " + printable(file),
                 fmt::format("the file is not a report of `toprun bench` ({})", report_schema));
  }
  Report report;
  report.version = fields.text("version");
  report.start_time = fields.text("start_time");
  report.end_time = fields.text("end_time");
  report.args = fields.texts("args");
  read_environment(fields, report);
  report.library = fields.text("library");
  fields.object("config").each(
      "devices", [&](JsonFields& device) { report.devices.push_back(read_device(device)); });
  fields.each("results", [&](JsonFields& result) { read_result(result, report); });
  report.errors = fields.texts("errors");
  if (!report.start_time.empty() && report.end_time.empty()) {
    report.notes.push_back(file + ": the measurement was not completed");
  }
  if (!wrong.empty()) return usage("cannot read " + printable(file), printable(wrong));
  return report;
}

}  // namespace toprun::bench
