/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Operations that change nothing: one call each, printed field by field. */
#include "commands.h"

#include <stdio.h>

typedef unsigned long long ull;

static const char *const type_names[] = { "?", "REG", "DIR", "BLK", "CHR", "LNK", "SOCK", "FIFO" };

const char *type_name(ftype3 type)
{
	return type_names[(unsigned int)type <= NF3FIFO ? type : 0];
}

const char *stable_name(uint32_t stable)
{
	static const char *const names[] = { "unstable", "datasync", "filesync" };

	return stable <= FILE_SYNC ? names[stable] : "?";
}

void verf_print(const char *key, const char verf[8])
{
	int i;

	printf("%s=", key);
	for (i = 0; i < 8; i++)
		printf("%02x", (unsigned char)verf[i]);
	printf("\n");
}

void attributes_print(const fattr3 *a)
{
	printf("type=%s\nmode=%04o\nnlink=%u\nuid=%u\ngid=%u\nsize=%llu\nused=%llu\n",
	       type_name(a->type), a->mode, a->nlink, a->uid, a->gid, (ull)a->size, (ull)a->used);
	printf("rdev=%u,%u\nfsid=%llx\nfileid=%llu\n", a->rdev.specdata1, a->rdev.specdata2,
	       (ull)a->fsid, (ull)a->fileid);
	printf("atime=%u.%09u\nmtime=%u.%09u\nctime=%u.%09u\n", a->atime.seconds, a->atime.nseconds,
	       a->mtime.seconds, a->mtime.nseconds, a->ctime.seconds, a->ctime.nseconds);
}

int cmd_null(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = { NFS3_NULL, NULL, NULL };

	(void)argc;
	(void)argv;
	return nfs3_call(nfs, &proc, NULL, NULL);
}

int cmd_lookup(struct nfs3 *nfs, int argc, char **argv)
{
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc == EXIT_PASS)
		handle_print("fh", &fh);
	return rc;
}

int cmd_getattr(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(GETATTR);
	GETATTR3args args;
	GETATTR3res res = { 0 };
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.object = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	if (rc == EXIT_PASS)
		attributes_print(&res.GETATTR3res_u.resok.obj_attributes);
	return rc;
}

int cmd_readlink(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(READLINK);
	READLINK3args args;
	READLINK3res res = { 0 };
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.symlink = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	if (rc == EXIT_PASS)
		printf("target=%s\n", res.READLINK3res_u.resok.data);
	return rc;
}

int cmd_access(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(ACCESS);
	static const char *const names[] = { "read",   "lookup", "modify",
					     "extend", "delete", "execute" };
	ACCESS3args args = { .access = 0x3f };
	ACCESS3res res = { 0 };
	struct handle fh;
	unsigned int i;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.object = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	for (i = 0; rc == EXIT_PASS && i < 6; i++)
		printf("%s=%u\n", names[i], res.ACCESS3res_u.resok.access >> i & 1);
	return rc;
}

int cmd_fsinfo(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(FSINFO);
	FSINFO3args args;
	FSINFO3res res = { 0 };
	FSINFO3resok *ok = &res.FSINFO3res_u.resok;
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.fsroot = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	if (rc)
		return rc;
	printf("rtmax=%u\nrtpref=%u\nrtmult=%u\nwtmax=%u\nwtpref=%u\nwtmult=%u\ndtpref=%u\n",
	       ok->rtmax, ok->rtpref, ok->rtmult, ok->wtmax, ok->wtpref, ok->wtmult, ok->dtpref);
	printf("maxfilesize=%llu\ntime_delta=%u.%09u\nproperties=%#x\n", (ull)ok->maxfilesize,
	       ok->time_delta.seconds, ok->time_delta.nseconds, ok->properties);
	return EXIT_PASS;
}

int cmd_fsstat(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(FSSTAT);
	FSSTAT3args args;
	FSSTAT3res res = { 0 };
	FSSTAT3resok *ok = &res.FSSTAT3res_u.resok;
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.fsroot = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	if (rc == EXIT_PASS)
		printf("tbytes=%llu\nfbytes=%llu\nabytes=%llu\ntfiles=%llu\nffiles=%llu\n"
		       "afiles=%llu\ninvarsec=%u\n",
		       (ull)ok->tbytes, (ull)ok->fbytes, (ull)ok->abytes, (ull)ok->tfiles,
		       (ull)ok->ffiles, (ull)ok->afiles, ok->invarsec);
	return rc;
}

int cmd_pathconf(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(PATHCONF);
	PATHCONF3args args;
	PATHCONF3res res = { 0 };
	PATHCONF3resok *ok = &res.PATHCONF3res_u.resok;
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.object = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	if (rc == EXIT_PASS)
		printf("linkmax=%u\nname_max=%u\nno_trunc=%u\nchown_restricted=%u\n", ok->linkmax,
		       ok->name_max, ok->no_trunc, ok->chown_restricted);
	return rc;
}
