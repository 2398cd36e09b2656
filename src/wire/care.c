/* care: see the header. */
#include "wire/care.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

const char *const care_count_names[CARE_COUNTS] = {
#define CARE_NAME(id, name) name,
    CARE_COUNT_LIST(CARE_NAME)
#undef CARE_NAME
};

size_t care_request_write(const struct care_request *request, void *out)
{
    struct writer to = writer_make(out, CARE_ANSWER_MAX);
    write_u8(&to, (uint8_t)request->kind);
    write_u64(&to, (uint64_t)request->patience);
    write_u64(&to, request->number);
    write_u32(&to, request->server);
    write_u8(&to, (uint8_t)request->duty);
    return CARE_ANSWER_MAX - to.left;
}

bool care_request_read(struct care_request *request, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t kind = read_u8(&in);
    *request = (struct care_request){.kind = kind};
    request->patience = (int64_t)read_u64(&in);
    request->number = read_u64(&in);
    request->server = read_u32(&in);
    uint8_t duty = read_u8(&in);
    request->duty = duty;
    bool scrubs = kind == CARE_SCRUB || kind == CARE_VERIFY, orders = kind == CARE_ORDER;
    if (orders ? request->server >= CARE_SERVERS_MAX || duty >= CARE_DUTIES
               : request->server != CARE_NONE || duty)
        return false;
    return !in.failed && !in.left && kind >= CARE_STATUS && kind <= CARE_ORDER &&
           request->patience > 0 && scrubs == (request->number != 0);
}

/* ---- reports ---- */

size_t care_report_write(const struct care_report *report, void *out)
{
    struct writer to = writer_make(out, CARE_ANSWER_MAX);
    write_u8(&to, CARE_REPORT);
    write_u32(&to, report->server);
    write_u32(&to, report->epoch);
    write_u8(&to, (uint8_t)report->state);
    write_u32(&to, (uint32_t)report->error);
    for (unsigned i = 0; i < CARE_COUNTS; i++)
        write_u64(&to, report->counts[i]);
    assert(report->trouble_count <= CARE_TROUBLES_MAX);
    write_u8(&to, (uint8_t)report->trouble_count);
    for (uint32_t i = 0; i < report->trouble_count; i++) {
        write_u32(&to, report->troubles[i].group);
        write_u8(&to, (uint8_t)report->troubles[i].reason);
        write_u32(&to, report->troubles[i].server);
    }
    assert(!to.failed);
    return CARE_ANSWER_MAX - to.left;
}

static bool report_read(struct care_report *report, struct reader *in)
{
    report->server = read_u32(in);
    report->epoch = read_u32(in);
    uint8_t state = read_u8(in);
    report->state = state;
    report->error = (int32_t)read_u32(in);
    for (unsigned i = 0; i < CARE_COUNTS; i++)
        report->counts[i] = read_u64(in);
    report->trouble_count = read_u8(in);
    if (report->server >= CARE_SERVERS_MAX || state >= CARE_STATES || report->error > 0 ||
        report->trouble_count > CARE_TROUBLES_MAX)
        return false;
    for (uint32_t i = 0; i < report->trouble_count; i++) {
        struct care_trouble *trouble = &report->troubles[i];
        trouble->group = read_u32(in);
        uint8_t reason = read_u8(in);
        trouble->reason = reason;
        trouble->server = read_u32(in);
        if (reason > CARE_GONE ||
            (trouble->server >= CARE_SERVERS_MAX && trouble->server != CARE_NONE))
            return false;
    }
    return true;
}

/* ---- the end ---- */

size_t care_end_write(const struct care_end *end, void *out)
{
    struct writer to = writer_make(out, CARE_ANSWER_MAX);
    assert(end->server_count <= CARE_SERVERS_MAX);
    write_u8(&to, CARE_END);
    write_u32(&to, (uint32_t)end->error);
    write_u32(&to, end->epoch);
    write_u32(&to, end->server_count);
    write_u32(&to, end->group_count);
    write_u32(&to, end->copies);
    write_u32(&to, end->least);
    write_u8(&to, end->decides);
    write_bytes(&to, end->members, (end->server_count + 7) / 8);
    write_bytes(&to, end->reported, (end->server_count + 7) / 8);
    write_bytes(&to, end->released, (end->server_count + 7) / 8);
    assert(!to.failed);
    return CARE_ANSWER_MAX - to.left;
}

static bool end_read(struct care_end *end, struct reader *in)
{
    memset(end, 0, sizeof *end);
    end->error = (int32_t)read_u32(in);
    end->epoch = read_u32(in);
    end->server_count = read_u32(in);
    end->group_count = read_u32(in);
    end->copies = read_u32(in);
    end->least = read_u32(in);
    uint8_t decides = read_u8(in);
    end->decides = decides;
    if (end->error > 0 || end->server_count > CARE_SERVERS_MAX || decides > 1)
        return false;
    read_copy(in, end->members, (end->server_count + 7) / 8);
    read_copy(in, end->reported, (end->server_count + 7) / 8);
    read_copy(in, end->released, (end->server_count + 7) / 8);
    return true;
}

enum care_answer care_answer_read(struct care_report *report, struct care_end *end,
                                  const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t kind = read_u8(&in);
    bool sense = (kind == CARE_REPORT && report_read(report, &in)) ||
                 (kind == CARE_END && end_read(end, &in));
    return sense && !in.failed && !in.left ? (enum care_answer)kind : CARE_NONSENSE;
}
