/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prints the size of the type of each object that libganesha_nfsd exports and whose type is in a
 * public header, for FindGanesha.cmake to compare with the library's symbol table.
 */
#include "config.h"

#include <stdio.h>

#include "config_parsing.h"
#include "fsal.h"
#include "fsal_pnfs.h"
#include "nfs_core.h"

int main(void)
{
	printf("nfs_param %zu\n", sizeof(nfs_param));
	printf("def_pnfs_ds_ops %zu\n", sizeof(struct fsal_pnfs_ds_ops));
	printf("err_type %zu\n", sizeof(struct config_error_type));
	printf("fs_lock %zu\n", sizeof(pthread_rwlock_t));
	return 0;
}
