#include <gtest/gtest.h>

#include "node/worker/exit_evidence.h"

namespace toprun::worker {
namespace {

using std::chrono::milliseconds;

const SteadyTime start = std::chrono::steady_clock::now() - std::chrono::seconds(60);

std::string passed_on(const std::string& text, int exit_code, int signal = 0) {
  model::WorkerExit exit;
  exit.exit_code = exit_code;
  exit.signal = signal;
  const auto json = error_file_for_launcher(text, exit);
  return json ? *json : "error: " + json.error().line();
}

TEST(ErrorFile, GetsTheExitCodeWhereTorchrunPutsIt) {
  EXPECT_EQ(passed_on(R"({"message": {"message": "E: x"}})", 3),
            R"({"message":{"errorCode":3,"message":"E: x"}})");
  EXPECT_EQ(passed_on(R"({"message": {"errorCode": 1}})", 0, 11),
            R"({"message":{"errorCode":-11}})");
  EXPECT_EQ(passed_on(R"({"message": "E: x", "timestamp": 7})", 3),
            R"({"message":"E: x","timestamp":7})");
  EXPECT_EQ(passed_on(R"({"other": 1})", 3), R"({"other":1})");
}

TEST(ErrorFile, ThatIsNone) {
  for (const char* text : {"", "x", "[1]", "{\"message\": "}) {
    EXPECT_EQ(passed_on(text, 3), "error: the rank's error file is not a JSON object") << text;
  }
}

TEST(ErrorFile, IsRead) {
  const auto now = std::chrono::system_clock::now();
  const auto second = std::chrono::floor<std::chrono::seconds>(now - std::chrono::seconds(5));
  const std::string stamp = std::to_string(second.time_since_epoch().count());
  const auto parse = [&](const std::string& text, WallTime modified) {
    return parse_error_file(text, "/e.json", modified, start);
  };
  const auto seconds_ago = [](const model::ErrorFile& file) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - *file.raised).count();
  };

  const std::string record =
      R"({"message":{"message":"ValueError: x","extraInfo":{"timestamp":")" + stamp + R"("}}})";
  const auto recorded = parse(record, second + milliseconds(700));
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->message, "ValueError: x");
  const double expected = std::chrono::duration<double>(now - second).count();
  EXPECT_NEAR(seconds_ago(*recorded), expected - 0.7, 0.5);
  EXPECT_NEAR(seconds_ago(*parse(record, now - std::chrono::hours(1))), expected, 0.5);

  const auto plain = parse(R"({"message":"boom","timestamp":)" + stamp + "}", now);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->message, "boom");
  EXPECT_TRUE(plain->raised);
  // A clock change cannot move the error before the start or after the present.
  const auto early = parse(R"({"message":"boom","timestamp":1})", now);
  EXPECT_EQ(*early->raised, start);

  // The size shows milliseconds and nanoseconds; an invalid time is left out.
  for (const char* zeros : {"000", "000000", "000000000"}) {
    const auto fine = parse(R"({"message":"boom","timestamp":)" + stamp + zeros + "}", now);
    ASSERT_TRUE(fine && fine->raised) << zeros;
    EXPECT_NEAR(seconds_ago(*fine), expected, 0.5) << zeros;
  }
  for (const char* no_time : {"1e300", "-1", "-1e300", "9223372036854775807",
                              "18446744073709551615", "1e19", "\"99999999999999999999\""}) {
    const auto file = parse(R"({"message":"boom","timestamp":)" + std::string(no_time) + "}", now);
    ASSERT_TRUE(file) << no_time;
    EXPECT_FALSE(file->raised) << no_time;
  }

  for (const char* bad : {"", "{", "[]", "{}", "null", R"({"message"})"}) {
    EXPECT_FALSE(parse(bad, now)) << bad;
  }
  EXPECT_EQ(parse(R"({"message":{}})", now)->message, "");
}

}  // namespace
}  // namespace toprun::worker
