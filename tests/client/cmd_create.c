/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Operations that make an object; each prints the handle it got. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

static void put_time(const struct opt_time *time, time_how *ret_how, nfstime3 *ret)
{
	*ret_how = !time->set	  ? DONT_CHANGE
		   : time->server ? SET_TO_SERVER_TIME
				  : SET_TO_CLIENT_TIME;
	ret->seconds = (u_int)time->value.tv_sec;
	ret->nseconds = (u_int)time->value.tv_nsec;
}

sattr3 sattr_from_options(const struct options *options)
{
	sattr3 sattr = { 0 };

	sattr.mode.set_it = options->mode.set;
	sattr.mode.set_mode3_u.mode = (mode3)options->mode.value;
	sattr.uid.set_it = options->owner.set;
	sattr.uid.set_uid3_u.uid = (uid3)options->owner.value;
	sattr.gid.set_it = options->group.set;
	sattr.gid.set_gid3_u.gid = (gid3)options->group.value;
	sattr.size.set_it = options->new_size.set;
	sattr.size.set_size3_u.size = options->new_size.value;
	put_time(&options->atime, &sattr.atime.set_it, &sattr.atime.set_atime_u.atime);
	put_time(&options->mtime, &sattr.mtime.set_it, &sattr.mtime.set_mtime_u.mtime);
	return sattr;
}

/* Takes the handle of a create's answer, or looks it up when there is none. */
static int take_handle(struct nfs3 *nfs, const char *path, const post_op_fh3 *obj,
		       struct handle *ret)
{
	const nfs_fh3 *fh = &obj->post_op_fh3_u.handle;

	if (!obj->handle_follows)
		return nfs3_walk(nfs, path, ret);
	return handle_from_xdr(ret, fh->data.data_len, fh->data.data_val);
}

static int print_handle(struct nfs3 *nfs, const char *path, const post_op_fh3 *obj)
{
	struct handle fh;
	int rc = take_handle(nfs, path, obj, &fh);

	if (rc == EXIT_PASS)
		handle_print("fh", &fh);
	return rc;
}

static int create(struct nfs3 *nfs, const char *path, const createhow3 *how, struct handle *ret)
{
	static const struct nfs3_proc proc = NFS3_PROC(CREATE);
	CREATE3args args = { .how = *how };
	CREATE3res res = { 0 };
	struct handle parent;
	int rc = nfs3_place(nfs, path, &parent, &args.where);

	if (rc == EXIT_PASS)
		rc = nfs3_call(nfs, &proc, &args, &res);
	return rc ? rc : take_handle(nfs, path, &res.CREATE3res_u.resok.obj, ret);
}

int nfs3_create(struct nfs3 *nfs, const char *path, struct handle *ret)
{
	createhow3 how = { .mode = UNCHECKED };
	sattr3 *sattr = &how.createhow3_u.obj_attributes;

	*sattr = sattr_from_options(nfs->options);
	if (!sattr->mode.set_it)
		sattr->mode.set_mode3_u.mode = 0644;
	sattr->mode.set_it = 1;
	sattr->size.set_it = 1;
	return create(nfs, path, &how, ret);
}

int cmd_create(struct nfs3 *nfs, int argc, char **argv)
{
	createhow3 how = { .mode = nfs->options->create_mode };
	struct handle fh;
	int rc;

	(void)argc;
	if (how.mode == EXCLUSIVE)
		memcpy(how.createhow3_u.verf, &nfs->options->verf, sizeof(createverf3));
	else
		how.createhow3_u.obj_attributes = sattr_from_options(nfs->options);
	rc = create(nfs, argv[1], &how, &fh);
	if (rc == EXIT_PASS)
		handle_print("fh", &fh);
	return rc;
}

int cmd_mkdir(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(MKDIR);
	MKDIR3args args = { .attributes = sattr_from_options(nfs->options) };
	MKDIR3res res = { 0 };
	struct handle parent;
	int rc = nfs3_place(nfs, argv[1], &parent, &args.where);

	(void)argc;
	if (rc == EXIT_PASS)
		rc = nfs3_call(nfs, &proc, &args, &res);
	return rc ? rc : print_handle(nfs, argv[1], &res.MKDIR3res_u.resok.obj);
}

int cmd_symlink(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(SYMLINK);
	SYMLINK3args args = { .symlink = { sattr_from_options(nfs->options), argv[1] } };
	SYMLINK3res res = { 0 };
	struct handle parent;
	int rc = nfs3_place(nfs, argv[2], &parent, &args.where);

	(void)argc;
	if (rc == EXIT_PASS)
		rc = nfs3_call(nfs, &proc, &args, &res);
	return rc ? rc : print_handle(nfs, argv[2], &res.SYMLINK3res_u.resok.obj);
}

/* Fills the kind-dependent part of MKNOD; false for an unknown kind. */
static bool node_from(const struct options *options, const char *kind, mknoddata3 *ret)
{
	static const struct {
		const char *name;
		ftype3 type;
	} kinds[] = { { "fifo", NF3FIFO }, { "sock", NF3SOCK }, { "chr", NF3CHR },
		      { "blk", NF3BLK },   { "reg", NF3REG },	{ "dir", NF3DIR },
		      { "lnk", NF3LNK } };
	devicedata3 device = { sattr_from_options(options),
			       { (u_int)options->major.value, (u_int)options->minor.value } };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kind, kinds[i].name) != 0)
			continue;
		ret->type = kinds[i].type;
		/* Every arm of the union begins with the attributes. */
		ret->mknoddata3_u.chr_device = device;
		return true;
	}
	fprintf(stderr, "nfsclient: mknod: '%s' is none of fifo sock chr blk reg dir lnk\n", kind);
	return false;
}

int cmd_mknod(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(MKNOD);
	MKNOD3args args = { 0 };
	MKNOD3res res = { 0 };
	struct handle parent;
	int rc;

	(void)argc;
	if (!node_from(nfs->options, argv[1], &args.what))
		return EXIT_USAGE;
	rc = nfs3_place(nfs, argv[2], &parent, &args.where);
	if (rc == EXIT_PASS)
		rc = nfs3_call(nfs, &proc, &args, &res);
	return rc ? rc : print_handle(nfs, argv[2], &res.MKNOD3res_u.resok.obj);
}
