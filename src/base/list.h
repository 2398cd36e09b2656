#pragma once
/* list: doubly linked, intrusive, circular: the head is a node without contents. A node that is in
 * no list points at itself, so removing it twice is harmless. The list owns nothing. */

#include <stdbool.h>
#include <stddef.h>

#include "base/check.h"

struct list {
    struct list *next;
    struct list *previous;
};

#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct list *list)
{
    list->next = list->previous = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_append(struct list *list, struct list *node)
{
    node->next = list;
    node->previous = list->previous;
    list->previous->next = node;
    list->previous = node;
}

static inline void list_remove(struct list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    list_init(node);
}

/* Removes and returns the first node; NULL if there is none. */
static inline struct list *list_take(struct list *list)
{
    struct list *node = list->next;
    if (node == list)
        return NULL;
    list_remove(node);
    assert(list->next != node); /* tells analysers that freeing the node is safe */
    return node;
}

/* The body may remove `node`, but no other. A declared name has no parentheses.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define list_each(head, node)                                                                      \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);              \
         node = node##_next, node##_next = node->next)
/* NOLINTEND(bugprone-macro-parentheses) */
