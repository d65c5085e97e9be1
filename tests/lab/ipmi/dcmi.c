/* DCMI 1.5 power management for ipmi_sim, which has none: a module that it loads.
 *
 * The option names a folder. `psu-power` in it is what the node draws, in W; an active limit holds
 * it down. `dcmi-set` gets one line for each limit that is set, with the bytes of the request.
 * `dcmi-fault` makes it ill: "deaf" says yes and changes nothing, "refuse" answers 0xd4.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define GROUP 0xdc
#define NO_ACTIVE_LIMIT 0x80
#define TOO_SHORT 0xc7
#define UNKNOWN_COMMAND 0xc1
#define INSUFFICIENT_PRIVILEGE 0xd4

/* As OpenIPMI 2.0 lays a message out (OpenIPMI/msg.h); declared here, so that no package of headers
 * is needed. */
struct message {
    void *from;
    int from_length;
    long oem;
    unsigned char channel;
    void *channel_of_origin;
    unsigned char authentication;
    uint32_t sequence, session;
    union {
	struct {
	    unsigned char *code;
	    unsigned char bytes[16];
	} rmcp;
	struct {
	    unsigned char payload, encrypted, authenticated, iana[3];
	    uint16_t id;
	    unsigned char *data;
	    unsigned int length;
	} rmcpp;
    } transport;
    unsigned char netfn, rs_addr, rs_lun, rq_addr, rq_lun, rq_seq, cmd;
    unsigned char *data;
    unsigned int length;
};

typedef void (*handler)(void *mc, struct message *message, unsigned char *reply,
			unsigned int *length, void *ours);
void ipmi_emu_register_group_extension_handler(uint8_t group, handler with, void *ours);

static char folder[512];
/* Exception action, limit in W, correction time in ms, sampling period in s: as a maker sets it. */
static unsigned char fields[9] = {0x11, 0, 0, 0xe8, 0x03, 0, 0, 0x3c, 0};
static int active;

static unsigned two(const unsigned char *at) { return at[0] | at[1] << 8; }
static void put(unsigned char *at, unsigned value) { at[0] = value; at[1] = value >> 8; }

static FILE *file(const char *name, const char *mode)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

static unsigned drawn(void)
{
    unsigned watts = 0;
    FILE *from = file("psu-power", "r");
    if (from != NULL) {
	if (fscanf(from, "%u", &watts) != 1)
	    watts = 0;
	fclose(from);
    }
    return active && watts > two(fields + 1) ? two(fields + 1) : watts;
}

static int ill(const char *how)
{
    char word[16] = "";
    FILE *from = file("dcmi-fault", "r");
    if (from != NULL) {
	if (fscanf(from, "%15s", word) != 1)
	    word[0] = 0;
	fclose(from);
    }
    return strcmp(word, how) == 0;
}

static void set(const unsigned char *asked)
{
    FILE *log = file("dcmi-set", "a");
    if (log != NULL) {
	for (int at = 0; at < 15; at++)
	    fprintf(log, "%02x%s", asked[at], at < 14 ? " " : "\n");
	fclose(log);
    }
    if (!ill("deaf")) {
	memcpy(fields, asked + 4, 7);
	memcpy(fields + 7, asked + 13, 2);
    }
}

static void answer(void *mc, struct message *message, unsigned char *reply, unsigned int *length,
		   void *ours)
{
    unsigned char *asked = message->data;
    (void)mc;
    (void)ours;
    reply[0] = 0;
    reply[1] = GROUP;
    *length = 2;
    switch (message->cmd) {
    case 0x01: /* capabilities: 1.5, power management */
	memcpy(reply + 2, "\x01\x05\x02\x00\x01\x07", 6);
	*length = 8;
	return;
    case 0x02: /* power reading */
	for (int at = 2; at < 10; at += 2)
	    put(reply + at, drawn());
	memset(reply + 10, 0, 8);
	reply[18] = 0x40;
	*length = 19;
	return;
    case 0x03: /* get limit */
	reply[0] = active ? 0 : NO_ACTIVE_LIMIT;
	memset(reply + 2, 0, 13);
	memcpy(reply + 4, fields, 7);
	memcpy(reply + 13, fields + 7, 2);
	*length = 15;
	return;
    case 0x04: /* set limit */
    case 0x05: /* activate */
	if (message->length < (message->cmd == 0x04 ? 15 : 2) || ill("refuse")) {
	    reply[0] = ill("refuse") ? INSUFFICIENT_PRIVILEGE : TOO_SHORT;
	    *length = 1;
	} else if (message->cmd == 0x04) {
	    set(asked);
	} else {
	    active = asked[1] != 0;
	}
	return;
    default:
	reply[0] = UNKNOWN_COMMAND;
	*length = 1;
    }
}

int ipmi_sim_module_print_version(void *system, char *options)
{
    (void)system;
    (void)options;
    return 0;
}

int ipmi_sim_module_init(void *system, char *options)
{
    (void)system;
    snprintf(folder, sizeof folder, "%s", options != NULL ? options : ".");
    ipmi_emu_register_group_extension_handler(GROUP, answer, NULL);
    return 0;
}
