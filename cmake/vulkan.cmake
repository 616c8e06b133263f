# SPDX-License-Identifier: Apache-2.0
# The Vulkan layer, where Vulkan's headers are. `brick record` shows the loader the way to it.
if(NOT VULKAN_HEADERS)
  return()
endif()

add_library(brick-vulkan SHARED ${BRICK_VULKAN_SOURCES})
target_link_libraries(brick-vulkan PRIVATE brick brick-base)
target_link_options(brick-vulkan PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/attach/vulkan/vulkan.map ${no_undefined})
set_property(TARGET brick-vulkan APPEND PROPERTY LINK_DEPENDS
  ${CMAKE_SOURCE_DIR}/attach/vulkan/vulkan.map)
set_target_properties(brick-vulkan PROPERTIES BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN"
  BUILD_WITH_INSTALL_RPATH ON)

# The loader looks for implicit layers in vulkan/implicit_layer.d of all data directories.
set(vulkan_manifest brick/vulkan/implicit_layer.d/VkLayer_brick_profile.json)
configure_file(attach/vulkan/VkLayer_brick_profile.json
  ${CMAKE_BINARY_DIR}/lib/${vulkan_manifest} COPYONLY)
install(TARGETS brick-vulkan LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/lib/${vulkan_manifest}
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/brick/vulkan/implicit_layer.d)
