#include "bench/tables/import.h"

#include <gtest/gtest.h>

#include "bench/tables/json.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

Report import_all(std::string_view text, std::optional<Collective> collective = {}) {
  const auto report = import_report(text, {"a.log", collective});
  EXPECT_TRUE(report) << report.error().line();
  return report ? *report : Report{};
}

std::string error_of(std::string_view text) {
  const auto report = import_report(text, {"a.log", {}});
  return report ? "" : report.error().line();
}

constexpr std::string_view nccl_log =
    "# nccl-tests version 2.19.6 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 1 iters: 20 agg\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   6899 on   n1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6733 on   n2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                              out-of-place             in-place\n"
    "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n"
    "#   (B)  (elements)               (us)  (GB/s)  (GB/s)         (us)  (GB/s)  (GB/s)\n"
    "n1:6899:6899 [0] NCCL INFO Launch mode Parallel\n"
    "     8      2  float   sum    -1  34.27   0.01   0.02     0  1.2e+08  0.00  0.00   N/A\n"
    "    16      4  float   sum    -1  10.00   0.02   0.02     3    33.62  0.00  0.00     0\n"
    "# Out of bounds values : 3 FAILED\n"
    "# Avg bus bandwidth    : 0.01 \n"
    "#\n"
    "# Collective test concluded: all_reduce_perf\n";

void expect_nccl_log(const Report& report) {
  EXPECT_EQ(report.library, "NCCL 2.28.7");
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[1].host, "n2");
  EXPECT_EQ(report.devices[1].pid, 6733);
  EXPECT_EQ(report.devices[1].name, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(report.series.size(), 1u);
  const Series& series = report.series[0];
  EXPECT_EQ(series.collective, Collective::all_reduce);
  EXPECT_EQ(series.ranks, 2u);
  EXPECT_EQ(series.nodes, 2u);
  ASSERT_EQ(series.rows.size(), 2u);
  const Row& row = series.rows[1];
  EXPECT_EQ(row.bytes, 16u);
  EXPECT_EQ(row.count, 4u);
  EXPECT_EQ(row.redop, "sum");
  EXPECT_DOUBLE_EQ(row.out_of_place->times.mean_us, 10);
  EXPECT_DOUBLE_EQ(row.out_of_place->busbw, 0.02);
  EXPECT_EQ(row.out_of_place->wrong, 3u);
  EXPECT_EQ(row.out_of_place->times.samples, 0u);
  EXPECT_DOUBLE_EQ(series.rows[0].in_place->times.mean_us, 1.2e8);
  EXPECT_FALSE(series.rows[0].in_place->wrong);
}

TEST(Import, NcclText) {
  EXPECT_EQ(format_of(nccl_log), Format::nccl_text);
  expect_nccl_log(import_all(nccl_log));
}

TEST(Import, NcclTextWithPrefixesOfLaunchers) {
  for (const std::string prefix :
       {"[1,0]<stdout>:", "[1,0]<stdout>: ", "[n1:0]:", "[default0]:", "0: ", "  0: [n1:0]:"}) {
    std::string log = prefix;
    for (const char c : nccl_log) log += c == '\n' ? "\n" + prefix : std::string(1, c);
    SCOPED_TRACE(prefix);
    expect_nccl_log(import_all(log));
  }
}

// Half a log looks like a whole one, with a smaller largest size.
TEST(Import, NcclTextThatIsCutOffIsSaid) {
  const std::string log(nccl_log);
  EXPECT_EQ(import_all(log).notes, std::vector<std::string>{});
  const std::size_t end = log.find("# Out of bounds");
  const std::string missing =
      "a.log: the table of line 9 is perhaps cut off: the last line of nccl-tests is missing";
  EXPECT_EQ(import_all(log.substr(0, end)).notes, std::vector{missing});
  const std::size_t last_row = log.find("    16      4");
  EXPECT_EQ(import_all(log.substr(0, last_row)).notes,
            std::vector{missing + ", and after 8 B the table should continue up to 16 B"});
  EXPECT_EQ(import_all(log + log.substr(0, end)).notes.size(), 1u) << "the second run's";
}

// The first versions put no sign before them.
TEST(Import, NcclTextWithTheLastLinesOfTheFirstVersions) {
  const std::string log =
      "$ ./build/all_gather_perf\n"
      "#       size   count    type   time   algbw   busbw  error   time   algbw   busbw  error\n"
      "8388608 1048576   float    123.5   67.94   33.97  1e-07    120.7   69.51   34.76    N/A\n";
  EXPECT_EQ(import_all(log).notes.size(), 1u);
  EXPECT_TRUE(import_all(log + " Out of bounds values : 0 OK\n Avg bus bandwidth    : 34.3\n")
                  .notes.empty());
}

TEST(Import, NcclTextOfWhichTheLibraryTellsItsVersion) {
  std::string log(nccl_log);
  log.erase(0, log.find('\n') + 1);
  EXPECT_EQ(import_all(log).library, "");
  for (const auto& [line, library] :
       {std::pair("NCCL version 2.21.5+cuda12.4\n", "NCCL 2.21.5"),
        {"n1:6899:6899 [0] NCCL INFO NCCL version 2.21.5\n", "NCCL 2.21.5"},
        {"RCCL version : 2.22.3-HEAD:9b6d2c3\n", "RCCL 2.22.3"},
        {"NCCL version mismatch\n", ""}}) {
    EXPECT_EQ(import_all(line + log).library, library) << line;
  }
  EXPECT_EQ(nccl_text(import_all(log)).substr(0, 13), "# nccl-tests\n")
      << "no comma with nothing behind it";
  EXPECT_NE(report_json(import_all("NCCL version 2.21.5+cuda12.4\n" + log))
                .find("\"nccl_version\": 22105"),
            std::string::npos);
}

TEST(Import, NcclTextThatWePrint) {
  Report report = import_all(nccl_log);
  report.series.push_back(report.series[0]);
  report.series[1].collective = Collective::all_gather;
  report.series[1].rows.resize(1);
  const std::string text = nccl_text(report);
  Report again = import_all(text);
  again.library = report.library;  // it stands where nccl-tests has none
  EXPECT_EQ(nccl_text(again), text);
  EXPECT_EQ(again.series[1].collective, Collective::all_gather);
  EXPECT_EQ(again.devices.size(), 2u);
}

TEST(Import, NcclTextThatWePrintNamesItsBackend) {
  Report report = import_all(nccl_log);
  for (const auto& [library, backend] :
       std::vector<std::pair<std::string, std::string>>{{"tcp", "tcp"},
                                                        {"gloo 2.9.0", "gloo"},
                                                        {"nccl 2.27.3", "nccl"},
                                                        {"rccl 2.22.3", "nccl"},
                                                        {"tcp, gloo 2.9.0", ""}}) {
    report.version = "toprun 0.1.0";
    report.library = library;
    const Report again = import_all(nccl_text(report));
    EXPECT_EQ(again.version, report.version);
    EXPECT_EQ(again.library, library);
    EXPECT_EQ(again.series.front().backend, backend) << library;
  }
}

TEST(Import, NcclTextOfOldVersions) {
  const Report report = import_all(
      "$ ./build/all_gather_perf -b 8M\n"
      "#   Rank  0 Pid 112372 on localhost device  0 [0x00] A100-SXM4-40GB\n"
      "#   Rank  1 Pid 112372 on localhost device  1 [0x00] A100-SXM4-40GB\n"
      "#       size   count    type   time   algbw   busbw  error   time   algbw   busbw  error\n"
      "      0       0   float    34.27    0.00    0.00    N/A    33.57    0.00    0.00    N/A\n"
      "8388608 1048576   float    123.5   67.94   33.97  1e-07    120.7   69.51   34.76    N/A\n");
  ASSERT_EQ(report.series.size(), 1u);
  EXPECT_EQ(report.series[0].collective, Collective::all_gather);
  EXPECT_EQ(report.series[0].nodes, 1u);
  ASSERT_EQ(report.series[0].rows.size(), 2u);
  const Row& row = report.series[0].rows[1];
  EXPECT_DOUBLE_EQ(row.in_place->busbw, 34.76);
  EXPECT_FALSE(row.out_of_place->wrong);
  EXPECT_EQ(row.redop, "none");
}

TEST(Import, NcclTextWithIterationsAndTimestamps) {
  const Report report = import_all(
      "# Collective test starting: broadcast_perf\n"
      "# warmup iters: 1 iters: 20 agg iters: 1\n"
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
      "busbw "
      "#wrong i_min i_max i_p99 i_cv% timestamp\n"
      "8 2 float none 0 10 1 1 0 9 12 11.5 4.00 20 1 1 0 19 22 21.5 5.00 2026-01-02 03:04:05\n");
  const Row& row = report.series.at(0).rows.at(0);
  EXPECT_DOUBLE_EQ(row.out_of_place->times.cv, 0.04);
  EXPECT_DOUBLE_EQ(row.out_of_place->times.p99_us, 11.5);
  EXPECT_EQ(row.in_place->times.samples, 20u);
  EXPECT_EQ(row.root, 0);
}

constexpr std::string_view table_heading =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";

TEST(Import, NcclTextWhoseCollectiveIsEvident) {
  const struct {
    std::string row;
    std::optional<Collective> collective;  // unset: an error
  } rows[] = {
      {"32 8 float sum -1 1 1 1 0 1 1 1 0", Collective::all_reduce},
      {"32 4 float sum -1 1 1 1 0 1 1 1 0", Collective::reduce_scatter},
      {"32 8 float none -1 1 1 1 0 1 1 1 0", {}},
      {"32 8 float sum 0 1 1 1 0 1 1 1 0", {}},
      {"32 8 quad sum -1 1 1 1 0 1 1 1 0", {}},
  };
  const std::string devices = "# Rank 0 Pid 1 on a device 0 X\n# Rank 1 Pid 1 on a device 1 X\n" +
                              std::string(table_heading);
  for (const auto& row : rows) {
    const std::string log = devices + row.row;
    if (row.collective) {
      EXPECT_EQ(import_all(log).series.at(0).collective, *row.collective) << row.row;
      continue;
    }
    EXPECT_EQ(error_of(log),
              "a.log:4: the table does not name its collective; name the collective");
    EXPECT_EQ(import_all(log, Collective::alltoall).series.at(0).collective, Collective::alltoall);
  }
}

TEST(Import, NcclTextOfOnePlacement) {
  const Report report = import_all(std::string(table_heading) + "32 8 float sum -1     2 3 4 0\n",
                                   Collective::all_reduce);
  EXPECT_FALSE(report.series.at(0).rows.at(0).out_of_place);
  EXPECT_DOUBLE_EQ(report.series[0].rows[0].in_place->algbw, 3);
}

constexpr std::string_view nccl_json =
    R"({"version":2,"start_time":"2026-01-02 03:04:05","args":["/opt/all_reduce_perf","-b","8"],
"env":["NCCL_DEBUG=INFO","TOKEN=secret","broken"],"nccl_version":22807,
"config":{"nthreads":1,"ngpus":4,"devices":[
 {"rank":0,"group":0,"pid":1,"hostname":"n1","device":0,"device_hex":"0","device_info":"H100"},
 {"rank":4,"group":0,"pid":2,"hostname":"n2","device":0,"device_hex":"0","device_info":"H100"}]},
"results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
 "out_of_place":{"time":10.500000,"alg_bw":0.1,"bus_bw":0.175,"nwrong":0.000000},
 "out_of_place_per_iter":{"min_us":9,"max_us":12,"avg_us":10.5,"p50_us":10,"p95_us":11,"p99_us":12,
  "stdev_us":1,"cv_pct":9.5,"times_us":[9,12]},
 "in_place":{"time":10.500000,"alg_bw":0.1,"bus_bw":0.175,"nwrong":null},
 "actual_iterations":20}],
"out_of_bounds":{"count":0,"okay":"true"},"errors":["",  "no route"],"end_time":"x"})";

TEST(Import, NcclJson) {
  EXPECT_EQ(format_of(nccl_json), Format::nccl_json);
  const Report report = import_all(nccl_json);
  EXPECT_EQ(report.library, "NCCL 2.28.7");
  const std::vector<std::pair<std::string, std::string>> env = {{"NCCL_DEBUG", "INFO"}};
  EXPECT_EQ(report.env, env);  // without what may be secret
  EXPECT_EQ(report.errors, std::vector<std::string>{"no route"});
  const Series& series = report.series.at(0);
  EXPECT_EQ(series.ranks, 8u);
  EXPECT_EQ(series.nodes, 2u);
  EXPECT_EQ(series.collective, Collective::all_reduce);
  const Row& row = series.rows.at(0);
  EXPECT_EQ(row.root, -1);
  EXPECT_EQ(row.out_of_place->wrong, 0u);
  EXPECT_EQ(row.out_of_place->times.samples, 2u);
  EXPECT_DOUBLE_EQ(row.out_of_place->times.cv, 0.095);
  EXPECT_FALSE(row.in_place->wrong);
  EXPECT_EQ(row.in_place->times.samples, 0u);
}

TEST(Import, OurOwnJson) {
  const Report report = import_all(nccl_json);
  EXPECT_EQ(report_json(import_all(report_json(report))), report_json(report));
}

TEST(Import, AllReduceBench) {
  const Report report = import_all(
      "The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials, queued):\n\n"
      "| payload |    busbw   |    algbw   |\n"
      "| ------: | ---------: | ---------: |\n"
      "|   32KiB |   1.44GBps |   0.82GBps |\n"
      "|   16GiB | 482.26GBps | 275.58GBps |\n\n"
      "Environment:\n"
      "- software: torch=2.9.1+cu130, cuda=13.0, nccl=(2, 27, 7)\n");
  EXPECT_EQ(report.library, "NCCL 2.27.7");
  const Series& series = report.series.at(0);
  EXPECT_EQ(series.ranks, 8u);
  ASSERT_EQ(series.rows.size(), 2u);
  EXPECT_EQ(series.rows[0].bytes, 32768u);
  EXPECT_EQ(series.rows[1].bytes, 16ull << 30);
  EXPECT_EQ(series.rows[1].count, 4ull << 30);
  EXPECT_DOUBLE_EQ(series.rows[1].in_place->busbw, 482.26);
  EXPECT_NEAR(series.rows[1].in_place->times.mean_us, 62340.8, 0.1);
}

TEST(Import, AllReduceBenchOfOldVersions) {
  const Report report = import_all(
      "[n1:0]:The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks):\n"
      "[n1:0]: algbw: 44.947 GBps (359.6 Gbps)\n"
      "[n1:0]: busbw: 84.275 GBps (674.2 Gbps)\n"
      "The average bandwidth of all_reduce with a 4.0GB payload (20 trials, 4 ranks):\n"
      " algbw: 218.635 GBps (1749.1 Gbps)\n"
      " busbw: 327.952 GBps (2623.6 Gbps)\n");
  ASSERT_EQ(report.series.size(), 2u);
  EXPECT_EQ(report.series[0].ranks, 16u);
  EXPECT_EQ(report.series[1].ranks, 4u);
  EXPECT_EQ(report.series[0].nodes, 0u);
  const Row& row = report.series[0].rows.at(0);
  EXPECT_EQ(row.bytes, 4'000'000'000u);
  EXPECT_DOUBLE_EQ(row.in_place->algbw, 44.947);
  EXPECT_DOUBLE_EQ(row.in_place->busbw, 84.275);
}

TEST(Import, SuperBench) {
  for (const std::string_view text :
       {"nccl-bw/allreduce_8_time:0=12.5\nnccl-bw/allreduce_8_busbw:0=0.5\n"
        "nccl-bw/allreduce_4_busbw:0 = 0.25\nnccl-bw/allgather_8_busbw:0=1\n",
        "allreduce_8_time: 12.5\nallreduce_8_busbw: 0.5\nallreduce_4_busbw: 0.25\n"
        "allgather_8_busbw: 1\n",
        "{\"node\": \"n1\", \"nccl-bw:default/allreduce_8_time:0\": 12.5, "
        "\"nccl-bw:default/allreduce_8_busbw:0\": 0.5, \"nccl-bw/allreduce_4_busbw:0\": [0.25],"
        "\"allgather_8_busbw\":1}\n"}) {
    EXPECT_EQ(format_of(text), Format::superbench);
    const Report report = import_all(text);
    ASSERT_EQ(report.series.size(), 2u) << text;
    const bool is_first = report.series[0].collective == Collective::all_reduce;
    const Series& series = report.series[is_first ? 0 : 1];
    ASSERT_EQ(series.rows.size(), 2u);
    EXPECT_EQ(series.rows[0].bytes, 4u);
    EXPECT_DOUBLE_EQ(series.rows[0].out_of_place->busbw, 0.25);
    EXPECT_DOUBLE_EQ(series.rows[1].out_of_place->times.mean_us, 12.5);
    EXPECT_DOUBLE_EQ(series.rows[1].out_of_place->algbw, 8 / 12.5 / 1e3);
  }
}

TEST(Import, SuperBenchOfTwoNodes) {
  const Report report = import_all("allreduce_8_busbw:0=1\nallreduce_8_busbw:0=2\n");
  ASSERT_EQ(report.series.size(), 2u);
  EXPECT_DOUBLE_EQ(report.series[1].rows.at(0).out_of_place->busbw, 2);
}

TEST(Import, SaysWhatItCannotRead) {
  const std::string text_heading(table_heading);
  const std::pair<std::string, std::string> rows[] = {
      {"", "cannot read a.log: it is empty"},
      {"\n \n", "cannot read a.log: it is empty"},
      {std::string("\x1f\x8b\0\3", 4),
       "cannot read a.log: it is not a text file; is the file compressed, or is it the wrong "
       "file?"},
      {"{}",
       "a.log:1: neither a report of toprun bench nor a result of nccl-tests, all_reduce_bench.py "
       "or SuperBench"},
      {text_heading + "\nsegmentation fault\n", "a.log:1: no row of results follows this heading"},
      {text_heading + "8 2 float sum -1 1 1\n",
       "a.log:2: the row has 7 columns, but its heading has 13"},
      {text_heading + "8 2 float sum -1 1 nan 1 0 1 1 1 0\n",
       "a.log:2: \"nan\" is not a valid algbw"},
      {text_heading + "8 2 float sum -1 1 1e-320 1 0 1 1 1 0\n",
       "a.log:2: \"1e-320\" is not a valid algbw"},
      {text_heading + "8 -2 float sum -1 1 1 1 0 1 1 1 0\n",
       "a.log:2: \"-2\" is not a valid count"},
      {text_heading + "8 2 float sum x 1 1 1 0 1 1 1 0\n", "a.log:2: \"x\" is not a valid root"},
      {"| payload | busbw | algbw |\n| 1KiB | fast | 1GBps |\n",
       "a.log:2: the row does not consist of a payload, a busbw and an algbw in GBps"},
      {"The average bandwidth of all_reduce with a large payload\n",
       "a.log:1: the payload is not a number of GB"},
      {"The average bandwidth of all_reduce with a 4GB payload (4 ranks)\nbusbw: 1 GBps\n",
       "a.log:2: busbw comes before algbw"},
      {"\nallreduce_8_busbw=\n", "a.log:2: the value of the key is not a number"},
      {R"({"results": [], "out_of_place": 1, "args": []})", "cannot read a.log: env is not a list"},
      {"{\"results\": 1, \"out_of_place\"", "a.log:1:30: not JSON"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(error_of(text), expected);
  EXPECT_EQ(error_of(std::string(max_import_bytes + 1, ' ')),
            "cannot read a.log: the file is larger than 64 MiB");
}

}  // namespace
}  // namespace toprun::bench
