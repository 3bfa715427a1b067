#include "bench/tables/json.h"

#include <gtest/gtest.h>

namespace toprun::bench {
namespace {

Report sample() {
  Report report;
  report.version = "toprun 0.1.0";
  report.start_time = "2026-01-02T03:04:05Z";
  report.end_time = "2026-01-02T03:05:05Z";
  report.args = {"toprun", "bench"};
  report.env = {{"NCCL_IB_HCA", "mlx5"}, {"EMPTY", ""}, {"A", "b=c"}};
  report.library = "NCCL 2.30.7";
  report.devices = {{0, "n1", 42, 0, "NVIDIA H100"}, {1, "n2", 43, 3, "cpu"}};
  report.errors = {"rank 3 on n2 stopped"};
  Series series;
  series.backend = "nccl";
  series.order = "topology";
  series.fabric = "rdma";
  series.ranks = 8;
  series.nodes = 2;
  series.line_gbps = 800;
  Side side;
  side.times = {100, 90, 99.5, 120.25, 0.03, 20};
  side.algbw = 85.15;
  side.busbw = 149.0125;
  side.wrong = 0;
  series.rows = {{8, 2, "float", "sum", -1, side, {}}, {16, 4, "float", "sum", -1, side, side}};
  series.rows[1].in_place->wrong.reset();
  report.series = {series, series};
  report.series[1].collective = Collective::all_gather;
  report.series[1].line_gbps.reset();
  report.series[1].limit_gbps = 100;
  return report;
}

TEST(Json, ComesBackAsItWas) {
  const Report before = sample();
  const std::string text = report_json(before);
  const auto after = parse_report(text, "a.json");
  ASSERT_TRUE(after) << after.error().line();
  EXPECT_EQ(report_json(*after), text);
  ASSERT_EQ(after->series.size(), 2u);
  EXPECT_EQ(after->series[0].rows.size(), 2u);
  EXPECT_EQ(after->series[1].collective, Collective::all_gather);
  EXPECT_EQ(after->env, before.env);
  EXPECT_EQ(after->devices[1].host, "n2");
  EXPECT_FALSE(after->series[0].rows[1].in_place->wrong);
  EXPECT_FALSE(after->series[0].rows[0].in_place);
  EXPECT_EQ(after->series[0].rows[0].out_of_place->times.samples, 20u);
}

TEST(Json, HasTheFieldsOfNcclTests) {
  const auto json = nlohmann::json::parse(report_json(sample()));
  EXPECT_EQ(json["nccl_version"], 23007);
  EXPECT_EQ(json["env"][0], "NCCL_IB_HCA=mlx5");
  EXPECT_EQ(json["config"]["devices"][1]["hostname"], "n2");
  const auto& result = json["results"][0];
  EXPECT_EQ(result["size"], 8);
  EXPECT_EQ(result["root"], "    -1");
  EXPECT_EQ(result["out_of_place"]["alg_bw"], 85.15);
  EXPECT_EQ(result["out_of_place"]["nwrong"], 0);
  EXPECT_EQ(result["in_place"], nullptr);
  EXPECT_NEAR(result["wire_floor_gbps"].get<double>(), 681.2, 0.01);
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_NEAR(json["average_bus_bandwidth"]["bandwidth"].get<double>(), 149.0125, 1e-9);
}

TEST(Json, OtherLibrariesHaveNoVersionOfNccl) {
  for (const char* library : {"Gloo 0.5.0", "tcp", "NCCL 2.30", "NCCL a.b.c", "NCCL 2.300.1", ""}) {
    Report report;
    report.library = library;
    EXPECT_EQ(nlohmann::json::parse(report_json(report))["nccl_version"], nullptr) << library;
  }
}

TEST(Json, TextsThatAreNotUtf8) {
  Report report;
  report.errors = {"\xff"};
  EXPECT_TRUE(parse_report(report_json(report), "a.json"));
}

std::string parse_error_of(std::string_view text) {
  const auto report = parse_report(text, "a.json");
  return report ? "" : report.error().line();
}

TEST(Json, RefusesOtherFiles) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "a.json:1:1: not JSON"},
      {"{\n  \"version\": 1,,\n}", "a.json:2:16: not JSON"},
      {"[]", "a.json:1:1: not a JSON object"},
      {"{\"version\": 2}",
       "cannot read a.json: the file is not a report of `toprun bench` (toprun.bench/1)"},
      {"{\"schema\": 3}",
       "cannot read a.json: the file is not a report of `toprun bench` (toprun.bench/1)"},
      {"{\"schema\": \"toprun.bench/1\"}", "cannot read a.json: version is not a text"},
      {"{\"a\": 1e999}", "cannot read a.json: the file contains a number that is out of range"},
      {std::string(5000, '['), "cannot read a.json: the file is nested more than 16 levels deep"},
      {"{\"a\": [", "a.json:1:8: not JSON"},
      {std::string(50, '[') + std::string(50, ']'),
       "cannot read a.json: the file is nested more than 16 levels deep"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(parse_error_of(text), expected);
  EXPECT_EQ(parse_error_of(std::string(max_json_bytes + 1, ' ')),
            "cannot read a.json: the file is larger than 64 MiB");
  EXPECT_EQ(parse_report("[]", "a").error()->exit_code, exit_usage);
}

TEST(Json, NamesTheFieldThatIsWrong) {
  const std::tuple<const char*, nlohmann::json, const char*> rows[] = {
      {"/args", "x", "args is not a list"},
      {"/args/0", 1, "args is not a list of texts"},
      {"/env/0", "x", "env is not a list of NAME=VALUE"},
      {"/config", nullptr, "config is not an object"},
      {"/config/devices/1/pid", "x", "config.devices[1].pid is not a whole number"},
      {"/config/devices/1/device", 1ll << 40, "config.devices[1].device is not within its range"},
      {"/results/1", 7, "results[1] is not an object"},
      {"/results/1/size", -1, "results[1].size is not a whole number from 0 up"},
      {"/results/1/size", 1.5, "results[1].size is not a whole number from 0 up"},
      {"/results/1/collective", "x", "results[1].collective is not a known collective"},
      {"/results/1/in_place/time", -1, "results[1].in_place.time is not a number from 0 up"},
      {"/results/1/out_of_place", {1}, "results[1].out_of_place is not an object"},
      {"/results/2/root", "first", "results[2].root is not a whole number"},
  };
  for (const auto& [pointer, value, expected] : rows) {
    auto json = nlohmann::json::parse(report_json(sample()));
    json[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_EQ(parse_error_of(json.dump()), fmt::format("cannot read a.json: {}", expected));
  }
}

}  // namespace
}  // namespace toprun::bench
