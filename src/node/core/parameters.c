/* parameters: the parameters of the services of a node. */

#include <string.h>

#include "base/check.h"
#include "node/configuration/configuration.h"
#include "node/core/node_impl.h"

/* A text stays valid as long as the service: it is copied to the memory of the node. */
static bool text_keep(struct node *node, union parameter_value *value)
{
    size_t size = strlen(value->text) + 1;
    char *copy = arena_take(&node->arena, size);
    if (!copy)
        return false;
    value->text = memcpy(copy, value->text, size);
    return true;
}

enum err parameters_apply(struct weft_self *self, struct why *why)
{
    const struct weft_parameter *parameter;
    for (unsigned i = 0;
         (parameter = parameter_at(self->service, i)) && parameter_is_own(self->service, parameter);
         i++) {
        union parameter_value value;
        enum err err = configuration_read(self->node->config.configuration, self->service,
                                          parameter, &value, why);
        if (err)
            return err;
        if (parameter->type == WEFT_PARAMETER_TEXT && !text_keep(self->node, &value))
            return why_memory(why);
        parameter_store(parameter, &value, self->memory);
    }
    return OK;
}

void node_parameters(const struct node *node,
                     void (*told)(void *context, const char *service,
                                  const struct weft_parameter *parameter, const char *value),
                     void *context)
{
    for (unsigned slot = SLOT_LINKS + 1; slot < node->service_count; slot++) {
        const struct weft_service *service = node->services[slot]->service;
        const struct weft_parameter *parameter;
        for (unsigned i = 0; (parameter = parameter_at(service, i)); i++) {
            union parameter_value value;
            char text[PARAMETER_TEXT_SIZE];
            enum err err =
                configuration_read(node->config.configuration, service, parameter, &value, NULL);
            assert(!err); /* checked when the node opened */
            parameter_write(parameter, &value, text);
            told(context, service->name, parameter, text);
        }
    }
}
