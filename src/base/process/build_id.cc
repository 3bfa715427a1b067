#include "base/process/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace toprun::process {
namespace {

constexpr std::size_t note_alignment = 4;

std::size_t aligned(std::size_t size) {
  return (size + note_alignment - 1) / note_alignment * note_alignment;
}

// Finds the digest in a sequence of notes.
std::string_view digest_in(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name = aligned(note.n_namesz);
    const std::size_t description = aligned(note.n_descsz);
    if (name + description > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && notes.starts_with("GNU")) {
      return notes.substr(name, note.n_descsz);
    }
    notes.remove_prefix(name + description);
  }
  return {};
}

// The first object is the program.
int look(dl_phdr_info* object, std::size_t, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the program's own image
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    const std::string_view digest = digest_in({notes, segment.p_memsz});
    if (!digest.empty()) *static_cast<std::string_view*>(found) = digest;
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string_view digest;
  ::dl_iterate_phdr(look, &digest);
  std::string text;
  for (const char byte : digest) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace toprun::process
