/* Tests configuration files: a file is refused in one line, when it is read or compared with the
 * services, or every value in it can be read, written and read again as the same value. */
#include "fuzz.h"
#include "node/configuration/configuration.h"
#include "services/services.h"

struct instance {
    bool exact;
    int64_t copies;
    uint64_t table;
    int64_t wait;
    const char *label;
    uint32_t mode;
};

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct instance, exact, BOOL), .value = "no", .help = "h"},
    {WEFT_PARAMETER(struct instance, copies, INTEGER), .value = "3", .help = "h"},
    {WEFT_PARAMETER(struct instance, table, SIZE), .value = "64K", .help = "h"},
    {WEFT_PARAMETER(struct instance, wait, DURATION), .value = "250us", .help = "h"},
    {WEFT_PARAMETER(struct instance, label, TEXT), .value = "", .maximum = "40", .help = "h"},
    {WEFT_PARAMETER(struct instance, mode, CHOICE), .value = "b", .choices = "a|b|c", .help = "h"},
    {0},
};
static const struct weft_service_ops ops = {0};
static const struct weft_service typed = {.version = WEFT_SERVICE_VERSION,
                                          .name = "typed",
                                          .id = 300,
                                          .size = sizeof(struct instance),
                                          .ops = &ops,
                                          .parameters = parameters};

static void check_values(const struct configuration *settings)
{
    const struct weft_parameter *parameter;
    for (unsigned i = 0; (parameter = parameter_at(&typed, i)); i++) {
        union parameter_value value, again;
        char text[PARAMETER_TEXT_SIZE], twice[PARAMETER_TEXT_SIZE];
        struct instance instance = {0};
        struct why why = {""};
        assert(configuration_read(settings, &typed, parameter, &value, &why) == OK);
        parameter_write(parameter, &value, text);
        assert(parameter_read(parameter, text, &again, &why) == OK);
        parameter_write(parameter, &again, twice);
        assert(strcmp(text, twice) == 0);
        if (parameter != &parameter_memory)
            parameter_store(parameter, &value, &instance);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct weft_service *const services[] = {&typed, services_all[0], NULL};
    struct configuration settings = {0};
    struct why why = {""};
    if (configuration_parse(&settings, "file", (const char *)data, size, &why) ||
        configuration_check(&settings, services, &why))
        fuzz_check_why(&why);
    else
        check_values(&settings);
    configuration_fini(&settings);
    return 0;
}
