#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include "base/os/os_testing.h"
#include "machine/stacks/memory.h"
#include "machine/stacks/stacks_testing.h"

namespace toprun::stacks {
namespace {

TEST(Image, TellsWhereItsSymbolsAre) {
  if (emulated()) GTEST_SKIP() << "a static program has no table of symbols";
  ForeignMemory memory(::getpid());
  Dl_info info{};
  void* const function = ::dlsym(RTLD_DEFAULT, "qsort");
  ASSERT_NE(function, nullptr);
  ASSERT_NE(::dladdr(function, &info), 0);
  const auto base = reinterpret_cast<Address>(info.dli_fbase);
  EXPECT_EQ(exported(memory, base, "qsort"), reinterpret_cast<Address>(function));
  EXPECT_EQ(exported(memory, base, "no such symbol"), std::nullopt);
  EXPECT_EQ(exported(memory, base + 4096, "qsort"), std::nullopt);  // no image begins there
  EXPECT_EQ(exported(memory, 4096, "qsort"), std::nullopt);         // nor is anything mapped
}

TEST(Image, OfAnotherKindIsPassedOver) {
  FakeMemory memory(std::vector<std::byte>(4096));
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  memory.put(0x10000, header);
  EXPECT_EQ(exported(memory, 0x10000, "main"), std::nullopt);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 0xffff;
  header.e_phoff = 4000;  // beyond what is mapped
  memory.put(0x10000, header);
  EXPECT_EQ(exported(memory, 0x10000, "main"), std::nullopt);
}

}  // namespace
}  // namespace toprun::stacks
