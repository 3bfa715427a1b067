#include "machine/stacks/layout.h"

#include <gtest/gtest.h>

#include "machine/stacks/stacks_testing.h"

namespace toprun::stacks {
namespace {

TEST(Layout, IsKnownOfVersionsThatDoNotDescribeThemselves) {
  for (int minor = 8; minor <= 12; ++minor) {
    ASSERT_TRUE(fixed_layout(minor)) << minor;
    EXPECT_EQ(fixed_layout(minor)->minor, minor);
  }
  EXPECT_FALSE(fixed_layout(7));
  EXPECT_FALSE(fixed_layout(13));
  EXPECT_FALSE(fixed_layout(0));
}

// The head of a runtime whose description has a number of its own in every field.
std::vector<std::byte> description(std::uint64_t version, bool free_threaded = false) {
  std::vector<std::byte> bytes(description_bytes);
  for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
    const std::uint64_t number = i;
    std::memcpy(bytes.data() + i * 8, &number, sizeof number);
  }
  const std::uint64_t numbers[] = {0, version, free_threaded ? 1u : 0u};
  std::memcpy(bytes.data(), numbers, sizeof numbers);
  std::memcpy(bytes.data(), description_cookie, 8);
  return bytes;
}

TEST(Layout, IsReadFromDescriptions) {
  const auto layout = described_layout(description(0x030d00f0));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->minor, 13);
  EXPECT_EQ(layout->interpreters, 40u / 8);
  EXPECT_EQ(layout->native_id, 200u / 8);
  EXPECT_EQ(layout->ascii_data, 560u / 8);
  EXPECT_EQ(layout->other_data, 560u / 8 + 16);
  EXPECT_EQ(layout->bytecode_copy, Layout::absent);
  EXPECT_EQ(layout->text_kind_bit, 2u);

  const auto newer = described_layout(description(0x030f00f0));
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->native_id, 248u / 8);
  EXPECT_EQ(newer->bytecode_copy, Layout::absent);  // the build has the GIL

  const auto without_gil = described_layout(description(0x030e00f0, true));
  ASSERT_TRUE(without_gil);
  EXPECT_EQ(without_gil->bytecode_copy, 304u / 8);
  EXPECT_EQ(without_gil->bytecode_copies, 392u / 8);
  EXPECT_EQ(without_gil->text_kind_bit, 8u);
}

TEST(Layout, OfAnUnknownVersionIsNotGuessed) {
  EXPECT_FALSE(described_layout(description(0x031000f0)));
  EXPECT_EQ(described_minor(description(0x031000f0)), 16);
  EXPECT_FALSE(described_layout(description(0x040d00f0)));
  EXPECT_EQ(described_minor(description(0x040d00f0)), 0);
  EXPECT_FALSE(described_layout({}));
}

TEST(Layout, WithImplausibleNumbersIsRefused) {
  auto bytes = description(0x030d00f0);
  const std::uint64_t huge = 100'000;
  std::memcpy(bytes.data() + 280, &huge, sizeof huge);  // code_object.filename
  EXPECT_FALSE(described_layout(bytes));
  bytes.resize(sizeof description_cookie - 1);
  EXPECT_FALSE(described_layout(bytes));
}

}  // namespace
}  // namespace toprun::stacks
