# SPDX-License-Identifier: Apache-2.0
# Run by CPack before it packs: what a Debian package has beside what is installed, which is its
# changelog, its copyright and compressed manual pages; the archive has the licence.
function(gzip)
  execute_process(COMMAND gzip -9n -f ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(stage_package component package)
  set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(doc ${usr}/share/doc/${package})
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/../packaging/copyright
    ${CMAKE_CURRENT_LIST_DIR}/../packaging/changelog DESTINATION ${doc}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(RENAME ${doc}/changelog ${doc}/changelog.Debian)
  file(GLOB_RECURSE pages ${usr}/share/man/*.[0-9])
  gzip(${doc}/changelog.Debian ${pages})
endfunction()

# What the libraries of a component need beside each other.
function(library_depends out component package)
  file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/debian/control "Source: brick\n\nPackage: ${package}\nArchitecture: any\n")
  file(GLOB libraries ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/lib/*/*.so.*.*)
  file(GLOB own ${CPACK_TEMPORARY_DIRECTORY}/library/usr/lib/*) # where the libraries of the other component are
  list(TRANSFORM own PREPEND -l)
  execute_process(COMMAND dpkg-shlibdeps -O --ignore-missing-info ${own} ${libraries}
    WORKING_DIRECTORY ${CPACK_TEMPORARY_DIRECTORY} OUTPUT_VARIABLE found ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${CPACK_TEMPORARY_DIRECTORY}/debian)
  string(REGEX REPLACE "^shlibs:Depends=" "" found "${found}")
  if(${out})
    string(PREPEND found "${${out}}, ")
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
  library_depends(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS library libbrick0)
  library_depends(CPACK_DEBIAN_RESULTS_PACKAGE_DEPENDS results libbrick-report0)
  foreach(component ${CPACK_COMPONENTS_ALL})
    string(TOUPPER ${component} upper)
    stage_package(${component} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  endforeach()
else()
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/../LICENSE DESTINATION ${CPACK_TEMPORARY_DIRECTORY})
endif()
