/* rotation HOST PORT CONNECTIONS BUSY SECONDS PID < requests, each with its size
 *
 * Opens the connections and keeps one request in flight on BUSY of them at a time: an answer on one connection makes
 * the next connection in line that waits for nothing send the next request in line. Prints, after a warm-up,
 *
 *     answers bytes seconds processor_seconds
 *
 * where the last is the processor time of the process PID.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS_MAX = 16 << 20, BUFFER = 1 << 20 };
enum { WARM_UP_REQUESTS = 3 }; /* on each connection: the broker may prepare for repetitions */
static const double WARM_UP_S = 0.3;

struct connection {
    int fd;
    long missing;           /* bytes of the answer; 0: it waits for nothing */
    int head;               /* bytes of the size of the answer that have been received */
    unsigned char size[4];
};

static unsigned char requests[REQUESTS_MAX], buffer[BUFFER];
static long requests_size, next_request;
static struct connection *all;
static int connections, next_connection;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double seconds_of(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t)) fail("clock");
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int connect_to(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0) fail("socket");
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("host");
    if (connect(fd, (void *)&address, sizeof address)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static long big_endian(const unsigned char *b) { return (long)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]; }

static void send_next(void) {
    while (all[next_connection].missing) next_connection = (next_connection + 1) % connections;
    struct connection *c = &all[next_connection];
    next_connection = (next_connection + 1) % connections;
    long size = 4 + big_endian(requests + next_request);
    if (send(c->fd, requests + next_request, size, 0) != size) fail("send");
    next_request += size;
    if (next_request >= requests_size) next_request = 0;
    c->missing = 4;
    c->head = 0;
}

/* Whether these bytes end the answer. */
static int ends(struct connection *c, const unsigned char *data, long size) {
    while (size > 0 && c->head < 4) {
        c->size[c->head++] = *data++;
        size--;
        if (--c->missing == 0) c->missing = big_endian(c->size);
    }
    c->missing -= size;
    if (c->missing < 0) {
        fputs("more than one answer\n", stderr);
        exit(1);
    }
    return c->missing == 0;
}

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    int port = atoi(argv[2]), busy = atoi(argv[4]), is_warm = 0, poll = epoll_create1(0);
    connections = atoi(argv[3]);
    clockid_t processor;
    if (clock_getcpuclockid(atoi(argv[6]), &processor)) fail("process");
    requests_size = fread(requests, 1, sizeof requests, stdin);
    all = calloc(connections, sizeof *all);
    for (int i = 0; i < connections; i++) {
        all[i].fd = connect_to(argv[1], port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event);
        if (i % 100 == 99) usleep(20000); /* the backlog of the listener is limited */
    }
    for (long warm = 0; warm < (long)WARM_UP_REQUESTS * connections; warm++) {
        struct connection *c = &all[next_connection];
        next_request = 0; /* the same one on all connections */
        send_next();
        for (long got; c->missing; ends(c, buffer, got))
            if ((got = recv(c->fd, buffer, sizeof buffer, 0)) <= 0) fail("recv");
    }
    long answers = 0;
    double bytes = 0, start = seconds_of(CLOCK_MONOTONIC), spent = 0, now;
    for (int i = 0; i < busy; i++) send_next();
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, 1000);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            long got = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (got <= 0) fail("recv");
            bytes += got;
            if (ends(c, buffer, got)) {
                answers++;
                send_next();
            }
        }
        now = seconds_of(CLOCK_MONOTONIC);
        if (!is_warm && now - start > WARM_UP_S) {
            is_warm = 1, answers = 0, bytes = 0, start = now, spent = seconds_of(processor);
        } else if (is_warm && now - start > atof(argv[5])) {
            break;
        }
    }
    printf("%ld %.0f %.6f %.6f\n", answers, bytes, now - start, seconds_of(processor) - spent);
    return 0;
}
