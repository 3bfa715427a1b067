#include "cli/benchmark/plot.h"

#include <gtest/gtest.h>

namespace toprun::benchmark {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

const pairs::Cluster cluster{
    {"n0", "n1", "n2", "n3"}, {{"core", "r0"}, {"core", "r0"}, {"core", "r1"}, {"core", "r1"}}, {}};

std::vector<pairs::Measured> measured_pairs() {
  std::vector<pairs::Measured> out;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = a + 1; b < 4; ++b) {
      pairs::Measured& pair = out.emplace_back();
      pair.a = a;
      pair.b = b;
      pair.gbps_ab = a / 2 == b / 2 ? 14 : 0.0377;
      pair.gbps_ba = pair.gbps_ab;
    }
  }
  return out;
}

pairs::Finding finding(pairs::Kind kind, pairs::Way way, std::vector<std::size_t> nodes,
                       std::vector<pairs::DomainPath> domains) {
  pairs::Finding out;
  out.kind = kind;
  out.way = way;
  out.nodes = std::move(nodes);
  out.domains = std::move(domains);
  out.reached = 0.0377;
  out.usual = 14;
  return out;
}

std::string drawn_with(std::vector<pairs::Finding> findings) {
  const auto picture = drawn(cluster, measured_pairs(), findings);
  return picture ? *picture : picture.error().line();
}

TEST(PairsPlot, HasTheFiguresAndNoFrameWhereNothingWasFound) {
  const std::string picture = drawn_with({});
  // In their cells and at the ends of the scale.
  EXPECT_EQ(count(picture, ">0.038</text>"), 9u);
  EXPECT_EQ(count(picture, ">14</text>"), 5u);
  EXPECT_EQ(count(picture, "class=\"frame\""), 0u);
  EXPECT_EQ(count(picture, "as first measured<"), 2u) << "the title and the heading";
}

TEST(PairsPlot, FramesAndNamesTheCulprit) {
  using pairs::Kind;
  using pairs::Way;
  const struct {
    pairs::Finding found;
    std::size_t frames;
    std::string_view name;
  } rows[] = {
      {finding(Kind::node, Way::both, {1}, {}), 2, ">n1: 0.038 Gbps, others 14"},
      {finding(Kind::node, Way::out, {1}, {}), 1, ", sending<"},
      {finding(Kind::uplink, Way::both, {}, {{"core", "r1"}}), 2, ">uplink of domain core/r1: "},
      {finding(Kind::between, Way::both, {}, {{"core", "r0"}, {"core", "r1"}}), 2, ">between "},
      {finding(Kind::pair, Way::in, {0, 3}, {}), 1, ">n0 – n3: "},
  };
  for (const auto& [found, frames, name] : rows) {
    const std::string picture = drawn_with({found});
    EXPECT_EQ(count(picture, "class=\"frame\""), frames) << name;
    EXPECT_EQ(count(picture, name), 1u) << name << picture;
  }
}

bench::Series series_of(std::string order, std::size_t ranks, std::vector<std::uint64_t> sizes) {
  bench::Series series;
  series.backend = "tcp";
  series.order = std::move(order);
  series.ranks = series.nodes = ranks;
  for (const std::uint64_t bytes : sizes) {
    bench::Row& row = series.rows.emplace_back();
    row.bytes = bytes;
    row.out_of_place = bench::Side{{100, 80, 100, 125, 0.1, 20}, 1, 1, {}};
  }
  return series;
}

std::string drawn_of(std::vector<bench::Series> series) {
  bench::Report report;
  report.start_time = "2026-11-28T10:00:00";
  report.series = std::move(series);
  const auto picture = drawn(report);
  return picture ? *picture : picture.error().line();
}

TEST(BenchPlot, SaysWhatWasRunAndNamesOnlyWhatDiffers) {
  const std::string sizes = drawn_of({series_of("topology", 4, {1024, 1 << 20})});
  EXPECT_EQ(count(sizes,
                  "<title id=\"title\">all_reduce over tcp, 4 ranks on 4 nodes, order "
                  "topology, 2026-11-28<"),
            1u)
      << sizes;
  EXPECT_EQ(count(sizes, ">busbw</text>"), 1u);
  const std::string orders =
      drawn_of({series_of("topology", 4, {1 << 20}), series_of("worst", 4, {1 << 20})});
  EXPECT_EQ(count(orders, "\">all_reduce over tcp, 4 ranks on 4 nodes, 1 MiB, 2026-11-28<"), 2u);
  EXPECT_EQ(count(orders, ">worst</text>"), 1u);
  const std::string ranks =
      drawn_of({series_of("topology", 2, {1024, 2048}), series_of("topology", 4, {1024, 2048})});
  EXPECT_EQ(count(ranks, "\">all_reduce over tcp, order topology, 2026-11-28<"), 2u) << ranks;
  EXPECT_EQ(count(ranks, ">2 ranks</text>"), 1u);
}

TEST(BenchPlot, ShowsTheSpreadAndSaysWhatItIs) {
  const std::string picture = drawn_of({series_of("topology", 4, {1024, 2048})});
  EXPECT_EQ(count(picture, ">Each bar "), 1u);
  for (const char* label : {">0.8</text>", ">0.9</text>", ">1</text>", ">1.2</text>"}) {
    EXPECT_EQ(count(picture, label), 1u) << label;
  }
}

}  // namespace
}  // namespace toprun::benchmark
