/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Ganesha's parser and its tree: see tree.h. */
#include "config.h"

#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_url.h"
#include "config_parsing.h"
#include "log.h"
#include "nfs_init.h"

#include "analyse.h" /* needs config_parsing.h before it */

/*
 * Without nfs_prereq_init() the first line that the parser logs ends the program. What it logs it
 * also puts into its error buffer, but for the place where it gave up: so the log goes to a file in
 * memory, whose last line is looked at then.
 */
static int log_fd = -1;

static int parser_init(void)
{
	char path[64];

	if (log_fd >= 0)
		return 0;
	log_fd = memfd_create("log", MFD_CLOEXEC);
	if (log_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", log_fd);
	nfs_prereq_init("dropbehindctl", "localhost", NIV_CRIT, path, false);
	config_url_init();
	return 0;
}

static int readable(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = -EISDIR;
	close(fd);
	return rc;
}

/* "FILE:LINE" up to @end, into @message */
static void place_take(struct tree_message *message, char *place, char *end)
{
	char *colon;

	*end = '\0';
	colon = strrchr(place, ':');
	if (colon == NULL || strncmp(place, "(null)", colon - place) == 0)
		return;
	*colon = '\0';
	message->line = atoi(colon + 1);
	message->file = strdup(place);
}

/* The place in the last "Config file (FILE:LINE) error: syntax error" of the log, conf_yacc.y */
static void place_of_end(struct tree_message *message)
{
	static const char start[] = "Config file (";
	char *last = NULL;
	char log[8192];
	off_t size = lseek(log_fd, 0, SEEK_END);
	off_t from = size > (off_t)sizeof(log) - 1 ? size - (off_t)sizeof(log) + 1 : 0;
	ssize_t length = pread(log_fd, log, sizeof(log) - 1, from);
	char *end;

	if (length <= 0)
		return;
	log[length] = '\0';
	for (char *at = strstr(log, start); at != NULL; at = strstr(at + 1, start))
		last = at + strlen(start);
	end = last == NULL ? NULL : strstr(last, ") error");
	if (end != NULL)
		place_take(message, last, end);
}

/* "Config File (FILE:LINE): TEXT", analyse.c of Ganesha */
static void message_add(char *line, void *arg, struct config_error_type *errors)
{
	static const char start[] = "Config File (";
	struct tree *tree = arg;
	struct tree_message message = { 0 };
	char *end = strstr(line, "): ");

	(void)errors;
	message.text = strdup(end != NULL ? end + 3 : line);
	if (end != NULL && strncmp(line, start, strlen(start)) == 0)
		place_take(&message, line + strlen(start), end);
	tree->messages = realloc(tree->messages, (tree->count + 1) * sizeof(message));
	if (tree->messages == NULL || message.text == NULL)
		abort();
	if (strstr(message.text, "syntax errors found") != NULL) {
		message.is_end = true;
		free(message.file);
		message.file = NULL;
		place_of_end(&message);
	}
	tree->messages[tree->count++] = message;
}

int tree_read(const char *path, struct tree *ret_tree)
{
	struct config_error_type errors;
	struct tree tree = { 0 };
	char *name = strdup(path);
	int rc = readable(path);

	if (name == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = parser_init();
	if (rc == 0)
		rc = init_error_type(&errors) ? 0 : -ENOMEM;
	if (rc == 0) {
		tree.root = config_ParseFile(name, &errors);
		tree.fatal = tree.root == NULL || config_error_is_fatal(&errors);
		report_config_errors(&errors, &tree, message_add);
		*ret_tree = tree;
	}
	free(name);
	return rc;
}

void tree_free(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		free(tree->messages[i].file);
		free(tree->messages[i].text);
	}
	free(tree->messages);
	config_Free(tree->root);
	*tree = (struct tree){ 0 };
}

const struct config_node *tree_top(const struct tree *tree)
{
	const struct config_root *root = tree->root;

	return root == NULL ? NULL : &root->root;
}

const struct config_node *tree_next(const struct config_node *parent,
				    const struct config_node *after)
{
	const struct glist_head *head = &parent->u.nterm.sub_nodes;
	const struct glist_head *at = after == NULL ? head->next : after->node.next;

	return at == head ? NULL : container_of(at, const struct config_node, node);
}

bool node_is_block(const struct config_node *node)
{
	return node->type == TYPE_BLOCK;
}

const char *node_name(const struct config_node *node)
{
	return node->u.nterm.name;
}

bool node_is(const struct config_node *node, const char *name)
{
	return strcasecmp(node->u.nterm.name, name) == 0;
}

struct place node_place(const struct config_node *node)
{
	return (struct place){ .file = node->filename, .line = node->linenumber };
}

void node_value(const struct config_node *statement, struct value *ret_value)
{
	const struct config_node *term = tree_next(statement, NULL);
	struct value value = { 0 };

	for (const struct config_node *t = term; t != NULL; t = tree_next(statement, t))
		value.terms++;
	if (term != NULL) {
		value.text = term->u.term.varvalue;
		if (term->u.term.op_code != NULL)
			value.sign = term->u.term.op_code[0];
		if (term->u.term.type == TERM_DECNUM)
			value.base = 10;
		else if (term->u.term.type == TERM_HEXNUM)
			value.base = 16;
		else if (term->u.term.type == TERM_OCTNUM)
			value.base = 8;
	}
	*ret_value = value;
}
