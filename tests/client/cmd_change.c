/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Operations on existing names and attributes. */
#include "commands.h"

int cmd_link(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(LINK);
	LINK3args args;
	LINK3res res = { 0 };
	struct handle file, parent;
	int rc = nfs3_walk(nfs, argv[1], &file);

	(void)argc;
	if (rc == EXIT_PASS)
		rc = nfs3_place(nfs, argv[2], &parent, &args.link);
	args.file = handle_xdr(&file);
	return rc ? rc : nfs3_call(nfs, &proc, &args, &res);
}

int cmd_rename(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(RENAME);
	RENAME3args args;
	RENAME3res res = { 0 };
	struct handle from, to;
	int rc = nfs3_place(nfs, argv[1], &from, &args.from);

	(void)argc;
	if (rc == EXIT_PASS)
		rc = nfs3_place(nfs, argv[2], &to, &args.to);
	return rc ? rc : nfs3_call(nfs, &proc, &args, &res);
}

int cmd_remove(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(REMOVE);
	REMOVE3args args;
	REMOVE3res res = { 0 };
	struct handle parent;
	int rc = nfs3_place(nfs, argv[1], &parent, &args.object);

	(void)argc;
	return rc ? rc : nfs3_call(nfs, &proc, &args, &res);
}

int cmd_rmdir(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(RMDIR);
	RMDIR3args args;
	RMDIR3res res = { 0 };
	struct handle parent;
	int rc = nfs3_place(nfs, argv[1], &parent, &args.object);

	(void)argc;
	return rc ? rc : nfs3_call(nfs, &proc, &args, &res);
}

int cmd_setattr(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(SETATTR);
	const struct opt_time *guard = &nfs->options->guard;
	SETATTR3args args = { .new_attributes = sattr_from_options(nfs->options) };
	SETATTR3res res = { 0 };
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	args.object = handle_xdr(&fh);
	args.guard.check = guard->set;
	args.guard.sattrguard3_u.obj_ctime.seconds = (u_int)guard->value.tv_sec;
	args.guard.sattrguard3_u.obj_ctime.nseconds = (u_int)guard->value.tv_nsec;
	return rc ? rc : nfs3_call(nfs, &proc, &args, &res);
}
