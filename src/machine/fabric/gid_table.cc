#include "machine/fabric/gid_table.h"

#include <algorithm>

#include "base/text/text.h"

namespace toprun::fabric {
namespace {

// Tried by number before the folder is listed, which takes as long as reading ten entries.
constexpr int usual_entries = 16;

GidType type_of(const std::optional<std::string>& text) {
  if (!text) return GidType::unknown;
  if (*text == "RoCE v2") return GidType::v2;
  return *text == "IB/RoCE v1" ? GidType::v1 : GidType::unknown;
}

// Whether no later entry of the table can be a better one, nor one that NCCL prefers.
bool is_certain(const Gid& gid, const Device& device, std::span<const Interface> interfaces) {
  if (gid.type != GidType::v2 || scope_of(gid.bytes) != GidScope::ipv4) return false;
  const auto is_own = [&](const std::string& name) {
    return std::ranges::find(device.interfaces, name) != device.interfaces.end();
  };
  const Interface* const carrier = find(interfaces, gid.interface);
  if (carrier == nullptr || !carrier->is_up || carrier->kind == InterfaceKind::vlan) return false;
  return is_own(carrier->name) || std::ranges::any_of(carrier->below, is_own);
}

class Reader {
 public:
  Reader(const Folder& folder, const Device& device, const GidExtent& extent, Port& port)
      : folder_(folder), device_(device), extent_(extent), port_(port) {}

  void read_all() {
    for (const std::string& name : folder_.names("gids")) {
      if (const auto index = index_of(name)) read_entry(*index);
    }
  }

  void read_first() { read_entry(0); }

  void read_needed() {
    if (!is_right_entry_found()) {
      for (Gid& gid : port_.gids) {
        if (!is_ipv4(gid.bytes)) add_attributes(gid);
      }
    } else if (extent_.named) {
      read_named(*extent_.named);
    }
  }

 private:
  static std::optional<int> index_of(const std::string& name) {
    const auto index = parse_int(name);
    const bool is_valid = index && *index >= 0 && *index < static_cast<std::int64_t>(max_gids);
    return is_valid ? std::optional(static_cast<int>(*index)) : std::nullopt;
  }

  std::optional<std::string> text_of_address(int index) const {
    return folder_.text("gids/" + std::to_string(index));
  }

  // Appends the entry without its attributes. Null: it is empty.
  Gid* add_address(int index, const std::optional<std::string>& text) {
    const auto bytes = text ? parse_gid(*text) : std::nullopt;
    if (!bytes || is_zero(*bytes)) return nullptr;
    return &port_.gids.emplace_back(Gid{index, *bytes, GidType::unknown, {}});
  }

  void add_attributes(Gid& gid) {
    const std::string name = std::to_string(gid.index);
    const auto type = folder_.text("gid_attrs/types/" + name);
    if (!type) port_.has_hidden_types = true;
    gid.type = type_of(type);
    // No caller asks which interface carries an entry that can never be used.
    const bool is_usable = gid.type != GidType::v1 || extent_.entries != GidExtent::Entries::needed;
    if (is_usable) gid.interface = folder_.text("gid_attrs/ndevs/" + name).value_or("");
  }

  void read_entry(int index) {
    if (Gid* const gid = add_address(index, text_of_address(index))) add_attributes(*gid);
  }

  bool is_right_entry(int index, const std::optional<std::string>& text) {
    Gid* const gid = add_address(index, text);
    if (gid == nullptr || !is_ipv4(gid->bytes)) return false;
    add_attributes(*gid);
    return is_certain(*gid, device_, extent_.interfaces);
  }

  // Reads up to the right entry, or all.
  bool is_right_entry_found() {
    int next = 0;
    for (; next < usual_entries; ++next) {
      const auto text = text_of_address(next);
      if (!text) break;
      if (is_right_entry(next, text)) return true;
    }
    for (const std::string& name : folder_.names("gids")) {
      const auto index = index_of(name);
      if (index && *index >= next && is_right_entry(*index, text_of_address(*index))) return true;
    }
    return false;
  }

  void read_named(int index) {
    const auto known = std::ranges::find(port_.gids, index, &Gid::index);
    if (known == port_.gids.end()) return read_entry(index);
    if (!is_ipv4(known->bytes)) add_attributes(*known);
  }

  const Folder& folder_;
  const Device& device_;
  const GidExtent& extent_;
  Port& port_;
};

}  // namespace

void read_gids(const Folder& folder, const Device& device, const GidExtent& extent, Port& port) {
  Reader reader(folder, device, extent, port);
  switch (extent.entries) {
    case GidExtent::Entries::all:
      return reader.read_all();
    case GidExtent::Entries::needed:
      return reader.read_needed();
    case GidExtent::Entries::first:
      return reader.read_first();
  }
}

}  // namespace toprun::fabric
