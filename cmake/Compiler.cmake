# Compiler settings shared by every target.

# ccache keeps rebuilds bearable on two cores. The base directory makes two checkouts share entries.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
                    -Wno-missing-field-initializers  # Designated initializers leave fields at their defaults on purpose.
                    -fno-omit-frame-pointer -fstack-protector-strong)
# -g1 keeps line numbers for stack traces and halves the time of compiling and linking.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
add_compile_definitions(_FILE_OFFSET_BITS=64 _GNU_SOURCE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)
  add_link_options(-fuse-ld=lld)
endif()

if(BUCKETVOL_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(BUCKETVOL_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()
if(BUCKETVOL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
