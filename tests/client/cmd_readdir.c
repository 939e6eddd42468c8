/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `readdir`: pages through a directory with READDIR or READDIRPLUS and prints a
 * line per entry, the name last. Control characters and backslashes in names
 * are printed as \xHH.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

struct listing {
	struct nfs3 *nfs;
	struct handle dir;
	uint64_t cookie;
	cookieverf3 verf;
	uint64_t entries, pages;
	bool eof;
};

static bool full(const struct listing *listing)
{
	uint64_t limit = listing->nfs->options->limit;

	return limit > 0 && listing->entries >= limit;
}

static void print_name(const char *name)
{
	printf(" name=");
	for (; *name; name++) {
		if ((unsigned char)*name < ' ' || *name == '\\')
			printf("\\x%02x", (unsigned char)*name);
		else
			putchar(*name);
	}
	putchar('\n');
}

static void note_entry(struct listing *listing, uint64_t cookie)
{
	listing->cookie = cookie;
	listing->entries++;
}

static int page(struct listing *listing)
{
	static const struct nfs3_proc proc = NFS3_PROC(READDIR);
	READDIR3args args = { .dir = handle_xdr(&listing->dir), .cookie = listing->cookie };
	READDIR3res res = { 0 };
	READDIR3resok *ok = &res.READDIR3res_u.resok;
	entry3 *entry;
	int rc;

	args.count = listing->nfs->options->count ? (u_int)listing->nfs->options->count : 32768;
	memcpy(args.cookieverf, listing->verf, sizeof(args.cookieverf));
	rc = nfs3_call(listing->nfs, &proc, &args, &res);
	if (rc)
		return rc;
	memcpy(listing->verf, ok->cookieverf, sizeof(listing->verf));
	for (entry = ok->reply.entries; entry && !full(listing); entry = entry->nextentry) {
		printf("fileid=%llu cookie=%llu", (unsigned long long)entry->fileid,
		       (unsigned long long)entry->cookie);
		print_name(entry->name);
		note_entry(listing, entry->cookie);
	}
	listing->eof = ok->reply.eof && !entry;
	return EXIT_PASS;
}

static void print_plus(const entryplus3 *entry)
{
	const post_op_attr *attr = &entry->name_attributes;
	const nfs_fh3 *fh = &entry->name_handle.post_op_fh3_u.handle;
	uint32_t i;

	printf("fileid=%llu cookie=%llu", (unsigned long long)entry->fileid,
	       (unsigned long long)entry->cookie);
	if (attr->attributes_follow)
		printf(" type=%s size=%llu", type_name(attr->post_op_attr_u.attributes.type),
		       (unsigned long long)attr->post_op_attr_u.attributes.size);
	if (entry->name_handle.handle_follows) {
		printf(" fh=");
		for (i = 0; i < fh->data.data_len; i++)
			printf("%02x", (unsigned char)fh->data.data_val[i]);
	}
	print_name(entry->name);
}

static int page_plus(struct listing *listing)
{
	static const struct nfs3_proc proc = NFS3_PROC(READDIRPLUS);
	READDIRPLUS3args args = { .dir = handle_xdr(&listing->dir), .cookie = listing->cookie };
	READDIRPLUS3res res = { 0 };
	READDIRPLUS3resok *ok = &res.READDIRPLUS3res_u.resok;
	entryplus3 *entry;
	int rc;

	args.dircount = listing->nfs->options->count ? (u_int)listing->nfs->options->count : 32768;
	args.maxcount = args.dircount;
	memcpy(args.cookieverf, listing->verf, sizeof(args.cookieverf));
	rc = nfs3_call(listing->nfs, &proc, &args, &res);
	if (rc)
		return rc;
	memcpy(listing->verf, ok->cookieverf, sizeof(listing->verf));
	for (entry = ok->reply.entries; entry && !full(listing); entry = entry->nextentry) {
		print_plus(entry);
		note_entry(listing, entry->cookie);
	}
	listing->eof = ok->reply.eof && !entry;
	return EXIT_PASS;
}

int cmd_readdir(struct nfs3 *nfs, int argc, char **argv)
{
	struct listing listing = { .nfs = nfs, .cookie = nfs->options->cookie };
	uint64_t before;
	int rc = nfs3_walk_arg(nfs, argc, argv, &listing.dir);

	while (rc == EXIT_PASS && !listing.eof && !full(&listing)) {
		before = listing.entries;
		rc = nfs->options->plus ? page_plus(&listing) : page(&listing);
		listing.pages++;
		if (rc == EXIT_PASS && !listing.eof && !full(&listing) &&
		    listing.entries == before) {
			printf("error=page without entries and without eof\n");
			rc = EXIT_RPC;
		}
	}
	if (rc == EXIT_PASS)
		printf("entries=%llu\npages=%llu\neof=%d\n", (unsigned long long)listing.entries,
		       (unsigned long long)listing.pages, listing.eof);
	return rc;
}
