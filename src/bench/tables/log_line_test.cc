#include <gtest/gtest.h>

#include "bench/tables/import.h"

namespace toprun::bench {
namespace {

TEST(LogLine, ShowsWhatATerminalDoes) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"8 2 float", "8 2 float"},
      {"8 2 float\r", "8 2 float"},
      {"\x1b[32m8 2\x1b[0m float\x1b[K", "8 2 float"},
      {" 10 %\r 20 %\r8 2 float", "8 2 float"},
      {"\x1b[1m 20 %\r\x1b[0m8 2 float\r\r", "8 2 float"},
      {"\x1b]0;title\a8 2", "8 2"},
      {"\x1b]8;;x\x1b\\8 2", "8 2"},
      {"\xef\xbb\xbf# size", "# size"},
      {"8\xc2\xa0\xc2\xa0"
       "2",
       "8  2"},
      {"8 2\x1b[", "8 2"},
      {"8 2\x1b", "8 2"},
      {"µs", "µs"},
      {"", ""},
  };
  std::string buffer;
  for (const auto& [line, shown] : rows) EXPECT_EQ(shown_text(line, buffer), shown) << line;
}

TEST(LogLine, WhatStandsBehind) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"8 2 float 0", "8 2 float 0"},
      {"8 2 float 0  ", "8 2 float 0"},
      {"8 2 float 0 | |", "8 2 float 0"},
      {"\"8 2 float 0\",", "\"8 2 float 0"},
      {R"({"log":"8 2 0\n","stream":"stdout","time":"2026-05-16T16:39:51Z"})", R"({"log":"8 2 0)"},
      {"||", ""},
      {"", ""},
  };
  for (const auto& [line, own] : rows) EXPECT_EQ(without_closing(line), own) << line;
}

TEST(LogLine, TheWriterIsWhatStaysTheSame) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", ""},
      {"   ", ""},
      {"10.3.35.83: ", "10.3.35.83:"},
      {"10.3.235.183: ", "10.3.235.183:"},
      {"gpu-node-1: ", "gpu-node-1:"},
      {" 0: ", "0:"},
      {"[1,0]<stdout>:", "[1,0]<stdout>:"},
      {"[pod/x-0/main] 2026-05-16T16:39:51.218765432Z ", "[pod/x-0/main]"},
      {"2026-05-16T16:39:51Z ", ""},
      {"worker-0  | ", "worker-0|"},
      {"Fri May  6 10:12:33 2026<stdout>:", "<stdout>:"},
      {"Fri May 16 10:12:33 2026[1,0]<stdout>:", "[1,0]<stdout>:"},
      {"Nov 28 07:43:53 n1 job[77]: ", "n1job[77]:"},
      {"[2026-05-16 16:39:51,218] ", "[]"},
      {"2026/05/16 16:39:51.2 +02:00 n1 ", "n1"},
      {"  | 2026-05-16T16:39:55.218-07:00 | ", "||"},
      {"16:39:51 n1: ", "n1:"},
      {"1764315833.123 n1 ", "n1"},
      {"[   12.345678] ", "[]"},
      {"n1-12 ", "n1-12"},
      {"fe80::12:34:56: ", "fe80::12:34:56:"},
      {"00:11:22:33:44:55 ", "00:11:22:33:44:55"},
      {"(Worker pid=1706083) ", "(Workerpid=1706083)"},
  };
  for (const auto& [prefix, writer] : rows) EXPECT_EQ(writer_of(prefix), writer) << prefix;
}

}  // namespace
}  // namespace toprun::bench
