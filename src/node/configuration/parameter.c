#include "node/configuration/parameter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "base/utf8.h"

#define CHOICES_MAX 16
#define WORD_SIZE   48 /* of a choice, with its end */

struct unit {
    const char *name;
    uint64_t size;
};

/* Smallest first. */
static const struct unit size_units[] = {
    {"", 1},
    {"K", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
};
static const struct unit duration_units[] = {
    {"ns", 1},
    {"us", UINT64_C(1000)},
    {"ms", UINT64_C(1000000)},
    {"s", UINT64_C(1000000000)},
    {"min", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const parameter_type_names[] = {
    [0] = "?",
    [WEFT_PARAMETER_BOOL] = "bool",
    [WEFT_PARAMETER_INTEGER] = "integer",
    [WEFT_PARAMETER_SIZE] = "size",
    [WEFT_PARAMETER_DURATION] = "duration",
    [WEFT_PARAMETER_TEXT] = "text",
    [WEFT_PARAMETER_CHOICE] = "choice",
};

const struct weft_parameter parameter_memory = {
    .name = "memory",
    .type = WEFT_PARAMETER_SIZE,
    .value = "256M",
    .help = "most memory that this service may take on each server",
};

const struct weft_parameter parameter_work = {
    .name = "work",
    .type = WEFT_PARAMETER_INTEGER,
    .value = "1024", /* WEFT_WORK_MAX: as many as the service declares */
    .minimum = "1",
    .maximum = "1024",
    .help = "most threads and child processes that this service may use at once on each server",
};

/* ---- reading ---- */

static enum err number_read(const char *text, int64_t *number, struct why *why)
{
    char *end;
    const char *digits = text + (*text == '-');
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (*digits < '0' || *digits > '9' || *end)
        return why_fail(why, ERR_USAGE, "'%.60s' is not a whole number", text);
    if (errno)
        return why_fail(why, ERR_USAGE, "%.60s is too large", text);
    return OK;
}

/* Reads a whole number and a unit. A number without a unit is refused unless the first unit has no
 * name, or the number is 0. */
static enum err amount_read(const char *text, const struct unit *units, size_t count, uint64_t most,
                            const char *expected, uint64_t *amount, struct why *why)
{
    char *end;
    errno = 0;
    *amount = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9')
        return why_fail(why, ERR_USAGE, "'%.60s' is not %s", text, expected);
    bool small = !errno;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        if (!small || __builtin_mul_overflow(*amount, units[i].size, amount) || *amount > most)
            return why_fail(why, ERR_USAGE, "%.60s is too large", text);
        return OK;
    }
    if (!*end && small && !*amount)
        return OK;
    return why_fail(why, ERR_USAGE, "'%.60s' is not %s", text, expected);
}

static enum err bool_read(const char *text, bool *flag, struct why *why)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (unsigned i = 0; i < COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *flag = i % 2;
            return OK;
        }
    return why_fail(why, ERR_USAGE, "'%.60s' is neither true nor false", text);
}

static bool is_printable(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (utf8_control(text + i, size - i))
            return false;
    return utf8_valid(text, size) == size;
}

/* Copies the word at that index of "fast|safe"; false: there are fewer, or it is too long. */
static bool choice_word(const char *choices, unsigned index, char word[WORD_SIZE])
{
    size_t size = strcspn(choices, "|");
    while (index-- > 0) {
        if (!choices[size])
            return false;
        choices += size + 1;
        size = strcspn(choices, "|");
    }
    if (size >= WORD_SIZE)
        return false;
    memcpy(word, choices, size);
    word[size] = '\0';
    return true;
}

static enum err choice_read(const char *choices, const char *text, uint32_t *choice,
                            struct why *why)
{
    char words[CHOICES_MAX][WORD_SIZE];
    struct nearest nearest = nearest_make(text, strlen(text));
    for (unsigned i = 0; i < CHOICES_MAX && choice_word(choices, i, words[i]); i++) {
        *choice = i;
        if (strcmp(words[i], text) == 0)
            return OK;
        nearest_try(&nearest, words[i]);
    }
    return why_fail(why, ERR_USAGE, "'%.60s' is none of %.120s%s", text, choices,
                    nearest_hint(&nearest));
}

static enum err value_read(const struct weft_parameter *parameter, const char *text,
                           union parameter_value *value, struct why *why)
{
    uint64_t amount = 0;
    enum err err;
    switch (parameter->type) {
    case WEFT_PARAMETER_BOOL:
        return bool_read(text, &value->flag, why);
    case WEFT_PARAMETER_INTEGER:
        return number_read(text, &value->number, why);
    case WEFT_PARAMETER_SIZE:
        return amount_read(text, size_units, COUNT(size_units), INT64_MAX,
                           "a size such as 4096, 64K, 20M or 2G", &value->size, why);
    case WEFT_PARAMETER_DURATION:
        err = amount_read(text, duration_units, COUNT(duration_units), INT64_MAX,
                          "a duration such as 250us, 10ms, 3s or 5min", &amount, why);
        value->number = (int64_t)amount;
        return err;
    case WEFT_PARAMETER_TEXT:
        value->text = text;
        return OK;
    case WEFT_PARAMETER_CHOICE:
        return choice_read(parameter->choices, text, &value->choice, why);
    }
    assert_unreachable();
}

/* ---- bounds ---- */

/* The quantity that the bounds of a parameter apply to. */
static int64_t quantity(const struct weft_parameter *parameter, const union parameter_value *value)
{
    switch (parameter->type) {
    case WEFT_PARAMETER_SIZE:
        return (int64_t)value->size;
    case WEFT_PARAMETER_TEXT:
        return (int64_t)strlen(value->text);
    default:
        return value->number;
    }
}

static bool has_bounds(enum weft_parameter_type type)
{
    return type != WEFT_PARAMETER_BOOL && type != WEFT_PARAMETER_CHOICE;
}

/* Reads a bound; that of a text is a length. */
static enum err bound_read(const struct weft_parameter *parameter, const char *text, int64_t *bound,
                           struct why *why)
{
    union parameter_value value;
    if (parameter->type == WEFT_PARAMETER_TEXT)
        return number_read(text, bound, why);
    enum err err = value_read(parameter, text, &value, why);
    *bound = err ? 0 : quantity(parameter, &value);
    return err;
}

enum err parameter_read(const struct weft_parameter *parameter, const char *text,
                        union parameter_value *value, struct why *why)
{
    int64_t least = INT64_MIN, most = INT64_MAX;
    const char *of = parameter->type == WEFT_PARAMETER_TEXT ? " of its length in bytes" : "";
    if (strlen(text) > WEFT_TEXT_MAX)
        return why_fail(why, ERR_USAGE, "the value is longer than %d bytes", WEFT_TEXT_MAX);
    if (!is_printable(text))
        return why_fail(why, ERR_USAGE, "the value has characters that cannot be printed");
    enum err err = value_read(parameter, text, value, why);
    if (!err && parameter->minimum)
        err = bound_read(parameter, parameter->minimum, &least, why);
    if (!err && parameter->maximum)
        err = bound_read(parameter, parameter->maximum, &most, why);
    if (err || !has_bounds(parameter->type))
        return err;
    int64_t found = quantity(parameter, value);
    if (found < least)
        return why_fail(why, ERR_USAGE, "'%.60s' is below the minimum%s, %s", text, of,
                        parameter->minimum);
    if (found > most)
        return why_fail(why, ERR_USAGE, "'%.60s' is above the maximum%s, %s", text, of,
                        parameter->maximum);
    char reason[WEFT_WHY_SIZE] = "it makes no sense";
    if (parameter->check && !parameter->check(text, reason))
        return why_fail(why, ERR_USAGE, "%.*s", WEFT_WHY_SIZE - 1, reason);
    return OK;
}

/* ---- writing ---- */

/* In the largest unit of which it is a multiple. */
static void amount_write(uint64_t amount, const struct unit *units, size_t count,
                         char text[PARAMETER_TEXT_SIZE])
{
    size_t best = 0;
    for (size_t i = 0; i < count && amount; i++)
        if (amount % units[i].size == 0)
            best = i;
    snprintf(text, PARAMETER_TEXT_SIZE, "%" PRIu64 "%s", amount / units[best].size,
             amount ? units[best].name : "");
}

void parameter_write(const struct weft_parameter *parameter, const union parameter_value *value,
                     char text[PARAMETER_TEXT_SIZE])
{
    switch (parameter->type) {
    case WEFT_PARAMETER_BOOL:
        strcpy(text, value->flag ? "true" : "false");
        return;
    case WEFT_PARAMETER_INTEGER:
        snprintf(text, PARAMETER_TEXT_SIZE, "%" PRId64, value->number);
        return;
    case WEFT_PARAMETER_SIZE:
        amount_write(value->size, size_units, COUNT(size_units), text);
        return;
    case WEFT_PARAMETER_DURATION:
        amount_write((uint64_t)value->number, duration_units, COUNT(duration_units), text);
        return;
    case WEFT_PARAMETER_TEXT:
        snprintf(text, PARAMETER_TEXT_SIZE, "%s", value->text);
        return;
    case WEFT_PARAMETER_CHOICE:
        if (!choice_word(parameter->choices, value->choice, text))
            text[0] = '\0';
        return;
    }
    assert_unreachable();
}

static size_t field_size(enum weft_parameter_type type)
{
    switch (type) {
    case WEFT_PARAMETER_BOOL:
        return sizeof(bool);
    case WEFT_PARAMETER_INTEGER:
    case WEFT_PARAMETER_DURATION:
        return sizeof(int64_t);
    case WEFT_PARAMETER_SIZE:
        return sizeof(uint64_t);
    case WEFT_PARAMETER_TEXT:
        return sizeof(const char *);
    case WEFT_PARAMETER_CHOICE:
        return sizeof(uint32_t);
    }
    assert_unreachable();
}

void parameter_store(const struct weft_parameter *parameter, const union parameter_value *value,
                     void *instance)
{
    /* All members of the union begin at its address. */
    memcpy((char *)instance + parameter->offset, value, field_size(parameter->type));
}

/* ---- tables ---- */

static unsigned own_count(const struct weft_service *service)
{
    unsigned count = 0;
    while (service->parameters && count < WEFT_PARAMETERS_MAX && service->parameters[count].name)
        count++;
    return count;
}

static bool has_memory(const struct weft_service *service, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(service->parameters[i].name, parameter_memory.name) == 0)
            return true;
    return false;
}

const struct weft_parameter *parameter_at(const struct weft_service *service, unsigned index)
{
    unsigned count = own_count(service);
    if (index < count)
        return &service->parameters[index];
    if (has_memory(service, count))
        count--; /* that is its own */
    else if (index == count)
        return &parameter_memory;
    return index == count + 1 && service->work ? &parameter_work : NULL;
}

bool parameter_is_own(const struct weft_service *service, const struct weft_parameter *parameter)
{
    return parameter >= service->parameters && parameter < service->parameters + own_count(service);
}

const struct weft_parameter *parameter_find(const struct weft_service *service, const char *name)
{
    const struct weft_parameter *parameter;
    for (unsigned i = 0; (parameter = parameter_at(service, i)); i++)
        if (strcmp(parameter->name, name) == 0)
            return parameter;
    return NULL;
}

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = strlen(name);
    return size <= PARAMETER_NAME_MAX && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, letters) == size;
}

static bool are_choices(const char *choices)
{
    char word[WORD_SIZE];
    unsigned count = 1;
    for (const char *at = choices; *at; at++)
        count += *at == '|';
    for (unsigned i = 0; i < count; i++)
        if (count > CHOICES_MAX || !choice_word(choices, i, word) || !word[0])
            return false;
    return true;
}

/* Returns what is wrong with an entry; NULL: nothing that its texts do not show. */
static const char *entry_fault(const struct weft_service *service, unsigned index)
{
    const struct weft_parameter *parameter = &service->parameters[index];
    if (!is_name(parameter->name))
        return "the name is not one to 32 lower-case letters, digits and _";
    if (strcmp(parameter->name, parameter_memory.name) == 0 &&
        parameter->type != WEFT_PARAMETER_SIZE)
        return "is the budget of the service, and must be a size";
    if (strcmp(parameter->name, parameter_work.name) == 0 && service->work)
        return "every service that uses weft/work.h has that parameter already";
    for (unsigned i = 0; i < index; i++)
        if (strcmp(service->parameters[i].name, parameter->name) == 0)
            return "is listed twice";
    if (parameter->type < WEFT_PARAMETER_BOOL || parameter->type > WEFT_PARAMETER_CHOICE)
        return "has an unknown type";
    size_t size = field_size(parameter->type);
    if (parameter->offset % size || parameter->offset + (uint64_t)size > service->size)
        return "its field is not within the instance, or not aligned";
    if (!parameter->value || !parameter->help)
        return "has no default or no help";
    if ((parameter->type == WEFT_PARAMETER_CHOICE) != (parameter->choices != NULL))
        return "only a choice has choices, and it needs them";
    if (parameter->check && parameter->type != WEFT_PARAMETER_TEXT)
        return "only a text has a function that checks it";
    if (parameter->choices && !are_choices(parameter->choices))
        return "its choices are not one to 16 words of one to 47 letters";
    return NULL;
}

static enum err entry_check(const struct weft_service *service, unsigned index, struct why *why)
{
    const struct weft_parameter *parameter = &service->parameters[index];
    union parameter_value value;
    struct why reason = {0};
    const char *fault = entry_fault(service, index);
    if (!fault && parameter_read(parameter, parameter->value, &value, &reason))
        fault = reason.text;
    if (fault)
        return why_fail(why, ERR_USAGE, "service %s: parameter %.40s: %s", service->name,
                        parameter->name, fault);
    return OK;
}

enum err parameters_check(const struct weft_service *service, struct why *why)
{
    unsigned count = own_count(service);
    if (count == WEFT_PARAMETERS_MAX && service->parameters[count].name)
        return why_fail(why, ERR_USAGE, "service %s: has more than %d parameters", service->name,
                        WEFT_PARAMETERS_MAX);
    for (unsigned i = 0; i < count; i++) {
        enum err err = entry_check(service, i, why);
        if (err)
            return err;
    }
    return OK;
}
