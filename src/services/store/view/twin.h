#pragma once
/* twin: a small state of a service on the disk, kept twice.
 *
 * Each save writes the state to one of two files and syncs it, then to the other. So at any moment
 * one of the files is whole, and a state that was saved is in both: it survives a crash at any
 * time, and damage to either file. Changes during a save are saved together by the next one.
 *
 * A file that cannot be written is removed and made anew, again and again until this succeeds,
 * while the other one stays as it is. So after an error of the disk nothing is saved until it is
 * over; no sync is tried again. */

#include <weft/disk.h>

#define TWIN_FILES 2 /* open at once */

struct twin_events {
    /* size >= 0: this was saved last; 0 bytes: nothing was ever saved. -EPROTO: a later version of
     * weft has saved it, and nothing was changed. -EBADMSG: neither file is whole: what was saved
     * is lost. Another errno: the files cannot be read now; twin_tick tries it again. After
     * -EBADMSG saves begin with new files. */
    void (*opened)(void *owner, const void *bytes, int64_t size);
    /* Writes the present state; returns its size, at most `room`. */
    uint32_t (*write)(void *owner, void *bytes, uint32_t room);
    /* All changes up to this number are durable. */
    void (*saved)(void *owner, uint64_t change);
};

enum twin_step {
    TWIN_IDLE,
    TWIN_RESTS, /* a step has failed; twin_tick goes on */
    TWIN_OPENS,
    TWIN_READS,
    TWIN_WRITES,
    TWIN_SYNCS,
    TWIN_CLOSES, /* a file that failed, to be removed and made anew */
    TWIN_REMOVES,
};

struct twin {
    struct weft_self *self;
    const char *names[TWIN_FILES]; /* borrowed */
    const struct twin_events *events;
    void *owner;
    uint32_t room;  /* bytes of a state at most */
    uint8_t *bytes; /* of a file: a head and the state */
    uint8_t *best;  /* while it opens: the newest file that is whole */
    struct weft_call call;
    struct weft_file *files[TWIN_FILES];
    bool suspect[TWIN_FILES]; /* it is made anew before it is written */
    enum twin_step step;
    uint32_t at; /* the file that the step is about */
    bool is_open;
    int64_t error;                   /* while it opens: why a file could not be read; 0: it could */
    bool damaged;                    /* ... a file had something, and is not whole */
    uint64_t generation;             /* of the state that is written, or was */
    uint32_t size;                   /* of the file that is written */
    uint32_t newest;                 /* the file that was written last, and is whole */
    uint32_t written;                /* files that the present save has written */
    uint64_t changed, saving, saved; /* changes: the last one; which this save contains; durable */
};

/* Takes memory; only in start(). False: there is too little. */
bool twin_init(struct twin *twin, uint32_t room);
/* Reads what is there; ends with opened(). */
void twin_open(struct twin *twin);
/* The state has changed: it is saved soon. Returns the number of the change. */
uint64_t twin_change(struct twin *twin);
/* The owner calls this a few times a second. */
void twin_tick(struct twin *twin);
