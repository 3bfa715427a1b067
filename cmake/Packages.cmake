# Which packages of the distribution the linked libraries come from, for `toprun version --sbom`:
# writes linked_packages.inc, a row {name, distribution, source package, version} for each that is
# known. Where there is no dpkg it is empty. A sysroot of tools/setup has a database of its own.
function(toprun_linked_packages out)
  set(rows "")
  find_program(DPKG_QUERY dpkg-query)
  if(DPKG_QUERY AND CMAKE_SYSROOT)
    list(APPEND DPKG_QUERY --admindir=${CMAKE_SYSROOT}/var/lib/dpkg)
  endif()
  set(distribution "linux")
  if(EXISTS /etc/os-release)
    file(STRINGS /etc/os-release id REGEX "^ID=")
    string(REGEX REPLACE "^ID=\"?([a-z0-9._-]+)\"?$" "\\1" distribution "${id}")
  endif()
  while(ARGN)
    list(POP_FRONT ARGN name file)
    get_filename_component(file "${file}" REALPATH)
    if(NOT DPKG_QUERY OR NOT EXISTS "${file}")
      continue()
    endif()
    if(CMAKE_SYSROOT)
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_SYSROOT})
      set(file /${file})
    endif()
    execute_process(COMMAND ${DPKG_QUERY} -S ${file} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX REPLACE "^([^:,]+).*" "\\1" package "${owner}")
    if(NOT package)
      continue()
    endif()
    execute_process(COMMAND ${DPKG_QUERY} -W -f "\${source:Package}\", \"\${source:Version}\n" ${package}
                    OUTPUT_VARIABLE source ERROR_QUIET)
    string(REGEX REPLACE "\n.*" "" source "${source}")  # the first of several architectures
    if(source)
      string(APPEND rows "{\"${name}\", \"${distribution}\", \"${source}\"},\n")
    endif()
  endwhile()
  file(CONFIGURE OUTPUT ${out} CONTENT "${rows}")
endfunction()

function(toprun_compilers_file out name)
  set(target "")
  if(CMAKE_SYSROOT)
    set(target --target=${CMAKE_CXX_COMPILER_TARGET} --sysroot=${CMAKE_SYSROOT})
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${target} -print-file-name=${name} OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

find_path(fmt_INCLUDE fmt/format.h)
find_path(nlohmann_INCLUDE nlohmann/json.hpp)
find_path(toml_INCLUDE toml++/toml.h)
toprun_compilers_file(libc_FILE libc.a)
toprun_compilers_file(libstdcxx_FILE libstdc++.a)
# The names are those of the table in src/cli/verbs/help/libraries.cc.
toprun_linked_packages(
  ${CMAKE_BINARY_DIR}/generated/linked_packages.inc
  Boost "${Boost_INCLUDE_DIRS}/boost/version.hpp" libsodium "${sodium_LIBRARY}"
  c-ares "${cares_LIBRARY}" libmunge "${munge_LIBRARY}" yaml-cpp "${yaml-cpp_LIBRARY}"
  PCRE2 "${pcre2-8_LIBRARY}" "Mbed TLS" "${mbedtls_LIBRARY}" fmt "${fmt_INCLUDE}/fmt/format.h"
  nlohmann-json "${nlohmann_INCLUDE}/nlohmann/json.hpp" toml++ "${toml_INCLUDE}/toml++/toml.h"
  glibc "${libc_FILE}" libstdc++ "${libstdcxx_FILE}")
