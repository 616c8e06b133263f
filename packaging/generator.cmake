# SPDX-License-Identifier: Apache-2.0
# Read by CPack for each of its generators: what Debian has in /usr, the archive has in its top directory.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
