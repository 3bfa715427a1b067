#include "node/prepare/stage/manifest.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <numeric>

namespace toprun::stage {
namespace {

Hash blake2b(std::string_view bytes, const Hash* key) {
  // Without sodium_init(): the code that it chooses for AVX2 hashes 750 MB/s, the portable one
  // 1,370 (AMD EPYC, measured).
  Hash hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size(), key == nullptr ? nullptr : key->data(),
                     key == nullptr ? 0 : key->size());
  return hash;
}

constexpr std::string_view head = "toprun-manifest/1\n";
constexpr const char* received = "the list of files from the root's node (--stage)";
std::unexpected<Error> malformed(std::size_t entry, std::string_view why) {
  return fail(fmt::format("entry {} of {}", entry, received), std::string(why));
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= most_name_bytes && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

// Checks an entry against those before it. `depths`, `last_names`: by entry, how deep it lies and
// the last name seen in it.
Result<void> check(const Manifest& manifest, std::vector<std::uint16_t>& depths,
                   std::vector<std::string_view>& last_names) {
  const std::size_t i = manifest.entries.size() - 1;
  const Entry& entry = manifest.entries[i];
  if (entry.mode > permissions) return malformed(i, "its mode has more than permissions");
  last_names.emplace_back();
  if (i == 0) {
    if (!entry.name.empty() || entry.parent != 0) return malformed(i, "the first has a name");
    if (entry.kind == Entry::Kind::link) return malformed(i, "the first is a link");
    depths.push_back(0);
    return {};
  }
  if (!is_name(entry.name)) return malformed(i, "it has an invalid name");
  if (entry.parent >= i || manifest.entries[entry.parent].kind != Entry::Kind::folder) {
    return malformed(i, "it is in no folder");
  }
  std::string_view& last = last_names[entry.parent];
  if (!last.empty() && last >= entry.name) return malformed(i, "it is not in order");
  last = entry.name;
  depths.push_back(static_cast<std::uint16_t>(depths[entry.parent] + 1));
  if (depths.back() > deepest) return malformed(i, "it lies too deep");
  return {};
}

Result<Entry> read_entry(Reader& reader, Manifest& manifest) {
  const std::size_t i = manifest.entries.size();
  Entry entry;
  entry.first_chunk = static_cast<std::uint32_t>(manifest.hashes.size());
  const auto kind = reader.number<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Entry::Kind::link))
    return malformed(i, "it has an invalid kind");
  entry.kind = static_cast<Entry::Kind>(kind);
  entry.mode = reader.number<std::uint16_t>();
  entry.parent = reader.number<std::uint32_t>();
  entry.name = reader.text(reader.number<std::uint16_t>());
  if (entry.kind == Entry::Kind::link) {
    entry.target = reader.text(reader.number<std::uint16_t>());
    const bool is_path = !entry.target.empty() && entry.target.size() <= most_target_bytes &&
                         entry.target.find('\0') == std::string::npos;
    if (!is_path) return malformed(i, "it has an invalid target");
  } else if (entry.kind == Entry::Kind::file) {
    entry.size = reader.number<std::uint64_t>();
    entry.mtime_ns = reader.number<std::int64_t>();
    if (entry.size > most_chunks * chunk_bytes ||
        manifest.hashes.size() + entry.chunks() > most_chunks) {
      return malformed(i, "it is too large");
    }
    if (reader.left() < std::size_t{entry.chunks()} * hash_bytes) return malformed(i, "it is cut");
    for (std::uint32_t chunk = 0; chunk < entry.chunks(); ++chunk) {
      const std::string_view bytes = reader.text(hash_bytes);
      std::memcpy(manifest.hashes.emplace_back().data(), bytes.data(), hash_bytes);
    }
  }
  if (reader.is_short()) return malformed(i, "it is cut");
  return entry;
}

}  // namespace

Hash hash_of(std::string_view bytes) {
  return blake2b(bytes, nullptr);
}

Hash keyed_hash_of(const Hash& key, std::string_view bytes) {
  return blake2b(bytes, &key);
}

bool is_equal(const Hash& a, const Hash& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view bytes_of(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

std::string Manifest::path_of(std::size_t entry) const {
  if (entry == 0) return {};
  std::string path = entries[entry].name;
  for (std::size_t above = entries[entry].parent; above != 0; above = entries[above].parent) {
    path.insert(0, entries[above].name + "/");
  }
  return path;
}

std::size_t Manifest::chunk_size(const Entry& entry, std::uint32_t chunk) const {
  const std::uint64_t begin = std::uint64_t{chunk - entry.first_chunk} * chunk_bytes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, entry.size - begin));
}

std::size_t Manifest::entry_of(std::uint32_t chunk) const {
  // What has no chunk stands before the file that has the next one.
  const auto after = std::ranges::upper_bound(entries, chunk, {}, &Entry::first_chunk);
  return static_cast<std::size_t>(after - entries.begin()) - 1;
}

std::uint64_t Manifest::bytes() const {
  return std::transform_reduce(entries.begin(), entries.end(), std::uint64_t{0}, std::plus<>(),
                               [](const Entry& entry) { return entry.size; });
}

std::size_t Manifest::files() const {
  return static_cast<std::size_t>(std::ranges::count(entries, Entry::Kind::file, &Entry::kind));
}

std::string Manifest::encode() const {
  std::string out(head);
  put(out, static_cast<std::uint32_t>(entries.size()));
  for (const Entry& entry : entries) {
    put(out, static_cast<std::uint8_t>(entry.kind));
    put(out, entry.mode);
    put(out, entry.parent);
    put(out, static_cast<std::uint16_t>(entry.name.size()));
    out += entry.name;
    if (entry.kind == Entry::Kind::link) {
      put(out, static_cast<std::uint16_t>(entry.target.size()));
      out += entry.target;
    } else if (entry.kind == Entry::Kind::file) {
      put(out, entry.size);
      put(out, entry.mtime_ns);
      for (std::uint32_t chunk = 0; chunk < entry.chunks(); ++chunk) {
        const Hash& hash = hashes[entry.first_chunk + chunk];
        out.append(reinterpret_cast<const char*>(hash.data()), hash.size());
      }
    }
  }
  return out;
}

Result<Manifest> Manifest::decode(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.text(head.size()) != head)
    return fail(received, "its first line is not toprun-manifest/1");
  const auto count = reader.number<std::uint32_t>();
  if (count == 0 || count > most_entries) {
    return fail(received, fmt::format("it has {} entries", count));
  }
  Manifest manifest;
  // The number is only a claim as yet.
  constexpr std::size_t least_entry_bytes = 9;
  manifest.entries.reserve(std::min<std::size_t>(count, reader.left() / least_entry_bytes + 1));
  std::vector<std::uint16_t> depths;
  std::vector<std::string_view> last_names;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto entry = TRY(read_entry(reader, manifest));
    manifest.entries.push_back(std::move(entry));
    TRY(check(manifest, depths, last_names));
  }
  if (reader.left() > 0) return fail(received, "bytes follow its end");
  return manifest;
}

}  // namespace toprun::stage
