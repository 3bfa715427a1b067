#include "decide/ras/status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace toprun::ras {
namespace {

using Json = nlohmann::json;
using Kind = Finding::Kind;

const std::string head = "SERVER PROTOCOL 3\nOK\nOK\n";

// As client_support.cc of NCCL 2.29 writes them.
Json rank(int number, int reduces, int error = 0) {
  return {{"rank", number},
          {"host", "10.0.0.1"},
          {"pid", 4711 + number},
          {"cuda_dev", number},
          {"nvml_dev", number},
          {"status",
           {{"init_state", 0},
            {"async_error", error},
            {"finalize_called", false},
            {"destroy_flag", false},
            {"abort_flag", false}}},
          {"collective_counts", {{"Broadcast", 2}, {"AllReduce", reduces}}}};
}

Json missing(int number, bool dead) {
  return {{"rank", number}, {"host", "unknown"},
          {"pid", -1},      {"cuda_dev", 0},
          {"nvml_dev", 0},  {"status", {{"unresponsive", true}, {"considered_dead", dead}}}};
}

Json document(Json ranks, Json gone) {
  return {{"nccl_version", "2.29.2"},
          {"cuda_runtime_version", 13000},
          {"timestamp", "2026-11-25 12:00:00"},
          {"communicators_count", 1},
          {"communicators",
           {{{"hash", "0x9e37"},
             {"secondary_hash", "0x1:0x2"},
             {"size", 4},
             {"ranks_count", ranks.size()},
             {"missing_ranks_count", gone.size()},
             {"ranks", ranks},
             {"missing_ranks", gone}}}},
          {"ras", {{"collection_time_sec", 0.002}, {"timeouts_count", 0}}}};
}

std::vector<Finding> found_in(const Json& json) {
  const auto status = parse_answer(head + json.dump(2) + "\n");
  EXPECT_TRUE(status) << status.error().line();
  return status ? judge(*status) : std::vector<Finding>();
}

TEST(Status, SaysWhoIsBehind) {
  const auto status =
      parse_answer(head + document(Json::array({rank(0, 5), rank(3, 4)}), Json::array()).dump());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->nccl, "2.29.2");
  EXPECT_EQ(status->communicators.at(0).ranks.at(1).pid, 4714);
  EXPECT_EQ(found_in(document({rank(0, 5), rank(1, 5), rank(2, 5), rank(3, 4)}, Json::array())),
            (std::vector<Finding>{
                {Kind::behind, "0x9e37", 4, {3}, 1, "called AllReduce 4 times, the others 5"}}));
  EXPECT_TRUE(found_in(document({rank(0, 5), rank(1, 5), rank(2, 5, 7)}, Json::array())).empty());
}

TEST(Status, SaysWhoIsMissing) {
  EXPECT_EQ(found_in(document({rank(0, 5), rank(1, 5, 2)}, {missing(3, true), missing(2, false)})),
            (std::vector<Finding>{{Kind::dead, "0x9e37", 4, {3}, 1, "counts as dead"},
                                  {Kind::missing, "0x9e37", 4, {2}, 1, "does not answer"},
                                  {Kind::failed, "0x9e37", 4, {1}, 1, "has an error"}}));
}

TEST(Status, IsBounded) {
  Json gone = Json::array();
  for (int i = 0; i < 5'000; ++i) gone.push_back(missing(i, false));
  Json many = document(Json::array(), gone);
  for (int i = 0; i < 9; ++i) many["communicators"].push_back(many["communicators"][0]);
  const auto found = found_in(many);
  ASSERT_EQ(found.size(), most_findings);
  EXPECT_EQ(found[0].ranks.size(), most_named);
  EXPECT_EQ(found[0].count, 5'000u);
}

TEST(Status, OfAnotherShapeIsRefusedInALine) {
  Json wrong = document(Json::array({rank(0, 5)}), Json::array());
  wrong["communicators"][0]["ranks"][0]["rank"] = -1;
  Json large = document(Json::array({rank(0, 5)}), Json::array());
  large["communicators"][0]["ranks"][0]["rank"] = std::uint64_t{1} << 40;
  const std::string whole = head + document(Json::array({rank(0, 5)}), Json::array()).dump();
  for (const std::string& text :
       {std::string(), std::string("HTTP/1.1 400 Bad Request\r\n"),
        std::string("SERVER PROTOCOL 2\nERROR: Unknown command TIMEOUT 2\n"),
        std::string("SERVER PROTOCOL 2\nOK\nERROR: Unknown command SET FORMAT json\n"), head,
        head + "{", head + "[]", head + R"({"nccl_version": 7})", head + wrong.dump(),
        head + large.dump(), head + std::string(1'000'000, '['),
        whole.substr(0, whole.size() - 1)}) {
    const auto status = parse_answer(text);
    ASSERT_FALSE(status) << text.substr(0, 100);
    EXPECT_EQ(status.error().line().find('\n'), std::string::npos);
  }
}

TEST(Status, KindsHaveNames) {
  for (const Kind kind : {Kind::dead, Kind::missing, Kind::failed, Kind::behind}) {
    Kind read{};
    EXPECT_TRUE(read_kind(name_of(kind), read));
    EXPECT_EQ(read, kind);
  }
  Kind read{};
  EXPECT_FALSE(read_kind("", read));
}

}  // namespace
}  // namespace toprun::ras
