#include "machine/stacks/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace toprun::stacks {
namespace {

constexpr std::size_t text_step_bytes = 64;

constexpr int most_segments = 64;
constexpr int most_dynamic_entries = 256;
constexpr std::uint32_t most_buckets = 1u << 24;
constexpr int most_in_bucket = 4096;
constexpr Address page_mask = 0xfff;

struct Tables {
  Address hash = 0, symbols = 0, names = 0;
};

// Where an image's addresses begin, and its dynamic section.
struct Dynamic {
  Address bias = 0, at = 0;
};

std::optional<Dynamic> dynamic_section(Memory& memory, Address base) {
  const auto header = memory.get<Elf64_Ehdr>(base);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr)) return std::nullopt;
  Dynamic out;
  bool loaded = false;
  for (int i = 0; i < header->e_phnum && i < most_segments; ++i) {
    const Address at = base + header->e_phoff + static_cast<Address>(i) * sizeof(Elf64_Phdr);
    const auto segment = memory.get<Elf64_Phdr>(at);
    if (!segment) return std::nullopt;
    if (segment->p_type == PT_LOAD && !loaded) {
      out.bias = base - ((segment->p_vaddr - segment->p_offset) & ~page_mask);
      loaded = true;
    }
    if (segment->p_type == PT_DYNAMIC) out.at = segment->p_vaddr;
  }
  if (!loaded || out.at == 0) return std::nullopt;
  out.at += out.bias;
  return out;
}

Tables tables_of(Memory& memory, const Dynamic& dynamic, Address base) {
  Tables out;
  for (int i = 0; i < most_dynamic_entries; ++i) {
    const auto entry =
        memory.get<Elf64_Dyn>(dynamic.at + static_cast<Address>(i) * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    // glibc has made addresses of these, musl leaves them as the file has them.
    Address value = entry->d_un.d_ptr;
    if (value < base) value += dynamic.bias;
    if (entry->d_tag == DT_GNU_HASH) out.hash = value;
    if (entry->d_tag == DT_SYMTAB) out.symbols = value;
    if (entry->d_tag == DT_STRTAB) out.names = value;
  }
  return out;
}

std::uint32_t hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

std::string Memory::text(Address from, std::size_t most_bytes) {
  std::string out;
  std::array<char, text_step_bytes> step{};
  while (out.size() < most_bytes) {
    // Up to the next multiple, so that no step reaches into a page that the text does not.
    const std::size_t size =
        std::min(text_step_bytes - (from + out.size()) % text_step_bytes, most_bytes - out.size());
    if (!read(from + out.size(), std::as_writable_bytes(std::span(step).first(size)))) break;
    const auto end = std::find(step.begin(), step.begin() + static_cast<std::ptrdiff_t>(size), 0);
    out.append(step.begin(), end);
    if (end != step.begin() + static_cast<std::ptrdiff_t>(size)) break;
  }
  return out;
}

bool ForeignMemory::read(Address from, std::span<std::byte> into) {
  if (file_) return read_file(from, into);
  iovec local{into.data(), into.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process
  iovec remote{reinterpret_cast<void*>(from), into.size()};
  const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (got == static_cast<ssize_t>(into.size())) return true;
  error_ = got < 0 ? errno : EFAULT;
  if (error_ != EPERM && error_ != ENOSYS) return false;
  file_ = Fd(::open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
  return file_ && read_file(from, into);
}

bool ForeignMemory::read_file(Address from, std::span<std::byte> into) {
  const ssize_t got = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(from));
  if (got == static_cast<ssize_t>(into.size())) return true;
  error_ = got < 0 ? errno : EFAULT;
  return false;
}

bool Pages::read(Address from, std::span<std::byte> into) {
  if (into.size() > page_bytes) return memory_.read(from, into);
  while (!into.empty()) {
    const Address start = from - from % page_bytes;
    auto page = pages_.find(start);
    if (page == pages_.end()) {
      if (pages_.size() == most_pages) return false;
      page = pages_.try_emplace(start).first;
      if (!memory_.read(start, page->second)) {
        pages_.erase(page);
        return false;
      }
    }
    const std::size_t offset = from - start;
    const std::size_t size = std::min(into.size(), page_bytes - offset);
    std::memcpy(into.data(), page->second.data() + offset, size);
    into = into.subspan(size);
    from += size;
  }
  return true;
}

std::optional<Address> exported(Memory& memory, Address base, std::string_view symbol) {
  const auto dynamic = dynamic_section(memory, base);
  if (!dynamic) return std::nullopt;
  const Tables tables = tables_of(memory, *dynamic, base);
  if (tables.hash == 0 || tables.symbols == 0 || tables.names == 0) return std::nullopt;

  // Numbers of buckets, of the first symbol in them, of words of the Bloom filter (ignored).
  const auto head = memory.get<std::array<std::uint32_t, 4>>(tables.hash);
  if (!head || (*head)[0] == 0 || (*head)[0] > most_buckets) return std::nullopt;
  const auto [buckets, first, filter, shift] = *head;
  const Address bucket_at = tables.hash + sizeof *head + Address{filter} * 8;
  const Address chain_at = bucket_at + Address{buckets} * 4;
  const std::uint32_t hash = hash_of(symbol);
  const auto start = memory.get<std::uint32_t>(bucket_at + Address{hash % buckets} * 4);
  if (!start || *start < first) return std::nullopt;
  for (Address i = *start; i < Address{*start} + most_in_bucket; ++i) {
    const auto link = memory.get<std::uint32_t>(chain_at + (i - first) * 4);
    if (!link) return std::nullopt;
    if ((*link | 1) == (hash | 1)) {
      const auto entry = memory.get<Elf64_Sym>(tables.symbols + i * sizeof(Elf64_Sym));
      if (!entry) return std::nullopt;
      const bool same = memory.text(tables.names + entry->st_name, symbol.size() + 1) == symbol;
      if (same && entry->st_shndx != SHN_UNDEF) return dynamic->bias + entry->st_value;
    }
    if ((*link & 1) != 0) break;
  }
  return std::nullopt;
}

}  // namespace toprun::stacks
