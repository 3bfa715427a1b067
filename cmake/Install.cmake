# `cmake --install build/release --prefix ~/.local` (and DESTDIR): the programs, the manual pages, completions, documents.
# The texts come from the program itself; a program of another architecture runs in the toolchain's emulator.
include(GNUInstallDirs)

function(toprun_install_text folder name)
  list(JOIN ARGN " " words)
  install(CODE "
    execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:toprun>\" ${words}
                    OUTPUT_FILE \"${CMAKE_BINARY_DIR}/generated/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${CMAKE_BINARY_DIR}/generated/${name} DESTINATION ${folder})
endfunction()

install(TARGETS toprun toprun-bench)
if(TARGET toprun-bench-gloo)
  install(PROGRAMS $<TARGET_FILE:toprun-bench-gloo> TYPE BIN OPTIONAL)
endif()
install(CODE "
  execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:toprun>\" man -o \"${CMAKE_BINARY_DIR}/generated/man1\"
                  COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
toprun_install_text(${CMAKE_INSTALL_DATADIR}/bash-completion/completions toprun completion bash)
toprun_install_text(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _toprun completion zsh)
toprun_install_text(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d toprun.fish completion fish)
toprun_install_text(${CMAKE_INSTALL_DOCDIR} toprun.cdx.json version --sbom)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/LICENSE TYPE DOC)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/toprun RENAME ${PROJECT_VERSION})
