/* pump HOST PORT CONNECTIONS IN_FLIGHT SECONDS < one request with its size
 *
 * Keeps so many requests in flight on each of so many connections and counts what comes back:
 *
 *     answers bytes seconds
 *
 * The answers are dropped as they come; only their sizes are looked at.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

enum { REQUEST_MAX = 4 << 20, BUFFER = 1 << 20 };

struct connection {
    int fd;
    long left;              /* of the answer that is coming in */
    unsigned char head[4];  /* its size, as far as it has come */
    int have;
};

static unsigned char buffer[BUFFER];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int connect_to(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("host");
    if (connect(fd, (void *)&address, sizeof address)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void send_all(int fd, const unsigned char *data, long size) {
    while (size > 0) {
        long sent = send(fd, data, size, 0);
        if (sent < 0) fail("send");
        data += sent;
        size -= sent;
    }
}

/* How many answers end in these bytes. */
static int count(struct connection *c, const unsigned char *data, long size) {
    int answers = 0;
    while (size > 0) {
        if (c->left) {
            long taken = c->left < size ? c->left : size;
            c->left -= taken;
            data += taken;
            size -= taken;
            answers += !c->left;
        } else {
            c->head[c->have++] = *data++;
            size--;
            if (c->have == 4) {
                c->have = 0;
                c->left = (long)c->head[0] << 24 | c->head[1] << 16 | c->head[2] << 8 | c->head[3];
            }
        }
    }
    return answers;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    int port = atoi(argv[2]), connections = atoi(argv[3]), in_flight = atoi(argv[4]);
    double seconds = atof(argv[5]), bytes = 0;
    long answers = 0;
    static unsigned char request[REQUEST_MAX];
    long size = fread(request, 1, sizeof request, stdin);
    unsigned char *requests = malloc(size * in_flight);
    for (int i = 0; i < in_flight; i++) memcpy(requests + i * size, request, size);
    struct connection *all = calloc(connections, sizeof *all);
    struct epoll_event events[64];
    int poll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        all[i].fd = connect_to(argv[1], port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event);
    }
    double start = now();
    for (int i = 0; i < connections; i++) send_all(all[i].fd, requests, size * in_flight);
    while (now() - start < seconds) {
        int ready = epoll_wait(poll, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            long received = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (received < 0 && errno == EAGAIN) continue;
            if (received <= 0) fail("the broker closed a connection");
            bytes += received;
            int done = count(c, buffer, received);
            if (done) send_all(c->fd, requests, size * done);
            answers += done;
        }
    }
    printf("%ld %.0f %.6f\n", answers, bytes, now() - start);
    return 0;
}
