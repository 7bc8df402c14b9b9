/* transfer produce|consume BOOTSTRAP_SERVERS TOPIC COUNT RECORD_BYTES BATCH_BYTES
 *
 * Produces or consumes COUNT records with librdkafka and prints the MB/s of their values (1 MB = 1,000,000 bytes).
 * The time of a consumer starts with its first records. Exits with a message if a record is lost.
 */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ERROR_BYTES = 512, MANY = 1000, PATIENCE_MS = 20000, FLUSH_MS = 120000 };

static long delivered, failed;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *problem) {
    fprintf(stderr, "transfer: %s\n", problem);
    _exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char problem[ERROR_BYTES];
    if (rd_kafka_conf_set(conf, name, value, problem, sizeof problem) != RD_KAFKA_CONF_OK)
        fail(problem);
}

static rd_kafka_t *start(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char problem[ERROR_BYTES];
    rd_kafka_t *client = rd_kafka_new(type, conf, problem, sizeof problem);
    if (!client)
        fail(problem);
    return client;
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client, (void)opaque;
    if (message->err)
        failed++;
    else
        delivered++;
}

static double produce(rd_kafka_conf_t *conf, const char *name, long count, int size, const char *batch_bytes) {
    set(conf, "batch.size", batch_bytes);
    set(conf, "linger.ms", "5");
    set(conf, "queue.buffering.max.messages", "500000");
    set(conf, "queue.buffering.max.kbytes", "1048576");
    set(conf, "batch.num.messages", "1000000");
    set(conf, "message.max.bytes", "2000000");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *client = start(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    char *value = malloc(size);
    for (int i = 0; i < size; i++)
        value[i] = (char)rand();
    const struct rd_kafka_metadata *metadata; /* connect and create the topic before the clock starts */
    rd_kafka_metadata(client, 0, topic, &metadata, 10000);
    double begun = now();
    for (long i = 0; i < count; i++) {
        while (rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, value, size, NULL, 0, NULL) == -1)
            rd_kafka_poll(client, 5); /* the queue is full */
        if (i % MANY == 0)
            rd_kafka_poll(client, 0);
    }
    rd_kafka_flush(client, FLUSH_MS);
    double seconds = now() - begun;
    if (failed || delivered != count)
        fail("not all records were delivered");
    return seconds;
}

static double consume(rd_kafka_conf_t *conf, const char *name, long count) {
    set(conf, "fetch.message.max.bytes", "4194304");
    set(conf, "queued.min.messages", "1000000");
    set(conf, "queued.max.messages.kbytes", "1048576");
    set(conf, "group.id", "transfer");
    set(conf, "enable.auto.commit", "false");
    rd_kafka_t *client = start(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(client);
    rd_kafka_topic_partition_list_t *assignment = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(assignment, name, 0)->offset = 0;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(client);
    rd_kafka_assign(client, assignment);
    rd_kafka_message_t *messages[MANY];
    double begun = 0;
    for (long left = count; left > 0;) {
        ssize_t received = rd_kafka_consume_batch_queue(queue, PATIENCE_MS, messages, left < MANY ? left : MANY);
        if (received <= 0)
            fail("no more records arrive");
        if (left == count)
            begun = now();
        left -= received;
        for (ssize_t i = 0; i < received; i++) {
            if (messages[i]->err)
                fail(rd_kafka_message_errstr(messages[i]));
            rd_kafka_message_destroy(messages[i]);
        }
    }
    return now() - begun;
}

int main(int argc, char **argv) {
    if (argc != 7 || (strcmp(argv[1], "produce") && strcmp(argv[1], "consume")))
        fail("usage: transfer produce|consume BOOTSTRAP_SERVERS TOPIC COUNT RECORD_BYTES BATCH_BYTES");
    long count = atol(argv[4]);
    int size = atoi(argv[5]);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[2]);
    double seconds =
        argv[1][0] == 'p' ? produce(conf, argv[3], count, size, argv[6]) : consume(conf, argv[3], count);
    printf("%.1f\n", (double)count * size / 1e6 / seconds);
    fflush(stdout);
    _exit(0); /* closing a client takes time and changes nothing here */
}
