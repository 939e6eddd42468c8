/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The subcommands. Each gets a session (connected or not, as main.c's table
 * says) and its positional arguments from argv[1]; each returns an exit status
 * of options.h and prints `key=value` lines.
 */
#ifndef NFSCLIENT_COMMANDS_H
#define NFSCLIENT_COMMANDS_H

#include "nfs3.h"

typedef int (*command_fn)(struct nfs3 *nfs, int argc, char **argv);

/* cmd_write.c, cmd_read.c, cmd_copy.c */
int cmd_write(struct nfs3 *nfs, int argc, char **argv);
int cmd_read(struct nfs3 *nfs, int argc, char **argv);
int cmd_verify(struct nfs3 *nfs, int argc, char **argv);
int cmd_put(struct nfs3 *nfs, int argc, char **argv);
int cmd_get(struct nfs3 *nfs, int argc, char **argv);
int cmd_readh(struct nfs3 *nfs, int argc, char **argv);
int cmd_writeh(struct nfs3 *nfs, int argc, char **argv);
int cmd_commit(struct nfs3 *nfs, int argc, char **argv);

/* cmd_query.c */
int cmd_null(struct nfs3 *nfs, int argc, char **argv);
int cmd_lookup(struct nfs3 *nfs, int argc, char **argv);
int cmd_getattr(struct nfs3 *nfs, int argc, char **argv);
int cmd_readlink(struct nfs3 *nfs, int argc, char **argv);
int cmd_access(struct nfs3 *nfs, int argc, char **argv);
int cmd_fsinfo(struct nfs3 *nfs, int argc, char **argv);
int cmd_fsstat(struct nfs3 *nfs, int argc, char **argv);
int cmd_pathconf(struct nfs3 *nfs, int argc, char **argv);

/* cmd_readdir.c */
int cmd_readdir(struct nfs3 *nfs, int argc, char **argv);

/* cmd_create.c */
int cmd_create(struct nfs3 *nfs, int argc, char **argv);
int cmd_mkdir(struct nfs3 *nfs, int argc, char **argv);
int cmd_mknod(struct nfs3 *nfs, int argc, char **argv);
int cmd_symlink(struct nfs3 *nfs, int argc, char **argv);

/* cmd_change.c */
int cmd_link(struct nfs3 *nfs, int argc, char **argv);
int cmd_rename(struct nfs3 *nfs, int argc, char **argv);
int cmd_remove(struct nfs3 *nfs, int argc, char **argv);
int cmd_rmdir(struct nfs3 *nfs, int argc, char **argv);
int cmd_setattr(struct nfs3 *nfs, int argc, char **argv);

/* Shared: cmd_create.c, cmd_copy.c, cmd_query.c */

/* CREATE UNCHECKED with size 0 and, by default, mode 0644. */
int nfs3_create(struct nfs3 *nfs, const char *path, struct handle *ret);
/* COMMIT of the whole file. */
int nfs3_commit(struct nfs3 *nfs, const struct handle *fh, writeverf3 ret_verf);
/* What --mode, --owner, --group, --truncate, --atime, --mtime ask for. */
sattr3 sattr_from_options(const struct options *options);
const char *type_name(ftype3 type);
const char *stable_name(uint32_t stable);
void attributes_print(const fattr3 *attributes);
void verf_print(const char *key, const char verf[8]);

#endif
