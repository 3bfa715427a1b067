#include "base/process/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <optional>
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

std::string hex(std::string_view digest) {
  std::string text;
  for (const char byte : digest) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Of all kinds of machines that toprun is built for, numbers have the same order of bytes.
template <class Part>
std::optional<Part> part_at(std::string_view bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Part)) return std::nullopt;
  Part part;
  std::memcpy(&part, bytes.data() + at, sizeof part);
  return part;
}

}  // namespace

std::string build_id() {
  std::string_view digest;
  ::dl_iterate_phdr(look, &digest);
  return hex(digest);
}

std::string build_id_in(std::string_view head) {
  const auto file = part_at<Elf64_Ehdr>(head, 0);
  if (!file || !head.starts_with(ELFMAG) || file->e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (std::size_t i = 0; i < file->e_phnum; ++i) {
    const auto segment = part_at<Elf64_Phdr>(head, file->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE || segment->p_offset > head.size()) continue;
    const std::string_view digest = digest_in(head.substr(segment->p_offset, segment->p_filesz));
    if (!digest.empty()) return hex(digest);
  }
  return {};
}

}  // namespace toprun::process
