# SPDX-License-Identifier: Apache-2.0
# Packages, by `make packages` (preset `package`): five for Debian, and a tar.gz of it all that runs
# from wherever it is unpacked. What they hold are the components of cmake/install.cmake.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME brick)
set(CPACK_PACKAGE_VENDOR Brick)
set(BRICK_MAINTAINER "The Brick authors <brick@example.org>" CACHE STRING "who makes these packages")
set(CPACK_PACKAGE_CONTACT "${BRICK_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "token-centric profiler for machine-learning engines")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME brick-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL tools library results dev doc python)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/stage.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/packaging/generator.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")

# deb(COMPONENT NAME SECTION DEPENDS SUMMARY TEXT)
macro(deb component name section depends summary text)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}")
endmacro()

set(own_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
deb(tools brick devel "libbrick0 ${own_version}"
  "profiler that says where every microsecond of every token went"
  "Records programs that run machine-learning models, unmodified ones that use\nggml (llama.cpp), OpenCL, Vulkan or CUDA among them, and says what each part of\nthe model cost per token, what was lost and what recording itself cost.")
deb(library libbrick0 libs ""
  "library of the Brick profiler: timing parts of a model"
  "For programs that time their own parts with Brick, and libbrick-graph, the\nexecution graph.")
deb(results libbrick-report0 libs "libbrick0 ${own_version}"
  "reports of the running program, of the Brick profiler"
  "For programs that write what Brick knows of them while they run: the report,\na summary and the execution graph.")
deb(dev libbrick-dev libdevel "libbrick0 ${own_version}, libbrick-report0 ${own_version}"
  "headers and static libraries of the Brick profiler"
  "To build programs that time their own parts with Brick, in C and C++, with\npkg-config or CMake; the manual pages of its functions; and short examples.")
deb(doc brick-doc doc ""
  "reference of the Brick profiler's C API"
  "All functions and types of libbrick and libbrick-graph, in HTML.")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
deb(python python3-brick python "python3:any, libbrick0 (>= ${PROJECT_VERSION}), libbrick-report0 (>= ${PROJECT_VERSION})"
  "Python package of the Brick profiler"
  "Times what Python programs do, names the modules of PyTorch, and reads\nrecordings as NumPy arrays.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "brick, python3-pandas")
# CPack has scripts call ldconfig where it looks at libraries; Debian has a trigger for that.
set(shlibs ${CMAKE_BINARY_DIR}/packaging/shlibs)
file(WRITE ${shlibs} "libbrick 0 libbrick0 (>= ${PROJECT_VERSION})\n"
  "libbrick-graph 0 libbrick0 (>= ${PROJECT_VERSION})\n")
set(results_shlibs ${CMAKE_BINARY_DIR}/packaging/results/shlibs)
file(WRITE ${results_shlibs} "libbrick-report 0 libbrick-report0 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_RESULTS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/triggers ${shlibs})
set(CPACK_DEBIAN_RESULTS_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/triggers ${results_shlibs})
include(CPack)
