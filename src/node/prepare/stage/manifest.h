#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::stage {

inline constexpr std::int64_t ns_per_second = 1'000'000'000;

// Appends a number as little-endian bytes.
template <class Integer>
void put(std::string& out, Integer number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    out += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
}

// Reads what put() wrote. If a read needs more bytes than are left, this read and all later reads
// of this Reader return 0 or an empty text.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  Integer number() {
    const std::string_view bytes = text(sizeof(Integer));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return static_cast<Integer>(value);
  }
  std::string_view text(std::size_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::size_t left() const { return rest_.size(); }
  bool is_short() const { return is_short_; }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

inline constexpr std::size_t hash_bytes = 32;
// The BLAKE2b hash of a chunk or of a manifest.
using Hash = std::array<std::uint8_t, hash_bytes>;

Hash hash_of(std::string_view bytes);
// Returns a keyed hash of `bytes`, which only a process with `key` can compute.
Hash keyed_hash_of(const Hash& key, std::string_view bytes);
bool is_equal(const Hash& a, const Hash& b);  // takes constant time

// Returns the bytes of the hash itself, as a view of `hash`.
std::string_view bytes_of(const Hash& hash);

std::string hex(std::span<const std::uint8_t> bytes);

inline constexpr std::uint16_t permissions = 0777;

// A file is hashed, sent and checked in chunks of this size. A node forwards a chunk only when the
// chunk is complete and checked, so each node in a chain is one chunk behind the node before it.
inline constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

// Limits for data from the network, and for an environment that is staged.
inline constexpr std::size_t most_entries = 4'000'000;
inline constexpr std::size_t most_manifest_bytes = std::size_t{1} << 30;
inline constexpr std::size_t most_name_bytes = 255;               // NAME_MAX
inline constexpr std::size_t most_target_bytes = 4095;            // PATH_MAX
inline constexpr std::size_t most_chunks = std::size_t{1} << 24;  // 16 TiB
inline constexpr std::size_t deepest = 256;  // the maximum depth of nested folders

struct Entry {
  enum class Kind : std::uint8_t { folder, file, link };
  Kind kind = Kind::folder;
  std::uint16_t mode = 0;     // only bits in `permissions`
  std::uint32_t parent = 0;   // the index of the entry's folder, which comes before the entry
  std::string name;           // without a slash; empty only for the first entry
  std::string target;         // the target of a link
  std::uint64_t size = 0;     // the size of a file
  std::int64_t mtime_ns = 0;  // the time of a file; Python compares this time with the time in a
                              // .pyc file
  std::uint32_t first_chunk = 0;  // the index of its first chunk among the chunks of all entries

  std::uint32_t chunks() const {
    return static_cast<std::uint32_t>((size + chunk_bytes - 1) / chunk_bytes);
  }
  bool operator==(const Entry&) const = default;
};

// Describes a folder with everything below it, or a single file. The first entry is the folder or
// file itself. The entries of a folder follow the folder, sorted by name. Each entry is followed by
// all entries below this entry.
struct Manifest {
  std::vector<Entry> entries;
  std::vector<Hash> hashes;  // hashes of all files' chunks, in the order of the entries

  // Returns an entry's path relative to the first entry; empty for the first entry.
  std::string path_of(std::size_t entry) const;
  std::size_t chunk_size(const Entry& entry, std::uint32_t chunk) const;
  // Returns the index of the file that contains a chunk.
  std::size_t entry_of(std::uint32_t chunk) const;
  std::uint64_t bytes() const;  // the total size of all files
  std::size_t files() const;
  bool operator==(const Manifest&) const = default;

  // Returns the manifest in this format, with little-endian numbers:
  //   "toprun-manifest/1\n", u32 number of entries, and for each entry
  //   u8 kind, u16 mode, u32 parent, u16 length and bytes of its name, and
  //     of a file: u64 size, i64 time in ns, the hash of each chunk
  //     of a link: u16 length and bytes of its target
  std::string encode() const;
  // Parses this format. Error: the manifest cannot describe a folder, because of a name with a
  // slash, a parent that is not a folder, or two equal names. So no path of a manifest leads out of
  // the folder.
  static Result<Manifest> decode(std::string_view bytes);
};

}  // namespace toprun::stage
