#include <gtest/gtest.h>

#include "base/text/text.h"
#include "bench/tables/import.h"
#include "bench/tables/json.h"
#include "bench/tables/live_table.h"

namespace toprun::bench {
namespace {

// How people paste and keep the output of nccl-tests: our figures in the forms of real logs.
constexpr std::string_view all_reduce_text =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   6899 on   n1 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6733 on   n2 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                      out-of-place            in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
    "(us)\n"
    "           8             2     float     sum      -1    12.90    0.00    0.00      0    12.87 "
    "   0.00    0.00      0\n"
    "    16777216       4194304     float     sum      -1   262.90   63.82   63.82    N/A   261.90 "
    "  64.06   64.06    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 31.97\n";

std::optional<Report> imported(std::string_view text) {
  auto report = import_report(text, {"a.log", {}});
  EXPECT_TRUE(report) << report.error().line() << "\n" << text.substr(0, 200);
  if (!report) return std::nullopt;
  return *std::move(report);
}

std::string refusal_of(std::string_view text) {
  const auto report = import_report(text, {"a.log", {}});
  return report ? "" : report.error().line();
}

// "all_reduce, 2 ranks on 2 nodes: 8=0.00 16777216=63.82" of each series.
std::string reported(const Report& report) {
  std::string out;
  for (const Series& series : report.series) {
    out += std::string(facts_of(series.collective).name) + ranks_text(series);
    if (!series.source.empty()) out += ", " + series.source;
    out += ":";
    for (const Row& row : series.rows) {
      const Side& side = row.out_of_place ? *row.out_of_place : *row.in_place;
      out += fmt::format(" {}={:.2f}", row.bytes, side.busbw);
    }
    out += "\n";
  }
  return out;
}

constexpr const char* right = "all_reduce, 2 ranks on 2 nodes: 8=0.00 16777216=63.82\n";

std::string with_prefix(std::string_view prefix, std::string_view text = all_reduce_text) {
  std::string out;
  int second = 10;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    std::string own(prefix);
    // Each line has another time.
    if (const auto at = own.find("SS"); at != own.npos) {
      own.replace(at, 2, std::to_string(second++));
    }
    out += own + std::string(line) + "\n";
  }
  return out;
}

TEST(ImportForms, Prefixes) {
  for (const char* prefix : {"0: ",
                             " 0: ",
                             "  0: ",
                             "000: ",
                             "[1,0]<stdout>:",
                             "[1,0]<stdout>: ",
                             "        [1,0]<stdout>:",
                             "[n1:0]:",
                             "[default0]:",
                             "[default0]: ",
                             "[0] ",
                             "[rank0]: ",
                             "  0: [n1:0]:",
                             "10.3.35.83: ",
                             "10.3.235.183: ",
                             "gpu-node-1: ",
                             "MLVM2: MLVM2: ",
                             "[pod/nccl-0/main] ",
                             "[pod/nccl-0/main] 2026-05-16T16:39:SS.218765432Z ",
                             "2026-05-16T16:39:SS.218765432Z ",
                             "2026-05-16T16:39:SSZ ",
                             "2026-05-16 16:39:SS,218 INFO ",
                             "[2026-05-16 16:39:SS] ",
                             "  | 2026-05-16T16:39:SS.218-07:00 | ",
                             "worker-0  | ",
                             "worker-0  | 2026-05-16T16:39:SS.2Z ",
                             "Fri May 16 10:12:SS 2026<stdout>:",
                             "Fri May  6 10:12:SS 2026[1,0]<stdout>:",
                             "Nov 28 07:43:SS n1 job[77]: ",
                             "[prterun-n1-77@1,0]<stdout>: ",
                             "(RayWorker pid=1706083) ",
                             "(RayWorker pid=927, ip=10.1.0.2) ",
                             "[36m(RayWorker pid=927)[0m ",
                             "> ",
                             "    ",
                             "\t",
                             "[1] 10:33:SS [n1] ",
                             "1764315833.1SS n1 | ",
                             "\x1b[32mn1\x1b[0m | ",
                             "\x1b[0;33m[n1]\x1b[0m: "}) {
    const auto report = imported(with_prefix(prefix));
    if (report) EXPECT_EQ(reported(*report), right) << prefix;
    if (report) EXPECT_EQ(report->devices.size(), 2u) << prefix;
  }
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

TEST(ImportForms, WholeFiles) {
  const std::string plain(all_reduce_text);
  const std::pair<const char*, std::string> rows[] = {
      {"Windows' line ends", replaced(plain, "\n", "\r\n")},
      {"a terminal's line ends", replaced(plain, "\n", "\r\r\n")},
      {"colours", replaced(replaced(plain, "#", "\x1b[36m#"), "\n", "\x1b[0m\n")},
      {"a progress bar in front of each line", replaced(plain, "\n", "\n 45 %|####    |\r")},
      {"blanks of a web page", replaced(plain, "  ", "\xc2\xa0 ")},
      {"the byte order mark of an editor", "\xef\xbb\xbf" + plain},
      {"a web page's table", replaced(replaced(plain, "   ", " "), "\n", " | |\n")},
      {"a list of JSON, as of Ansible", replaced("        \"" + plain, "\n", "\",\n        \"")},
      {"lines of JSON, as of Docker",
       "{\"log\":\"" + replaced(plain, "\n",
                                "\\n\",\"stream\":\"stdout\",\"time\":\"2026-05-16T16:39:51Z\"}\n"
                                "{\"log\":\"")},
      {"NCCL's lines in between",
       replaced(plain, "\n  ",
                "\nn1:6899:6899 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via X\n  ")},
      {"of rccl-tests", replaced(plain, "# Using devices",
                                 "rccl-tests: Version develop:5b27b96\n"
                                 "# Using devices")},
      {"cut off in the last row", plain + "    33554432       8388608     float     sum      -1   "
                                          "400.10   83.87"},
      {"cut off after one placement", plain +
                                          "    33554432       8388608     float     sum      -1 "
                                          "  400.10   83.87   83.87      0\n"},
      {"a row that NCCL's line tears", plain + "    33554432       8388608     float  n1:6899:6899 "
                                               "[0] NCCL INFO x\n   sum      -1   400.10\n"},
      {"two rows in one line", plain +
                                   "    33554432       8388608     float     sum      -1   400.1 "
                                   "  83.87   83.87      0    400.1   83.87   83.87      0     "
                                   "67108864      16777216     float     sum      -1   800.1 "
                                   "  83.87   83.87      0    800.1   83.87   83.87      0\n"},
      {"a row with a torn figure", plain +
                                       "    33554432       8388608     float     sum      -1   "
                                       "400.1   83.87   8[0]3.87      0    400.1   83.87   83.87 "
                                       "     0\n"},
  };
  for (const auto& [name, text] : rows) {
    const auto report = imported(text);
    if (report) EXPECT_EQ(reported(*report), right) << name;
    const bool is_torn = text.contains("33554432");
    if (report) EXPECT_EQ(report->notes.size(), is_torn ? 1u : 0u) << name;
  }
}

// The headings of nccl-tests' and rccl-tests' versions, and a row of each.
TEST(ImportForms, Headings) {
  const struct {
    const char* version;
    const char* collective;
    const char* text;
    const char* reported;
  } rows[] = {
      {"NCCL 1", "",
       "# Using devices\n#   Device  0 ->  0 [0x0a] GeForce GTX TITAN X\n"
       "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw "
       " "
       "busbw      res\n"
       "    10000000      10000000    char     sum    1.628   6.14   9.21    0e+00    1.932   5.18 "
       "  "
       "7.77    0e+00\n",
       "all_reduce, 4 ranks: 10000000=9.21\n"},
      {"2.0: devices without pid, one behind the heading", "",
       "# NCCL Tests compiled with NCCL 2.4\n# Using devices\n"
       "#   Rank  0 on w-3jq5 device  0 [0x00] Tesla V100-SXM2-32GB\n\n"
       "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw "
       " "
       "busbw      res\n"
       "#   Rank  1 on w-0khr device  0 [0x00] Tesla V100-SXM2-32GB\n"
       "     1048576        262144   float     sum    2.059   0.51   0.51      N/A    3.314   0.32 "
       "  "
       "0.32      N/A\n",
       "all_reduce, 2 ranks on 2 nodes: 1048576=0.51\n"},
      {"2.4: rows behind a sharp sign", "",
       "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw "
       " "
       "busbw      res\n"
       "#     1048576        262144   float     sum    2.059   0.51   0.51      N/A    3.314   "
       "0.32   "
       "0.32      N/A\n",
       "all_reduce, 2 ranks: 1048576=0.51\n"},
      {"1.0: with an operation and no root", "",
       "#   Rank  0 Pid  17754 on ds-ml-01 device  0 [0x06] Tesla V100\n"
       "#   Rank  1 Pid  17755 on ds-ml-01 device  1 [0x07] Tesla V100\n"
       "#       size         count      type   redop     time   algbw   busbw  error     time   "
       "algbw "
       "  busbw  error\n"
       "   134217728      33554432     float     sum   1230.0  109.12  109.12  1e-07   1230.1  "
       "109.11 "
       " 109.11  1e-07\n",
       "all_reduce, 2 ranks on 1 node: 134217728=109.12\n"},
      {"1.0: without an operation", "all_gather",
       "#       size         count    type     time   algbw   busbw  error     time   algbw   "
       "busbw  "
       "error\n"
       "   134217728       4194304   float   1230.0  109.12   95.48  0e+00   1230.1  109.11   "
       "95.47  "
       "0e+00\n",
       "all_gather, 8 ranks: 134217728=95.48\n"},
      {"rccl: an operation that the heading lacks", "alltoall",
       "#       size         count      type     time   algbw   busbw  error     time   algbw   "
       "busbw "
       " error\n"
       "   134217728       4194304     float    none   1230.0  109.12   95.48  0e+00   1230.1  "
       "109.11 "
       "  95.47  0e+00\n",
       "alltoall, 8 ranks: 134217728=95.48\n"},
      {"1.0: broadcast with its root", "broadcast",
       "#       size         count      type    root     time   algbw   busbw  error     time   "
       "algbw "
       "  busbw  error\n"
       "   134217728      33554432     float       0   1230.0  109.12  109.12  0e+00   1230.1  "
       "109.11 "
       " 109.11  0e+00\n",
       "broadcast: 134217728=109.12\n"},
      {"2.13: a list of which the last line is left", "",
       "#  Rank 71 Group  0 Pid  14840 on gb200-171 device  3 [0x01] NVIDIA Graphics Device\n#\n"
       "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "   536870912     134217728     float     sum      -1   1806.7  297.16  586.06      0   "
       "1835.9 "
       " 292.43  576.74      0\n",
       "all_reduce, 72 ranks: 536870912=586.06\n"},
      {"2.13: a list that is cut, figures that tell nothing", "broadcast",
       "#  Rank  0 Group  0 Pid  14840 on n1 device  0 [0x01] NVIDIA H100\n#  ...\n"
       "#  Rank 15 Group  0 Pid  14840 on n2 device  7 [0xda] NVIDIA H100\n"
       "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "   536870912     134217728     float    none       0   1806.7  297.16  297.16      0   "
       "1835.9 "
       " 292.43  292.43      0\n",
       "broadcast, at least 16 ranks: 536870912=297.16\n"},
      {"no list, figures too coarse", "",
       "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "          64            16     float     sum      -1    12.90    0.01    0.02      0    "
       "12.87 "
       "   0.01    0.02      0\n",
       "all_reduce, at least 2 ranks: 64=0.02\n"},
      {"2.13: the count tells the ranks", "all_gather",
       "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "     8388608        131072     float    none      -1   350.90   23.91   22.41    N/A   "
       "345.00 "
       "  24.31   22.79    N/A\n",
       "all_gather, 16 ranks: 8388608=22.41\n"},
      {"2.13: a list shortened to one node", "",
       "#  Rank  0 Group  0 Pid  1 on n1 device  0 [0x01] NVIDIA H100\n"
       "#  Rank  1 Group  0 Pid  2 on n1 device  1 [0x02] NVIDIA H100\n"
       "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "  1073741824     268435456     float     sum      -1   5400.0  198.84  372.83      0   "
       "5400.0 "
       " 198.84  372.83      0\n",
       "all_reduce, 16 ranks: 1073741824=372.83\n"},
      {"2.14: communicators of a half each", "",
       "#  Rank  0 Group  0 Pid  1 on n1 device  0 [0x01] NVIDIA H100\n"
       "#  Rank  1 Group  1 Pid  2 on n1 device  1 [0x02] NVIDIA H100\n"
       "#  Rank  2 Group  0 Pid  3 on n2 device  0 [0x01] NVIDIA H100\n"
       "#  Rank  3 Group  1 Pid  4 on n2 device  1 [0x02] NVIDIA H100\n"
       "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "  1073741824     268435456     float     sum      -1   5400.0  198.84  198.84      0   "
       "5400.0 "
       " 198.84  198.84      0\n",
       "all_reduce, 2 ranks: 1073741824=198.84\n"},
      {"2.17: the program is named, the processor's time", "",
       "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
       "# Collective test starting: reduce_scatter_perf\n"
       "#       size         count      type   redop    root  cputime   algbw   busbw  #wrong  "
       "cputime   algbw   busbw  #wrong\n"
       "     8388608        131072     float     sum      -1   350.90   23.91   22.41       0   "
       "345.00 "
       "  24.31   22.79       0\n",
       "reduce_scatter, 16 ranks: 8388608=22.41\n"},
      {"2.17: with iterations and a time stamp", "",
       "# Collective test starting: all_reduce_perf\n# warmup iters: 1 iters: 20 agg iters: 1\n"
       "#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%  "
       "time  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%  timestamp\n"
       "8388608 2097152 float sum -1 215.3 38.96 73.05 0 210 220 219 1.5 180.0 46.60 87.38 0 170 "
       "190 "
       "189 1.5 2026-01-02 03:04:05\n",
       "all_reduce, 16 ranks: 8388608=73.05\n"},
      {"a heading without its sharp sign", "",
       "       size         count      type   redop    root     time   algbw   busbw #wrong     "
       "time "
       "  algbw   busbw #wrong\n"
       "     8388608       2097152     float     sum      -1    91.10   92.08  161.14      0    "
       "94.94 "
       "  88.36  154.63      0\n",
       "all_reduce, 8 ranks: 8388608=161.14\n"},
      {"milliseconds of the first versions", "",
       "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw "
       " "
       "busbw      res\n"
       "    67108864      67108864    char     sum   11.534   5.82   5.82    0e+00   11.570   5.80 "
       "  "
       "5.80    0e+00\n",
       "all_reduce, 2 ranks: 67108864=5.82\n"},
  };
  for (const auto& row : rows) {
    const auto report = import_report(row.text, {"a.log", find_collective(row.collective)});
    ASSERT_TRUE(report) << row.version << ": " << report.error().line();
    EXPECT_EQ(reported(*report), row.reported) << row.version;
  }
}

TEST(ImportForms, TimesOfTheFirstVersionsAreMilliseconds) {
  const auto report = imported(
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
      "busbw      res\n    67108864      67108864    char     sum   11.534   5.82   5.82    0e+00  "
      " "
      "11.570   5.80   5.80    0e+00\n");
  EXPECT_DOUBLE_EQ(report->series.at(0).rows.at(0).in_place->times.mean_us, 11570);
}

std::string other_table() {
  return replaced(replaced(std::string(all_reduce_text), "63.82", "31.91"), "n1", "n7");
}

std::string interleaved(const std::string& a, const std::string& b) {
  const auto first = split(a, '\n');
  const auto second = split(b, '\n');
  std::string out;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) out += std::string(first[i]) + "\n";
    if (i < second.size()) out += std::string(second[i]) + "\n";
  }
  return out;
}

TEST(ImportForms, TwoProcessesInOneFile) {
  const std::string both =
      interleaved(with_prefix("worker-0  | "), with_prefix("worker-11 | ", other_table()));
  const auto report = imported(both);
  EXPECT_EQ(reported(*report),
            "all_reduce, 2 ranks on 2 nodes, worker-0: 8=0.00 16777216=63.82\n"
            "all_reduce, 2 ranks on 2 nodes, worker-11: 8=0.00 16777216=31.91\n");
  // Nothing tells them apart.
  EXPECT_EQ(refusal_of(interleaved(std::string(all_reduce_text), other_table())),
            "a.log:16: two processes' tables are mixed line by line, and no prefix shows which "
            "process printed a row; let each process write its own file, or let the launcher mark "
            "its lines (srun -l, mpirun --tag-output)");
  // One after the other they are two results; a run that ended before its first row is none.
  EXPECT_EQ(reported(*imported(std::string(all_reduce_text) + other_table())),
            "all_reduce, 2 ranks on 2 nodes: 8=0.00 16777216=63.82\n"
            "all_reduce, 2 ranks on 2 nodes: 8=0.00 16777216=31.91\n");
  const std::string aborted(all_reduce_text.substr(0, all_reduce_text.find("           8 ")));
  EXPECT_EQ(reported(*imported(aborted + "Test NCCL failure\n" + std::string(all_reduce_text))),
            right);
}

TEST(ImportForms, MessagesAreTrue) {
  const std::string heading(all_reduce_text.substr(0, all_reduce_text.find("           8 ")));
  const std::string row(
      all_reduce_text.substr(heading.size(), all_reduce_text.find("# Out of") - heading.size()));
  EXPECT_EQ(refusal_of(heading), "a.log:8: no row of results follows this heading");
  EXPECT_EQ(refusal_of(with_prefix("n1: ", heading) + with_prefix("n2: ", row)),
            "a.log:10: this row has another prefix than the heading in line 8, so this row is "
            "perhaps from another process");
  EXPECT_EQ(refusal_of("nothing of this kind\n"),
            "a.log:1: neither a report of toprun bench nor a result of nccl-tests, "
            "all_reduce_bench.py or SuperBench");
}

TEST(ImportForms, AllReduceBenchWithPrefixes) {
  const std::string text =
      "The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials, queued):\n"
      "| payload |    busbw   |    algbw   |\n"
      "| ------: | ---------: | ---------: |\n"
      "|   32KiB |   1.44GBps |   0.82GBps |\n";
  const std::string old =
      "The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks):\n"
      " algbw: 44.947 GBps (359.6 Gbps)\n busbw: 84.275 GBps (674.2 Gbps)\n";
  for (const char* prefix : {"", "10.3.35.83: ", "worker-0  | ", "[pod/x/y] ",
                             "[n1:0]:", "2026-05-16T16:39:SS.2Z ", "\x1b[32mn1\x1b[0m | "}) {
    const auto report = imported(with_prefix(prefix, text));
    if (report) EXPECT_EQ(reported(*report), "all_reduce, 8 ranks: 32768=1.44\n") << prefix;
    const auto older = imported(with_prefix(prefix, old));
    if (older) EXPECT_EQ(reported(*older), "all_reduce, 16 ranks: 4000000000=84.28\n") << prefix;
  }
}

TEST(ImportForms, SuperBenchNamesItsResults) {
  const std::pair<const char*, const char*> rows[] = {
      {"nccl-bw/allreduce_8_busbw:0=1\nnccl-bw/allreduce_8_busbw:0=2\n"
       "nccl-bw/allreduce_8_busbw:0=3\n",
       "all_reduce, result 1 of 3: 8=1.00\nall_reduce, result 2 of 3: 8=2.00\n"
       "all_reduce, result 3 of 3: 8=3.00\n"},
      {"{\"nccl-bw/allreduce_8_busbw:0\": 1, \"node\": \"n1\"}\n"
       "{\"node\": \"n2\", \"nccl-bw/allreduce_8_busbw:0\": 2}\n",
       "all_reduce, n1: 8=1.00\nall_reduce, n2: 8=2.00\n"},
      {"{\"nccl-bw/allreduce_8_busbw:0\": 1, \"node\": \"n1\"}\n"
       "{\"node\": \"n1\", \"nccl-bw/allreduce_8_busbw:0\": 2}\n",
       "all_reduce, n1, result 1 of 2: 8=1.00\nall_reduce, n1, result 2 of 2: 8=2.00\n"},
      {"nccl-bw:pair/allreduce_0_0:8388608_busbw:0=10\n"
       "nccl-bw:pair/allreduce_0_1:8388608_busbw:0=20\n",
       "all_reduce, group 0_0: 8388608=10.00\nall_reduce, group 0_1: 8388608=20.00\n"},
      {"rccl-bw/allgather_8_busbw:0=1\n", "all_gather: 8=1.00\n"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(reported(*imported(text)), expected);
}

TEST(ImportForms, WhatIsNotKnownIsNull) {
  const auto report = imported("nccl-bw/allreduce_8388608_algbw:0=12.5\n");
  const std::string json = report_json(*report);
  for (const char* field : {"count", "type", "redop", "min", "median", "p99", "cv", "nodes",
                            "ranks", "bus_bw", "wire_floor_gbps"}) {
    EXPECT_TRUE(json.contains(fmt::format("\"{}\": null", field))) << field << json;
  }
  const auto again = parse_report(json, "b.json");
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(report_json(*again), json);
}

TEST(ImportForms, OperationsHaveTheirColumn) {
  std::string text =
      "# Collective test starting: all_reduce_perf\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (const char* op : {"sum", "max"}) {
    text += fmt::format("1024 256 float {} -1 10 1 1 0 10 1 1 0\n", op);
  }
  const auto report = imported(text);
  const TableColumns columns = columns_of(report->series[0]);
  EXPECT_EQ(
      live_heading(report->series[0], columns) +
          live_row(report->series[0], report->series[0].rows[1], columns),
      "all_reduce over nccl, at least 2 ranks\n"
      "                                   out of place                       in place\n"
      "     size  redop         time    algbw    busbw         time    algbw    busbw   wrong\n"
      "                                  GB/s     GB/s                  GB/s     GB/s\n"
      "    1 KiB  max       10.00 µs     1.00     1.00     10.00 µs     1.00     1.00       0\n");
  EXPECT_EQ(live_heading(report->series[0]).find("redop"), std::string::npos);
}

}  // namespace
}  // namespace toprun::bench
