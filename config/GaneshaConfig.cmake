# SPDX-License-Identifier: LGPL-3.0-or-later
#
# With which options was the installed daemon built? Part of FindGanesha.
#
# An option that leaves a trace in the library - a library it needs, a function
# name or an exported symbol - is read from there. All others have the default
# that Ganesha's own CMakeLists.txt declares. What came out is printed, and
# checked by the sizes of the objects that the library exports.

# <macro> <kind> <regular expression>: set if the library shows it.
#   needed  a shared library it is linked with
#   string  a whole string in it (function names that its messages carry)
#   symbol  an exported symbol
set(_ganesha_traces
	"USE_DBUS needed libdbus-1"
	"_HAVE_GSSAPI needed libgssapi"
	"HAVE_KRB5 needed libkrb5"
	"USE_NFSIDMAP needed libnfsidmap"
	"_MSPAC_SUPPORT needed libwbclient"
	"USE_CAPS needed libcap"
	"USE_BLKID needed libblkid"
	"USE_BTRFSUTIL needed libbtrfsutil"
	"USE_LTTNG needed liblttng"
	"_USE_9P string _9p_create_socket_V4"
	"_USE_9P_RDMA string _9p_rdma_dispatcher_thread"
	"_USE_NFS3 string nfs3_fsinfo"
	"_USE_NLM string nlm4_Lock"
	"_USE_RQUOTA string rquota_getquota"
	"USE_NFSACL3 string nfs3_acl_2_fsal_acl"
	"_USE_CB_SIMULATOR string org.ganesha.nfsd.cbsim"
	"GSH_CAN_HOST_LOCAL_FS symbol resolve_posix_filesystem"
)
# <macro> <option of Ganesha's CMakeLists.txt that it follows>
set(_ganesha_defaults
	"RPCBIND RPCBIND" "_NO_TCP_REGISTER _NO_TCP_REGISTER" "_USE_NFS_RDMA USE_NFS_RDMA"
	"DEBUG_SAL DEBUG_SAL" "DEBUG_MDCACHE DEBUG_MDCACHE" "ENABLE_LOCKTRACE ENABLE_LOCKTRACE"
	"ENABLE_RFC_ACL ENABLE_RFC_ACL" "_VALGRIND_MEMCHECK _VALGRIND_MEMCHECK"
)

function(_ganesha_read_traces ret_on)
	execute_process(COMMAND ${CMAKE_READELF} -d ${GANESHA_LIBRARY} OUTPUT_VARIABLE all_needed)
	execute_process(COMMAND ${CMAKE_NM} -D --defined-only ${GANESHA_LIBRARY}
		OUTPUT_VARIABLE all_symbols)
	file(STRINGS ${GANESHA_LIBRARY} all_strings REGEX "^[A-Za-z0-9_.]+$")
	foreach(trace ${_ganesha_traces})
		separate_arguments(trace)
		list(GET trace 0 macro)
		list(GET trace 1 kind)
		list(GET trace 2 what)
		string(REPLACE "." "[.]" what ${what})
		if((kind STREQUAL "needed" AND all_needed MATCHES "\\[${what}[^]]*\\]")
			OR (kind STREQUAL "symbol" AND all_symbols MATCHES " ${what}\n")
			OR (kind STREQUAL "string" AND ";${all_strings};" MATCHES ";${what};"))
			list(APPEND on ${macro})
		endif()
	endforeach()
	set(${ret_on} ${on} PARENT_SCOPE)
endfunction()

function(_ganesha_read_defaults source ret_on)
	file(STRINGS ${source}/CMakeLists.txt options REGEX "^ *g?option *\\(.*ON *\\)")
	foreach(default ${_ganesha_defaults})
		separate_arguments(default)
		list(GET default 0 macro)
		list(GET default 1 option)
		if(options MATCHES "option *\\( *${option} ")
			list(APPEND on ${macro})
		endif()
	endforeach()
	set(${ret_on} ${on} PARENT_SCOPE)
endfunction()

# Writes FOLDER/config.h for the installed daemon from the template in SOURCE.
function(ganesha_write_config_h source folder)
	file(STRINGS ${source}/CMakeLists.txt numbers
		REGEX "^set\\(GANESHA_(MAJOR|MINOR|EXTRA)_VERSION")
	if(NOT numbers MATCHES "MAJOR_VERSION ([0-9]+).*MINOR_VERSION ([.0-9]*)\\)")
		message(FATAL_ERROR "${source}/CMakeLists.txt does not tell its version.")
	endif()
	set(GANESHA_MAJOR_VERSION ${CMAKE_MATCH_1})
	set(GANESHA_MINOR_VERSION ${CMAKE_MATCH_2})
	set(source_version ${GANESHA_MAJOR_VERSION}${GANESHA_MINOR_VERSION})
	if(NOT source_version STREQUAL GANESHA_VERSION)
		message(FATAL_ERROR "The source in ${source} is version ${source_version}, the "
			"installed daemon is ${GANESHA_VERSION}. "
			"Remedy: correct -DGANESHA_SOURCE_DIR=<folder>.")
	endif()
	_ganesha_read_traces(traced)
	_ganesha_read_defaults(${source} default)
	foreach(macro ${traced} ${default} LINUX HAVE_STRING_H HAVE_STRNLEN HAVE_DAEMON)
		set(${macro} ON)
	endforeach()
	if(CMAKE_C_BYTE_ORDER STREQUAL LITTLE_ENDIAN)
		set(LITTLEEND ON)
	endif()
	include(CheckSymbolExists)
	check_symbol_exists(urcu_ref_get_unless_zero urcu/ref.h HAVE_URCU_REF_GET_UNLESS_ZERO)
	set(GANESHA_BUILD_RELEASE 1)
	set(FSAL_DESTINATION ${GANESHA_FSAL_DIR})
	set(SYSCONFDIR /etc)
	set(SYSSTATEDIR /var)
	set(RUNTIMEDIR /var/run/ganesha)
	configure_file(${source}/include/config-h.in.cmake ${folder}/config.h)
	list(JOIN traced " " traced)
	list(JOIN default " " default)
	message(STATUS "Ganesha ${GANESHA_VERSION}: built with ${traced} (seen in the library), "
		"${default} (defaults of its CMakeLists.txt)")
endfunction()

# Compares the sizes of objects that the library exports with what the headers
# make of their types.
function(ganesha_check_layout headers library)
	get_target_property(includes ${headers} INTERFACE_INCLUDE_DIRECTORIES)
	set(probe ${_ganesha_config_dir}/ganesha-layout.c)
	try_run(ran compiled ${CMAKE_BINARY_DIR}/ganesha-layout ${probe}
		CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${includes};${DBUS_INCLUDE_DIRS}"
		COMPILE_DEFINITIONS -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DLINUX
		COMPILE_OUTPUT_VARIABLE log RUN_OUTPUT_VARIABLE ours)
	if(NOT compiled)
		message(FATAL_ERROR "Ganesha's headers do not compile. Remedy: install what is "
			"missing; config/packages-build lists it.\n${log}")
	endif()
	execute_process(COMMAND ${CMAKE_NM} -D -S --defined-only ${library} OUTPUT_VARIABLE theirs)
	string(REGEX MATCHALL "[a-z_0-9]+ [0-9]+" ours "${ours}")
	foreach(object ${ours})
		string(REPLACE " " ";" object ${object})
		list(GET object 0 name)
		list(GET object 1 size)
		if(NOT theirs MATCHES "[0-9a-f]+ ([0-9a-f]+) [BDR] ${name}\n")
			message(FATAL_ERROR "${library} exports no ${name} to compare its size.")
		endif()
		math(EXPR their_size "0x${CMAKE_MATCH_1}")
		if(NOT their_size EQUAL size)
			message(FATAL_ERROR "${name} has ${their_size} bytes in ${library} and "
				"${size} by the headers and the options derived above: the module "
				"would misread the daemon. This build of nfs-ganesha has options "
				"that config/GaneshaConfig.cmake does not recognise.")
		endif()
		list(APPEND same "${name} ${size}")
	endforeach()
	list(JOIN same ", " same)
	message(STATUS "Ganesha ${GANESHA_VERSION}: sizes as in the library: ${same}")
endfunction()
