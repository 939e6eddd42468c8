# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Finds the installed NFS-Ganesha daemon and the headers to build an FSAL for it.
#
# Ganesha ships no development package. The headers are those of the source of
# exactly the installed version, fetched once and unpacked in the build folder;
# config.h is generated from Ganesha's own template with the options the daemon
# was built with. Those options change structures, so the result is not trusted:
# the sizes of the exported objects are compared with the installed library.
#
# Give, if needed
#   GANESHA_SOURCE_DIR  unpacked source of the installed version (its top or src/)
#   GANESHA_CACHE_DIR   where the downloaded archive is kept (several builds may
#                       share it; default: in the build folder)
#   GANESHA_DAEMON, GANESHA_LIBRARY, GANESHA_FSAL_DIR  where the search is wrong
#
# Sets
#   Ganesha_FOUND
#   GANESHA_VERSION             4.3
#   GANESHA_FSAL_DIR            where the daemon looks for libfsal<name>.so
#   GANESHA_PRIVATE_CONFIG_DIR  the parser's private headers (struct config_node)
#   Ganesha::headers            include folders and definitions of an FSAL
#   Ganesha::nfsd               headers and libganesha_nfsd.so
#
# Not promised: that a structure which no exported object contains has the same
# layout. The module checks what it can again when the daemon loads it.

set(_ganesha_config_dir ${CMAKE_CURRENT_LIST_DIR})
set(GANESHA_SOURCE_DIR "" CACHE PATH "Unpacked source of the installed nfs-ganesha")
set(GANESHA_CACHE_DIR "${CMAKE_BINARY_DIR}/ganesha" CACHE PATH
	"Where the downloaded source archive of nfs-ganesha is kept")

# ---- the installed daemon ----------------------------------------------------

find_program(GANESHA_DAEMON ganesha.nfsd PATHS /usr/local/sbin /usr/sbin)
if(NOT GANESHA_DAEMON)
	message(FATAL_ERROR "ganesha.nfsd is not installed. "
		"Remedy: apt-get install nfs-ganesha, or -DGANESHA_DAEMON=<file>.")
endif()

# The upstream version, from the daemon itself.
function(_ganesha_version ret)
	execute_process(COMMAND ${GANESHA_DAEMON} -v OUTPUT_VARIABLE out ERROR_VARIABLE out)
	if(NOT out MATCHES "Release = V([0-9][0-9A-Za-z.~-]*)")
		message(FATAL_ERROR "${GANESHA_DAEMON} -v does not tell a version: ${out}")
	endif()
	set(${ret} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

# Package and version to ask apt for; empty where dpkg does not own the daemon.
function(_ganesha_source_package ret_package ret_version)
	set(${ret_package} "" PARENT_SCOPE)
	set(${ret_version} "" PARENT_SCOPE)
	find_program(DPKG_QUERY dpkg-query)
	mark_as_advanced(DPKG_QUERY)
	if(NOT DPKG_QUERY)
		return()
	endif()
	execute_process(COMMAND ${DPKG_QUERY} -S ${GANESHA_DAEMON}
		OUTPUT_VARIABLE owner RESULT_VARIABLE rc ERROR_QUIET)
	if(NOT rc EQUAL 0)
		return()
	endif()
	string(REGEX REPLACE "[:,].*" "" owner "${owner}")
	execute_process(
		COMMAND ${DPKG_QUERY} -W -f "\${source:Package};\${source:Version}" ${owner}
		OUTPUT_VARIABLE source)
	list(GET source 0 package)
	list(GET source 1 version)
	set(${ret_package} ${package} PARENT_SCOPE)
	set(${ret_version} ${version} PARENT_SCOPE)
endfunction()

# The library that the dynamic linker gives to the daemon. Not kept in the cache:
# after an upgrade of the daemon it is another one.
if(NOT GANESHA_LIBRARY)
	execute_process(COMMAND ldd ${GANESHA_DAEMON} OUTPUT_VARIABLE _out ERROR_VARIABLE _err)
	if(NOT _out MATCHES "libganesha_nfsd[^ ]* => ([^ ]+)")
		message(FATAL_ERROR "ldd ${GANESHA_DAEMON} names no libganesha_nfsd.so: "
			"${_out}${_err} Remedy: -DGANESHA_LIBRARY=<file>.")
	endif()
	set(GANESHA_LIBRARY ${CMAKE_MATCH_1})
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${GANESHA_LIBRARY})

# The folder for FSALs is compiled into the library.
if(NOT GANESHA_FSAL_DIR)
	file(STRINGS ${GANESHA_LIBRARY} _folders REGEX "^/[^ ]*/ganesha$")
	set(_found "")
	foreach(_folder ${_folders})
		file(GLOB _fsals ${_folder}/libfsal*.so)
		if(_fsals)
			set(_found ${_folder})
		endif()
	endforeach()
	if(NOT _found)
		message(FATAL_ERROR "No folder that ${GANESHA_LIBRARY} mentions holds an FSAL "
			"(${_folders}). Remedy: apt-get install nfs-ganesha-vfs, or "
			"-DGANESHA_FSAL_DIR=<folder>.")
	endif()
	set(GANESHA_FSAL_DIR ${_found})
endif()

_ganesha_version(GANESHA_VERSION)

# ---- its source --------------------------------------------------------------

# Downloads the archive unless it is there; returns its path.
function(_ganesha_download ret)
	_ganesha_source_package(package version)
	if(NOT package)
		message(FATAL_ERROR "${GANESHA_DAEMON} does not belong to a Debian package, "
			"so its source can't be fetched. Remedy: unpack the source of "
			"nfs-ganesha ${GANESHA_VERSION} and give -DGANESHA_SOURCE_DIR=<folder>.")
	endif()
	message(STATUS "Ganesha: source of ${package} ${version} in ${GANESHA_CACHE_DIR}")
	execute_process(
		COMMAND ${_ganesha_config_dir}/fetch-ganesha-source ${package} ${version}
			${GANESHA_CACHE_DIR}
		OUTPUT_VARIABLE archive ERROR_VARIABLE err RESULT_VARIABLE rc
		OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(NOT rc EQUAL 0)
		message(FATAL_ERROR "The source of ${package} ${version}, needed for its headers, "
			"could not be fetched.\n${err}\nRemedy: make the version available to "
			"apt-get source, or unpack it yourself and give "
			"-DGANESHA_SOURCE_DIR=<folder>.")
	endif()
	set(${ret} ${archive} PARENT_SCOPE)
endfunction()

# Returns the folder that holds include/, from what the user gave or from apt.
function(_ganesha_source ret)
	if(GANESHA_SOURCE_DIR)
		set(top ${GANESHA_SOURCE_DIR})
	else()
		set(top ${CMAKE_BINARY_DIR}/ganesha-source-${GANESHA_VERSION})
		if(NOT EXISTS ${top}/unpacked)
			_ganesha_download(archive)
			file(REMOVE_RECURSE ${top})
			file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${top})
			file(TOUCH ${top}/unpacked)
		endif()
	endif()
	file(GLOB found ${top}/include/config-h.in.cmake ${top}/src/include/config-h.in.cmake
		${top}/*/src/include/config-h.in.cmake)
	if(NOT found)
		message(FATAL_ERROR "${top} is not Ganesha's source: it has no "
			"src/include/config-h.in.cmake. Remedy: correct "
			"-DGANESHA_SOURCE_DIR=<folder>, or leave it out.")
	endif()
	list(GET found 0 template)
	string(REGEX REPLACE "/include/config-h.in.cmake$" "" found ${template})
	set(${ret} ${found} PARENT_SCOPE)
endfunction()

_ganesha_source(_ganesha_src)
include(${_ganesha_config_dir}/GaneshaConfig.cmake)
set(_ganesha_include ${CMAKE_BINARY_DIR}/ganesha-include)
ganesha_write_config_h(${_ganesha_src} ${_ganesha_include})

# ---- targets -----------------------------------------------------------------

find_path(NTIRPC_INCLUDE_DIR rpc/xdr_inline.h PATH_SUFFIXES ntirpc)
find_library(NTIRPC_LIBRARY ntirpc)
if(NOT NTIRPC_INCLUDE_DIR OR NOT NTIRPC_LIBRARY)
	message(FATAL_ERROR "ntirpc's headers are missing. Remedy: apt-get install libntirpc-dev.")
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(DBUS REQUIRED IMPORTED_TARGET dbus-1)
pkg_check_modules(URCU_BP REQUIRED IMPORTED_TARGET liburcu-bp)

# Imported targets: their folders are system folders to the compiler, so that
# its warnings are about our code only.
if(NOT TARGET Ganesha::headers)
	add_library(Ganesha::headers INTERFACE IMPORTED)
	set_target_properties(Ganesha::headers PROPERTIES
		INTERFACE_INCLUDE_DIRECTORIES "${_ganesha_include};${_ganesha_src}/include;\
${_ganesha_src}/include/os/linux;${NTIRPC_INCLUDE_DIR}"
		INTERFACE_COMPILE_DEFINITIONS "_FILE_OFFSET_BITS=64;LINUX"
		INTERFACE_LINK_LIBRARIES "PkgConfig::DBUS;PkgConfig::URCU_BP;${NTIRPC_LIBRARY}")
	add_library(Ganesha::nfsd SHARED IMPORTED)
	set_target_properties(Ganesha::nfsd PROPERTIES IMPORTED_LOCATION ${GANESHA_LIBRARY}
		INTERFACE_LINK_LIBRARIES Ganesha::headers)
endif()
set(GANESHA_PRIVATE_CONFIG_DIR ${_ganesha_src}/config_parsing)
ganesha_check_layout(Ganesha::headers ${GANESHA_LIBRARY})

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ganesha
	REQUIRED_VARS GANESHA_LIBRARY GANESHA_FSAL_DIR GANESHA_PRIVATE_CONFIG_DIR
	VERSION_VAR GANESHA_VERSION)
