#include "node/worker/warm/archive.h"

#include <initializer_list>

#include <boost/crc.hpp>

namespace toprun::warm {
namespace {

constexpr std::uint32_t local_header = 0x04034b50;
constexpr std::uint32_t directory_entry = 0x02014b50;
constexpr std::uint32_t directory_end = 0x06054b50;
constexpr std::uint16_t version = 10;        // 1.0: a plain file
constexpr std::uint16_t first_day = 0x0021;  // 1980-01-01, the format's first

class Bytes {
 public:
  void add(std::initializer_list<std::uint16_t> words) {
    for (const std::uint16_t word : words) {
      bytes.push_back(static_cast<std::uint8_t>(word & 0xff));
      bytes.push_back(static_cast<std::uint8_t>(word >> 8));
    }
  }
  void add_long(std::uint32_t value) {
    add({static_cast<std::uint16_t>(value & 0xffff), static_cast<std::uint16_t>(value >> 16)});
  }
  void add(std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(bytes.size()); }

  std::vector<std::uint8_t> bytes;
};

// The fields that local header and directory have in common: version to extract … extra length.
void describe(Bytes& out, std::string_view name, std::string_view content) {
  boost::crc_32_type sum;
  sum.process_bytes(content.data(), content.size());
  out.add({version, 0, 0, 0, first_day});  // no flags, stored, midnight
  out.add_long(sum.checksum());
  out.add_long(static_cast<std::uint32_t>(content.size()));  // compressed
  out.add_long(static_cast<std::uint32_t>(content.size()));
  out.add({static_cast<std::uint16_t>(name.size()), 0});
}

}  // namespace

std::vector<std::uint8_t> archive_of(std::string_view name, std::string_view content) {
  Bytes out;
  out.add_long(local_header);
  describe(out, name, content);
  out.add(name);
  out.add(content);
  const std::uint32_t directory = out.size();
  out.add_long(directory_entry);
  out.add({version});  // made by
  describe(out, name, content);
  out.add({0, 0, 0, 0, 0});  // no comment, first disk, internal and external attributes
  out.add_long(0);           // the local header's offset
  out.add(name);
  const std::uint32_t directory_bytes = out.size() - directory;
  out.add_long(directory_end);
  out.add({0, 0, 1, 1});  // disks, entries
  out.add_long(directory_bytes);
  out.add_long(directory);
  out.add({0});
  return std::move(out.bytes);
}

}  // namespace toprun::warm
