# SPDX-License-Identifier: Apache-2.0
# What is installed, and how others find it: pkg-config and find_package(brick).
include(CMakePackageConfigHelpers)

install(TARGETS brick-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS brick EXPORT brickTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/brick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
file(GLOB pages ${CMAKE_SOURCE_DIR}/man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/brick/rules)
install(EXPORT brickTargets NAMESPACE brick:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/brick)
configure_package_config_file(cmake/brickConfig.cmake.in ${CMAKE_BINARY_DIR}/brickConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/brick)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/brickConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/brickConfig.cmake ${CMAKE_BINARY_DIR}/brickConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/brick)
# The prefix is known at install time only (`cmake --install --prefix`).
install(CODE "set(pc_source \"${CMAKE_SOURCE_DIR}/cmake/brick.pc.in\")
  set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  configure_file(\"\${pc_source}\" \"${CMAKE_BINARY_DIR}/brick.pc\" @ONLY)
  file(INSTALL \"${CMAKE_BINARY_DIR}/brick.pc\"
    DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")")
