# What every target shares: language, warnings, sanitizers; and the two
# functions that folders are described with.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -D_FORTIFY_SOURCE=2") # no NDEBUG: assert stays
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

option(SKEP_WERROR "Warnings are errors" OFF)
option(SKEP_FAULTS "Compile the named fault points in (tests only)" OFF)
option(SKEP_TESTS "Build the unit, fault and fuzz tests" ON)
option(SKEP_FUZZ "Build the libFuzzer targets" OFF)
set(SKEP_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

find_program(CCACHE ccache)
if(CCACHE)
	set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

# Builds for tests link more than a hundred programs. A release is linked by the
# compiler's default linker.
find_program(LLD ld.lld)
if(LLD AND (SKEP_FAULTS OR SKEP_SANITIZE))
	add_link_options(-fuse-ld=lld)
endif()

# Every library that is used, here, so that one place says what must be there.
find_package(PkgConfig REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

add_library(strict INTERFACE)
target_compile_definitions(strict INTERFACE
	_GNU_SOURCE _FILE_OFFSET_BITS=64
	SKEP_VERSION="${PROJECT_VERSION}")
# A header and not an option of the compiler: the files without fault points have
# the same command in both builds, so ccache finds them compiled.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/lib/base/fault_switch.h
	CONTENT "#cmakedefine SKEP_FAULTS 1\n")
target_include_directories(strict INTERFACE ${PROJECT_BINARY_DIR}/generated)
target_compile_options(strict INTERFACE
	-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wvla
	-Wundef -Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
	-Wwrite-strings -Wimplicit-fallthrough -Wswitch-enum -fno-common
	-fstack-protector-strong
	$<$<BOOL:${SKEP_WERROR}>:-Werror>
	"SHELL:-include ${PROJECT_SOURCE_DIR}/lib/base/banned.h")
if(SKEP_SANITIZE)
	target_compile_options(strict INTERFACE -fsanitize=${SKEP_SANITIZE}
		-fno-sanitize-recover=all -fno-omit-frame-pointer)
	target_link_options(strict INTERFACE -fsanitize=${SKEP_SANITIZE})
endif()
if(SKEP_FUZZ)
	target_compile_options(strict INTERFACE -fsanitize=fuzzer-no-link)
endif()

# module(NAME FOLDERS ... FILES ... WITHOUT ... USES ...): one static library of the
# .c files in FOLDERS (not below them), less those in WITHOUT, and of FILES. Each
# X.h among them is proven to compile alone by X.c, which includes it first
# (tools/check_deps.sh), or else by the target all_verify_interface_header_sets.
function(module NAME)
	cmake_parse_arguments(M "" "" "FOLDERS;FILES;WITHOUT;USES" ${ARGN})
	set(files ${M_FILES})
	foreach(folder ${M_FOLDERS})
		file(GLOB found CONFIGURE_DEPENDS
			RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
			${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.[ch])
		list(APPEND files ${found})
	endforeach()
	if(M_WITHOUT)
		list(REMOVE_ITEM files ${M_WITHOUT})
	endif()
	set(sources ${files})
	list(FILTER sources INCLUDE REGEX "\\.c$")
	set(headers ${files})
	list(FILTER headers INCLUDE REGEX "\\.h$")
	set(alone ${headers})
	foreach(source ${sources})
		string(REGEX REPLACE "c$" "h" own ${source})
		list(REMOVE_ITEM alone ${own})
	endforeach()
	add_library(${NAME} STATIC ${sources})
	if(alone)
		list(REMOVE_ITEM headers ${alone})
		target_sources(${NAME} PUBLIC FILE_SET alone TYPE HEADERS
			BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
		set_target_properties(${NAME} PROPERTIES
			VERIFY_INTERFACE_HEADER_SETS ON
			INTERFACE_HEADER_SETS_TO_VERIFY alone)
	endif()
	target_sources(${NAME} PUBLIC FILE_SET HEADERS
		BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
	target_include_directories(${NAME} PUBLIC ${PROJECT_SOURCE_DIR})
	target_link_libraries(${NAME} PUBLIC ${M_USES} strict)
endfunction()

# program(NAME SOURCES ... USES ...): an executable that gets installed.
function(program NAME)
	cmake_parse_arguments(P "" "" "SOURCES;USES" ${ARGN})
	add_executable(${NAME} ${P_SOURCES})
	target_link_libraries(${NAME} PRIVATE ${P_USES} strict)
	install(TARGETS ${NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
