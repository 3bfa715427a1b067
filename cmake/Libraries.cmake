# What we use from the distribution; docs/internals/design.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

function(toprun_system_library name header)
  set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  if(TOPRUN_STATIC)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  endif()
  find_library(${name}_LIBRARY NAMES ${name} REQUIRED)
  find_path(${name}_INCLUDE NAMES ${header} REQUIRED)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
  add_library(lib::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(lib::${name} INTERFACE ${${name}_LIBRARY})
  target_include_directories(lib::${name} SYSTEM INTERFACE ${${name}_INCLUDE})
endfunction()

toprun_system_library(sodium sodium.h)
toprun_system_library(cares ares.h)
toprun_system_library(munge munge.h)
toprun_system_library(yaml-cpp yaml-cpp/parser.h)
toprun_system_library(pcre2-8 pcre2.h)
toprun_system_library(mbedcrypto mbedtls/version.h)
toprun_system_library(mbedx509 mbedtls/x509_crt.h)
toprun_system_library(mbedtls mbedtls/ssl.h)
target_link_libraries(lib::mbedtls INTERFACE lib::mbedx509 lib::mbedcrypto)  # in the order of a static link

add_library(lib::fmt INTERFACE IMPORTED GLOBAL)

add_library(lib::tomlplusplus INTERFACE IMPORTED GLOBAL)

add_library(lib::asio INTERFACE IMPORTED GLOBAL)
target_link_libraries(lib::asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(lib::asio INTERFACE BOOST_ASIO_SEPARATE_COMPILATION
                           BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY
                           BOOST_DISABLE_CURRENT_LOCATION)  # an error would hold the path of the source

# Only for toprun-bench-gloo, which is not built where Gloo is absent.
find_library(gloo_LIBRARY gloo)
find_path(gloo_INCLUDE gloo/allreduce.h)
if(gloo_LIBRARY AND gloo_INCLUDE)
  add_library(lib::gloo INTERFACE IMPORTED GLOBAL)
  target_link_libraries(lib::gloo INTERFACE ${gloo_LIBRARY})
  target_include_directories(lib::gloo SYSTEM INTERFACE ${gloo_INCLUDE})
endif()
