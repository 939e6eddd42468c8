/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A ganesha.conf as Ganesha's own parser sees it.
 *
 * The library's loader (load_config_from_parse) tells neither line numbers nor signs and stops at
 * what it does not like, so the tree is walked as it is. This is the only file that knows its
 * structure, which is private to Ganesha and differs between versions.
 *
 * One tree at a time: the parser keeps a list of all blocks in a global.
 */
#ifndef DROPBEHIND_CTL_TREE_H
#define DROPBEHIND_CTL_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct config_node; /* Ganesha's: a block or a statement */

/** One line of the parser about what it could not read. */
struct tree_message {
	char *file; /* NULL if it does not say where */
	int line;
	char *text;
	bool is_end; /* it gave up there, and the tree is empty */
};

struct tree {
	void *root;
	struct tree_message *messages;
	size_t count;
	bool fatal; /* the daemon would not start with this file */
};

struct place {
	const char *file;
	int line;
};

/** The value of a statement; the strings live as long as the tree. */
struct value {
	const char *text;   /* the first term; NULL if there is none */
	char sign;	    /* '-', '~' or 0: Ganesha's reader keeps it apart */
	int base;	    /* of a number: 10, 16 or 8; 0 if it is none */
	unsigned int terms; /* separated by commas */
};

/** tree_read - parse @path and what it includes. Returns 0 or -errno (nothing to free then). */
int tree_read(const char *path, struct tree *ret_tree);
void tree_free(struct tree *tree);

const struct config_node *tree_top(const struct tree *tree);

/** tree_next - the next child of block @parent after @after (NULL: the first), NULL at the end. */
const struct config_node *tree_next(const struct config_node *parent,
				    const struct config_node *after);

bool node_is_block(const struct config_node *node);
bool node_is(const struct config_node *node, const char *name); /* names ignore case */
const char *node_name(const struct config_node *node);
struct place node_place(const struct config_node *node);
void node_value(const struct config_node *statement, struct value *ret_value);

#endif
