#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/os_testing.h"
#include "machine/meter/meter.h"

namespace toprun::meter {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

TEST(Gpus, AreReadFromNvidiaSmi) {
  const auto gpus = parse_nvidia_smi(
      "GPU-5c1b, 97, 70123, 81559\nGPU-77aa, [N/A], [N/A], 81559\nno line of a GPU\n\n"
      "GPU-1111, [N/A], 1024, 40960\n"
      "GPU-2222, [GPU requires reset], [GPU requires reset], [GPU requires reset]\n"
      "[Unknown Error], [Unknown Error], [Unknown Error], [Unknown Error]\n"
      "GPU-3333, [Not Supported], [Insufficient Permissions], 40960\n"
      "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n");
  const std::vector<NamedGpu> expected = {
      {"GPU-5c1b", Gpu{97, 70'123 * mebibyte, 81'559 * mebibyte}},
      {"GPU-77aa", {}},
      {},
      {"GPU-1111", Gpu{{}, 1024 * mebibyte, 40'960 * mebibyte}},
      {"GPU-2222", {}},
      {"[Unknown Error]", {}},
      {"GPU-3333", {}}};
  EXPECT_EQ(gpus, expected);
}

TEST(Gpus, AreReadFromAmdsDriver) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, const char* text) {
    const std::filesystem::path file = folder.path() / "sys/class/drm" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  write("card0/device/vendor", "0x1a03\n");  // the board's own
  for (const char* card : {"card1", "card10", "card2"}) {
    write(std::string(card) + "/device/gpu_busy_percent", card[4] == '2' ? "41\n" : "250\n");
    write(std::string(card) + "/device/mem_info_vram_used", "1048576\n");
    write(std::string(card) + "/device/mem_info_vram_total", "-1\n");
  }
  write("card1-DP-1/device/gpu_busy_percent", "1\n");
  const auto gpus = read_gpus(Environment(), folder.path());
  const std::vector<NamedGpu> expected = {
      {"", Gpu{100, mebibyte, 0}}, {"", Gpu{41, mebibyte, 0}}, {"", Gpu{100, mebibyte, 0}}};
  EXPECT_EQ(gpus, expected);
}

TEST(Gpus, BelongToRanksByTheVisibleOnes) {
  const std::vector<NamedGpu> gpus = {{"GPU-a1", {}}, {"GPU-b2", {}}, {"GPU-c3", {}}};
  EXPECT_EQ(gpu_of(1, std::nullopt, gpus), 1u);
  EXPECT_EQ(gpu_of(3, std::nullopt, gpus), std::nullopt);
  EXPECT_EQ(gpu_of(1, "2, 0", gpus), 0u);
  EXPECT_EQ(gpu_of(2, "2,0", gpus), std::nullopt);
  EXPECT_EQ(gpu_of(5, "1", gpus), 1u);
  EXPECT_EQ(gpu_of(0, "GPU-b", gpus), 1u);
  EXPECT_EQ(gpu_of(0, "GPU-x", gpus), std::nullopt);
  EXPECT_EQ(gpu_of(0, "", gpus), std::nullopt);
  EXPECT_EQ(gpu_of(0, "-1", gpus), std::nullopt);
  EXPECT_EQ(gpu_of(0, "7", gpus), std::nullopt);
}

TEST(Gpus, AreLookedAtByOneAtATimeAndRarely) {
  using std::chrono::milliseconds;
  constexpr milliseconds at_once{0};
  const SteadyTime start{};
  const std::vector<NamedGpu> one = {{"GPU-a1", {}}};
  LastGpus gpus;
  EXPECT_TRUE(gpus.begin(start));
  EXPECT_FALSE(gpus.begin(start + nvidia_limit));
  EXPECT_TRUE(gpus.read(at_once).empty());
  gpus.end(one, start);
  EXPECT_EQ(gpus.read(at_once), one);
  EXPECT_FALSE(gpus.begin(start + between_gpu_looks - milliseconds(1)));
  EXPECT_TRUE(gpus.begin(start + between_gpu_looks));
  EXPECT_EQ(gpus.read(at_once), one);  // until the new ones are there
  gpus.end({}, start);
  EXPECT_TRUE(gpus.read(at_once).empty());
  EXPECT_FALSE(gpus.begin(start + between_gpu_looks));
  EXPECT_TRUE(gpus.begin(start + after_vain_gpu_look));
}

TEST(Gpus, AreWaitedForWhileSomebodyLooks) {
  LastGpus gpus;
  ASSERT_TRUE(gpus.begin({}));
  std::thread looks([&] { gpus.end({{"GPU-a1", {}}}, {}); });
  EXPECT_EQ(gpus.read(std::chrono::minutes(1)).size(), 1u);
  looks.join();
}

}  // namespace
}  // namespace toprun::meter
