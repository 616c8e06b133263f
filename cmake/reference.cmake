# SPDX-License-Identifier: Apache-2.0
# The reference of the public API, where Doxygen is: man pages of section 3 and HTML, installed.
find_program(DOXYGEN doxygen)
find_package(Python3 COMPONENTS Interpreter)
if(NOT DOXYGEN OR NOT Python3_FOUND)
  message(STATUS "Doxygen: none (doxygen, python3): the API's man pages and HTML are not made")
  return()
endif()
message(STATUS "Doxygen: ${DOXYGEN}")
set(BRICK_API_OUTPUT ${CMAKE_BINARY_DIR}/reference)
configure_file(docs/api/Doxyfile.in ${CMAKE_BINARY_DIR}/generated/Doxyfile @ONLY)
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS include/brick/*.h include/brick/*.hpp)
add_custom_command(OUTPUT ${BRICK_API_OUTPUT}/warnings
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/docs/api/build.py ${DOXYGEN}
    ${CMAKE_BINARY_DIR}/generated/Doxyfile ${BRICK_API_OUTPUT}
  DEPENDS ${public_headers} ${CMAKE_SOURCE_DIR}/docs/api/build.py ${CMAKE_SOURCE_DIR}/docs/api/comments.py
    ${CMAKE_BINARY_DIR}/generated/Doxyfile
  COMMENT "API reference" VERBATIM)
add_custom_target(brick-reference ALL DEPENDS ${BRICK_API_OUTPUT}/warnings)
install(DIRECTORY ${BRICK_API_OUTPUT}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
install(DIRECTORY ${BRICK_API_OUTPUT}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
if(BRICK_TESTS AND BUILD_TESTING AND NOT BRICK_SANITIZE)
  add_test(NAME unit/reference COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/reference.py)
  set_tests_properties(unit/reference PROPERTIES LABELS unit TIMEOUT 60
    ENVIRONMENT "BRICK_BUILD=${CMAKE_BINARY_DIR};BRICK_SOURCE=${CMAKE_SOURCE_DIR}")
endif()
