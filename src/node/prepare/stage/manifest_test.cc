#include "node/prepare/stage/manifest.h"

#include <gtest/gtest.h>

namespace toprun::stage {
namespace {

Entry folder(std::uint32_t parent, std::string name, std::uint32_t first_chunk = 0) {
  return {Entry::Kind::folder, 0755, parent, std::move(name), {}, 0, 0, first_chunk};
}
Entry file(std::uint32_t parent, std::string name, std::uint64_t size, std::uint32_t first_chunk) {
  return {Entry::Kind::file, 0644, parent, std::move(name), {}, size, -7, first_chunk};
}
Entry link(std::uint32_t parent, std::string name, std::string target, std::uint32_t first_chunk) {
  return {Entry::Kind::link, 0777, parent, std::move(name), std::move(target), 0, 0, first_chunk};
}

// env/{a, b/{c -> ../a, d, empty}, e}: a has two chunks and a bit, d one, e one.
Manifest sample() {
  Manifest manifest;
  manifest.entries = {folder(0, ""),
                      file(0, "a", 2 * chunk_bytes + 5, 0),
                      folder(0, "b", 3),
                      link(2, "c", "../a", 3),
                      file(2, "d", 10, 3),
                      file(2, "empty", 0, 4),
                      file(0, "e", chunk_bytes, 4)};
  manifest.hashes.resize(5);
  for (std::size_t i = 0; i < manifest.hashes.size(); ++i) {
    manifest.hashes[i].fill(static_cast<std::uint8_t>(i));
  }
  return manifest;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const auto read = Manifest::decode(sample().encode());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(*read, sample());
}

TEST(Manifest, KnowsPathsAndChunks) {
  const Manifest manifest = sample();
  EXPECT_EQ(manifest.path_of(0), "");
  EXPECT_EQ(manifest.path_of(1), "a");
  EXPECT_EQ(manifest.path_of(4), "b/d");
  EXPECT_EQ(manifest.bytes(), 3 * chunk_bytes + 15);
  EXPECT_EQ(manifest.files(), 4u);
  const std::size_t entries[] = {1, 1, 1, 4, 6};
  const std::size_t sizes[] = {chunk_bytes, chunk_bytes, 5, 10, chunk_bytes};
  for (std::uint32_t chunk = 0; chunk < 5; ++chunk) {
    EXPECT_EQ(manifest.entry_of(chunk), entries[chunk]) << chunk;
    EXPECT_EQ(manifest.chunk_size(manifest.entries[entries[chunk]], chunk), sizes[chunk]) << chunk;
  }
}

TEST(Manifest, OfOneFile) {
  Manifest manifest{{file(0, "", 3, 0)}, {Hash{}}};
  EXPECT_EQ(Manifest::decode(manifest.encode()), manifest);
  EXPECT_EQ(manifest.entry_of(0), 0u);
}

TEST(Manifest, RefusesWhatNoTreeCanBe) {
  const auto with = [](std::size_t entry, auto change) {
    Manifest manifest = sample();
    change(manifest.entries[entry]);
    return manifest.encode();
  };
  const std::string good = sample().encode();
  std::string many = good.substr(0, good.find('\n') + 1);
  put(many, static_cast<std::uint32_t>(most_entries + 1));
  std::string deep;
  {
    Manifest manifest{{folder(0, "")}, {}};
    for (std::uint32_t i = 0; i <= deepest; ++i) manifest.entries.push_back(folder(i, "d"));
    deep = manifest.encode();
  }
  const std::pair<const char*, std::string> cases[] = {
      {"nothing", ""},
      {"another head", "toprun-manifest/2\n" + good.substr(18)},
      {"no entries", std::string("toprun-manifest/1\n\0\0\0\0", 22)},
      {"too many entries", many},
      {"bytes after the end", good + "x"},
      {"the first has a name", with(0, [](Entry& e) { e.name = "x"; })},
      {"the first is a link", with(0, [](Entry& e) { e.kind = Entry::Kind::link; })},
      {"a path for a name", with(1, [](Entry& e) { e.name = "../a"; })},
      {"the folder above", with(2, [](Entry& e) { e.name = ".."; })},
      {"this folder", with(2, [](Entry& e) { e.name = "."; })},
      {"no name", with(1, [](Entry& e) { e.name = ""; })},
      {"a zero in a name", with(1, [](Entry& e) { e.name = std::string("a\0b", 3); })},
      {"a long name", with(6, [](Entry& e) { e.name = std::string(most_name_bytes + 1, 'z'); })},
      {"in a file", with(4, [](Entry& e) { e.parent = 1; })},
      {"in a link", with(4, [](Entry& e) { e.parent = 3; })},
      {"in itself", with(4, [](Entry& e) { e.parent = 4; })},
      {"in a later one", with(1, [](Entry& e) { e.parent = 2; })},
      {"twice the same name", with(4, [](Entry& e) { e.name = "c"; })},
      {"not in order", with(6, [](Entry& e) { e.name = "a"; })},
      {"set-user-id", with(1, [](Entry& e) { e.mode = 04755; })},
      {"a link to nowhere", with(3, [](Entry& e) { e.target = ""; })},
      {"a size without hashes", with(6, [](Entry& e) { e.size = ~std::uint64_t{0}; })},
      {"too deep", deep},
  };
  for (const auto& [what, bytes] : cases) {
    const auto read = Manifest::decode(bytes);
    EXPECT_FALSE(read) << what;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Manifest::decode(good.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace toprun::stage
