/* Counts the bytes of point-to-point messages between a program and MPI, independently of the program.
 *
 * This library must be preloaded. Its functions replace those of MPI, and call the originals by their PMPI names. When
 * MPI is finalised, each rank appends one line to the file $PMPI_COUNT_FILE.<rank>:
 *
 *     rank  bytes-sent  bytes-received  messages-sent  [destination:bytes ...]
 *
 * Ranks are those in MPI_COMM_WORLD. Sent bytes are counted when a send starts. Received bytes are counted from the
 * status of a receive when it completes. Collective, persistent, partitioned, matched-probe and one-sided communication
 * is not counted, nor is a receive that ends with an error. Only one thread may call MPI.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long long sent, received, messages;
static long long *sent_to;
static int world_size;

/* Receives in flight. */
static MPI_Request *pending;
static int pending_count, pending_room;

static void *grown(void *old, size_t bytes) {
    void *new = realloc(old, bytes);
    if (new == NULL) {
        fprintf(stderr, "pmpi count: out of memory\n");
        abort();
    }
    return new;
}

static void count_send(int count, MPI_Datatype type, int destination, MPI_Comm comm) {
    if (destination == MPI_PROC_NULL) return;
    if (sent_to == NULL) {
        PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
        sent_to = grown(NULL, sizeof *sent_to * world_size);
        for (int rank = 0; rank < world_size; rank++) sent_to[rank] = 0;
    }
    int size, target;
    MPI_Group group, world;
    PMPI_Type_size(type, &size);
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &destination, world, &target);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    long long bytes = (long long)size * count;
    sent += bytes;
    messages++;
    if (target >= 0 && target < world_size) sent_to[target] += bytes;
}

/* With type MPI_BYTE, the count of a status is the number of received bytes for any datatype. */
static void count_status(const MPI_Status *status) {
    MPI_Count bytes;
    if (PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes != MPI_UNDEFINED) received += bytes;
}

static void remember(MPI_Request request) {
    if (pending_count == pending_room) {
        pending_room = pending_room ? 2 * pending_room : 64;
        pending = grown(pending, sizeof *pending * pending_room);
    }
    pending[pending_count++] = request;
}

/* Counts the received bytes of a completed request if it was a receive. */
static void complete(MPI_Request request, const MPI_Status *status) {
    for (int at = 0; at < pending_count; at++) {
        if (pending[at] == request) {
            pending[at] = pending[--pending_count];
            count_status(status);
            return;
        }
    }
}

static void report(void) {
    const char *file = getenv("PMPI_COUNT_FILE");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (file == NULL) return;
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", file, rank);
    FILE *out = fopen(name, "a");
    if (out == NULL) {
        perror(name);
        return;
    }
    fprintf(out, "%d %lld %lld %lld", rank, sent, received, messages);
    for (int to = 0; sent_to != NULL && to < world_size; to++) {
        if (sent_to[to] > 0) fprintf(out, " %d:%lld", to, sent_to[to]);
    }
    fputc('\n', out);
    fclose(out);
}

int MPI_Finalize(void) {
    report();
    return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm comm, int code) {
    report();
    return PMPI_Abort(comm, code);
}

#define SEND(name)                                                                                                     \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {                 \
        count_send(count, type, to, comm);                                                                             \
        return PMPI_##name(buffer, count, type, to, tag, comm);                                                        \
    }
SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)

#define ISEND(name)                                                                                                    \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,                   \
                   MPI_Request *request) {                                                                             \
        count_send(count, type, to, comm);                                                                             \
        return PMPI_##name(buffer, count, type, to, tag, comm, request);                                               \
    }
ISEND(Isend)
ISEND(Issend)
ISEND(Irsend)
ISEND(Ibsend)

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE) status = &own;
    int code = PMPI_Recv(buffer, count, type, from, tag, comm, status);
    if (code == MPI_SUCCESS) count_status(status);
    return code;
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag, void *in, int in_count,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE) status = &own;
    count_send(out_count, out_type, to, comm);
    int code = PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
    if (code == MPI_SUCCESS) count_status(status);
    return code;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    int code = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    if (code == MPI_SUCCESS) remember(*request);
    return code;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    MPI_Status own;
    MPI_Request before = *request;
    if (status == MPI_STATUS_IGNORE) status = &own;
    int code = PMPI_Wait(request, status);
    if (code == MPI_SUCCESS) complete(before, status);
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    MPI_Status own;
    MPI_Request before = *request;
    if (status == MPI_STATUS_IGNORE) status = &own;
    int code = PMPI_Test(request, flag, status);
    if (code == MPI_SUCCESS && *flag) complete(before, status);
    return code;
}

/* Copies of the requests in a call on several requests, because MPI overwrites completed requests. */
static MPI_Request *befores;
/* Statuses for calls to which the caller passes none. */
static MPI_Status *own_statuses;

static MPI_Status *prepare(int count, const MPI_Request *requests, MPI_Status *statuses) {
    static int room;
    if (count > room) {
        room = 2 * count;
        befores = grown(befores, sizeof *befores * room);
        own_statuses = grown(own_statuses, sizeof *own_statuses * room);
    }
    for (int at = 0; at < count; at++) befores[at] = requests[at];
    return statuses == MPI_STATUSES_IGNORE ? own_statuses : statuses;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    statuses = prepare(count, requests, statuses);
    int code = PMPI_Waitall(count, requests, statuses);
    for (int at = 0; code == MPI_SUCCESS && at < count; at++) complete(befores[at], &statuses[at]);
    return code;
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    statuses = prepare(count, requests, statuses);
    int code = PMPI_Testall(count, requests, flag, statuses);
    for (int at = 0; code == MPI_SUCCESS && *flag && at < count; at++) complete(befores[at], &statuses[at]);
    return code;
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE) status = &own;
    prepare(count, requests, MPI_STATUSES_IGNORE);
    int code = PMPI_Waitany(count, requests, index, status);
    if (code == MPI_SUCCESS && *index != MPI_UNDEFINED) complete(befores[*index], status);
    return code;
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE) status = &own;
    prepare(count, requests, MPI_STATUSES_IGNORE);
    int code = PMPI_Testany(count, requests, index, flag, status);
    if (code == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) complete(befores[*index], status);
    return code;
}

#define SOME(name)                                                                                                     \
    int MPI_##name(int count, MPI_Request *requests, int *ended, int *indices, MPI_Status *statuses) {                 \
        statuses = prepare(count, requests, statuses);                                                                 \
        int code = PMPI_##name(count, requests, ended, indices, statuses);                                             \
        for (int at = 0; code == MPI_SUCCESS && *ended != MPI_UNDEFINED && at < *ended; at++) {                        \
            complete(befores[indices[at]], &statuses[at]);                                                             \
        }                                                                                                              \
        return code;                                                                                                   \
    }
SOME(Waitsome)
SOME(Testsome)
