# Flags that every target of ours shares.
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Werror -ffunction-sections
                    -fdata-sections)
if(NOT CMAKE_UNITY_BUILD)
  add_compile_options(-Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # What other files of a room name is in sight too, and their types seem to be a header's.
  add_compile_options(-Wshadow=local -Wno-subobject-linkage)
endif()
add_link_options(-Wl,--gc-sections,--build-id=sha1)
# Nothing writable is executed, and no table of addresses stays writable after the start.
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of g++ 12 over its own std::string and std::expected (GCC bugs 105329, 105651).
  # The last: its coroutine frames and Asio's recycling allocator.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-restrict -Wno-array-bounds
                      -Wno-stringop-overread -Wno-mismatched-new-delete)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wno-deprecated-declarations)  # in libstdc++ 12's own stable_partition()
  # ccache gives a header that was precompiled before in a folder that was removed: its text is the same, its time not.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  # A seventh of GNU ld's time, 49 times. Equal functions (of templates, mostly) become one: 5 % of the binary. Also
  # where their address is taken: no code here compares the addresses of two functions.
  add_link_options(-fuse-ld=lld -Wl,--icf=all)
  # A text that is the end of another one is stored once: 16 KiB of the binary.
  add_link_options(-Wl,-O2)
  # What runs only at the start lies side by side: a launch has 25 page faults less (of 890).
  add_link_options(-Wl,-z,keep-text-section-prefix)
endif()
# What checks the C library's calls needs the optimizer.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")

# The same for every file, so that all share one precompiled header.
add_compile_options(-fPIE)
if(NOT TOPRUN_STATIC)
  add_link_options(-pie)
endif()

# A bug of ours is to end the process, not to give it away: canaries on the stack, a stack that cannot be jumped over,
# return addresses that are signed. Sanitizers see more. Checks of jump targets (-fcf-protection, BTI) need every linked
# object to have them, and Debian's static libraries do not: the kernel would not turn them on.
if(NOT TOPRUN_SANITIZE)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  # Exceptions are thrown at calls; tables for every instruction would serve signal handlers and profilers alone.
  add_compile_options(-fno-asynchronous-unwind-tables)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    add_compile_options(-mbranch-protection=pac-ret)
  endif()
endif()

if(TOPRUN_SANITIZE)
  add_compile_definitions(TOPRUN_SANITIZED)
  add_compile_options(-fsanitize=${TOPRUN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TOPRUN_SANITIZE})
  if(TOPRUN_SANITIZE MATCHES undefined)
    # Half of all code would be checks of these before each access. A null pointer that is followed ends the
    # program as well, and no format of ours is read but by memcpy.
    add_compile_options(-fno-sanitize=null,alignment)
  endif()
  if(TOPRUN_SANITIZE MATCHES thread)
    # g++ 12 warns about the fences in Asio, which ThreadSanitizer does not model.
    add_compile_options(-Wno-tsan)
  endif()
endif()
