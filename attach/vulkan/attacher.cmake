# SPDX-License-Identifier: Apache-2.0
# The Vulkan layer, where Vulkan's headers are. `brick record` shows the loader the way to it.
if(NOT VULKAN_HEADERS)
  return()
endif()

brick_attacher(vulkan UNLOADABLE ${BRICK_VULKAN_SOURCES})

# The loader looks for implicit layers in vulkan/implicit_layer.d of all data directories.
set(vulkan_manifest brick/vulkan/implicit_layer.d/VkLayer_brick_profile.json)
configure_file(attach/vulkan/VkLayer_brick_profile.json
  ${CMAKE_BINARY_DIR}/lib/${vulkan_manifest} COPYONLY)
install(FILES ${CMAKE_BINARY_DIR}/lib/${vulkan_manifest}
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/brick/brick/vulkan/implicit_layer.d)
