# SPDX-License-Identifier: Apache-2.0
# The terminal of `brick top`: ncursesw where there is one, else a file that says what is missing.
pkg_check_modules(NCURSESW QUIET IMPORTED_TARGET ncursesw)
if(NCURSESW_FOUND)
  message(STATUS "terminal view: ncursesw ${NCURSESW_VERSION}")
  set(terminal_source tui/screen_curses.c)
  set(terminal_library PkgConfig::NCURSESW)
else()
  message(STATUS "terminal view: none (ncursesw is missing; Debian: libncurses-dev); headless works")
  set(terminal_source tui/screen_none.c)
  set(terminal_library)
endif()
