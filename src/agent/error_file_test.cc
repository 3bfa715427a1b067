#include "agent/error_file.h"

#include <gtest/gtest.h>

namespace toprun::agent {
namespace {

std::string passed_on(const std::string& text, int exit_code, int signal = 0) {
  WorkerExit exit;
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
    EXPECT_EQ(passed_on(text, 3), "error: the error file is not a JSON object") << text;
  }
}

}  // namespace
}  // namespace toprun::agent
