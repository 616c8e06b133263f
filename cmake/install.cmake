# SPDX-License-Identifier: Apache-2.0
# What is installed, by component (tools: what no other is named for), and how others find it:
# pkg-config (brick, brick-graph, and each with -static; brick-report) and find_package(brick [COMPONENTS graph report]).
include(CMakePackageConfigHelpers)
include(cmake/static.cmake)

install(TARGETS brick-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS brick brick-graph EXPORT brickTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS brick-report EXPORT brickTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT results NAMELINK_COMPONENT dev)
install(DIRECTORY include/brick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
# Programs that use the library, to read and to build with its headers.
install(FILES examples/embed.c examples/graph_example.c examples/models.c examples/own_report.c
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libbrick-dev/examples COMPONENT dev)
install(DIRECTORY examples/short DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libbrick-dev/examples COMPONENT dev
  FILES_MATCHING PATTERN "*.c")
# Where Debian's Python looks; elsewhere `pip install bindings/python` knows better.
if(BRICK_PACKAGES)
  install(DIRECTORY bindings/python/brick DESTINATION lib/python3/dist-packages COMPONENT python
    FILES_MATCHING PATTERN "*.py")
endif()
# The manual of `brick report` lists the columns that the program has.
add_executable(brick-manual-columns docs/man/columns.c)
target_link_libraries(brick-manual-columns PRIVATE brick-view)
set(report_page ${CMAKE_BINARY_DIR}/man/brick-report.1)
add_custom_command(OUTPUT ${report_page}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
  COMMAND brick-manual-columns ${CMAKE_SOURCE_DIR}/docs/man/brick-report.1 ${report_page}
  DEPENDS brick-manual-columns ${CMAKE_SOURCE_DIR}/docs/man/brick-report.1 VERBATIM)
add_custom_target(brick-manual ALL DEPENDS ${report_page})
file(GLOB pages ${CMAKE_SOURCE_DIR}/docs/man/*.1)
list(REMOVE_ITEM pages ${CMAKE_SOURCE_DIR}/docs/man/brick-report.1)
install(FILES ${pages} ${report_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Completion is made of the tables of options that the program has.
set(completions)
foreach(shell bash zsh fish)
  set(script ${CMAKE_BINARY_DIR}/completion/${shell})
  add_custom_command(OUTPUT ${script}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion
    COMMAND ${CMAKE_COMMAND} -E env BRICK_CONFIG= BRICK_OPTIONS= $<TARGET_FILE:brick-cli> completion
      ${shell} > ${script}
    DEPENDS brick-cli VERBATIM)
  list(APPEND completions ${script})
endforeach()
add_custom_target(brick-completion ALL DEPENDS ${completions})
install(FILES ${CMAKE_BINARY_DIR}/completion/bash RENAME brick
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/completion/zsh RENAME _brick
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${CMAKE_BINARY_DIR}/completion/fish RENAME brick.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY src/attach/rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/brick/rules FILES_MATCHING PATTERN "*.rules")
install(DIRECTORY packaging/grafana packaging/prometheus DESTINATION ${CMAKE_INSTALL_DATADIR}/brick)
install(EXPORT brickTargets NAMESPACE brick:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/brick
  COMPONENT dev)
configure_package_config_file(cmake/brickConfig.cmake.in ${CMAKE_BINARY_DIR}/brickConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/brick
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/brickConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/brickConfig.cmake ${CMAKE_BINARY_DIR}/brickConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/brick COMPONENT dev)
# What pkg-config reads says where it is from its own place: it may be moved.
file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix ${pkgconfig_to_prefix})
foreach(name brick brick-graph brick-static brick-graph-static brick-report)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()
