/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Does the daemon that loads us have the structures we were compiled against?
 *
 * Ganesha's public structures change their layout with build options (USE_DBUS, _USE_NLM, …), and
 * no version number says so. The global nfs_param is made of most of them: its size in the daemon's
 * symbol table is compared with ours, and fields from its beginning to its end must hold what
 * Ganesha's own parser can have put there.
 */
#include "internal.h"

#include <dlfcn.h>
#include <link.h>

#include "nfs_core.h"

static int size_check(void)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (dladdr1(&nfs_param, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL)
		return 0; /* stripped: the fields have to do */
	if (symbol->st_size == sizeof(nfs_param))
		return 0;
	LogCrit(COMPONENT_FSAL,
		"FSAL_" DB_MODULE_NAME
		": nfs_param has %zu bytes in this daemon and %zu in this module, built for "
		"another nfs-ganesha (%s). Rebuild it against the installed version.",
		(size_t)symbol->st_size, sizeof(nfs_param), GANESHA_VERSION);
	return -EPROTO;
}

static const char *bad_field(void)
{
	const nfs_core_parameter_t *core = &nfs_param.core_param;

	if (core->port[P_NFS] == 0 || core->program[P_NFS] < 1)
		return "NFS_Port or NFS_Program";
	if (core->rpc.max_send_buffer_size < 1 || core->rpc.max_send_buffer_size > 1048576 * 9)
		return "MaxRPCSendBufferSize";
	if (nfs_param.nfsv4_param.lease_lifetime > 180 || nfs_param.nfsv4_param.grace_period > 270)
		return "Lease_Lifetime or Grace_Period";
	return NULL;
}

int abi_check(void)
{
	const char *field;
	int rc = size_check();

	if (rc != 0)
		return rc;
	field = bad_field();
	if (field == NULL)
		return 0;
	LogCrit(COMPONENT_FSAL,
		"FSAL_" DB_MODULE_NAME
		": %s does not read back from the daemon's nfs_param: the module was built with "
		"other options (%s). Rebuild it against the installed version.",
		field, GANESHA_VERSION);
	return -EPROTO;
}
