/* SPDX-License-Identifier: MIT */
/*
 * The life of a slot and its arrays, for Spin: claimed, used, frozen, copied or left behind, sealed.
 *
 * Larger than what the shipped text is checked at, and smaller in detail: accesses are sequentially
 * consistent, a move has one chunk, there is one limit. Four processes, each of which may stop for
 * ever anywhere: it is then one that never runs again. Who asks at the end waits for the first
 * three only. Growth upon growth, expiry under two clocks, a change of generation beside all.
 *
 * One token each TOKEN units, burst 1: a payload is the instant, counted from the origin of its
 * generation, at which the key is as if never used. A key: in debt to the stale clock, idle to the
 * others. B: idle to all. C: new. D: in debt to all.
 *
 * Safety: at most one live slot a key (S3), never more granted than is there (S1), debts kept (S5),
 * a move always finds a place (O5). Progress (P1): calls are finite, so there is no cycle at all,
 * whoever runs and whoever does not: pan -l, and no end but that of all.
 *
 * -DWITHOUT_FREEZE, _SEAL, _HORIZON, _BEGINNING, _INHERITANCE, _ROOT_RULE, _OWN_KEY, _REREAD,
 * _FIRST_COPY, _ALL_DONE: each takes one protection away, and makes it fail. -DSMALL: fewer calls;
 * -DLARGE: one process more.
 */

#ifndef ARRAYS
#define ARRAYS 4
#endif
#define SLOTS 3
#define TOKEN 4

#define EMPTY  0
#define SEALED 1
#define A      2
#define B      3
#define C      4
#define D      5
#define KEYS   6

/* What a process is to do, beside a call for a key. */
#define NOTHING 0
#define GROW    10 /* begins to replace the root, and leaves it to the others */
#define COMPACT 11 /* ends what is under way, and replaces the root */
#define CHANGE  12 /* publishes the next generation */

#define FAST  8
#define STALE 3

#define AT(a, s) ((a) * SLOTS + (s))

byte tag[ARRAYS * SLOTS];
byte word[ARRAYS * SLOTS];       /* payload; 0: never used */
byte generation[ARRAYS * SLOTS]; /* of the word */
bool frozen[ARRAYS * SLOTS];
byte next[ARRAYS]; /* 0: none; array 0 is nobody's */
byte horizon[ARRAYS];
bool done[ARRAYS];
byte made = 1;
byte root;
bool moving;
byte newest = 1; /* generation; its origin lies at newest - 1 */

byte granted[KEYS];
byte finished;

/* Keys have their home slots: A and C share one. */
#define HOME(key) ((key) == D -> 1 : ((key) == B -> 2 : 0))

#define PAYLOAD(p, g, h) ((p) > (h) - (g) -> (p) - ((h) - (g)) : 1) /* of g, under h; never 0 */
#define LINE(now, g)     ((now) - ((g) - 1))

/* S3, after each write. */
inline one_live(key)
{
    live = 0;
    i = 0;
    do
    :: i == ARRAYS * SLOTS -> break
    :: else ->
        live = (tag[i] == key && word[i] != 0 && !frozen[i] -> live + 1 : live);
        i++
    od;
    assert(live <= 1);
    i = 0;
    live = 0
}

inline forget()
{
    f = false; s = 0; d = 0; n = 0; t = 0; p = 0; g = 0
}

/*
 * One process, with two things to do. Each atomic block is one access to what is shared, with what
 * follows from it. Claims and seals look and act at once: who loses one looks again, as one does
 * who comes later.
 */
proctype process(byte now; byte what; byte second; bool counts)
{
    byte mine;     /* generation of the settings at hand */
    byte from, to; /* of a move */
    byte in;       /* array in which the key counts */
    byte s, d;     /* slots of the one and the other */
    byte n;        /* slots looked at; an instant; an array */
    byte t, p, g;  /* a tag, a word */
    bool f;
    bool own;      /* its own key's slot is moved now */
    bool all;      /* the rest too, or that is another's chunk */
    bool ends;     /* nothing but the end of a move will do */
    bool begun;    /* the replacement that was asked for */
    byte live, i;

start:
    atomic {
        if
        :: what == NOTHING -> goto end
        :: what == CHANGE -> newest = 2; goto over
        :: else -> mine = newest
        fi
    };

again:
    atomic { /* the shard's word */
        from = root;
        to = next[from];
        in = root;
        f = moving;
        if
        :: what == GROW && (f || begun) ->
#ifdef WITHOUT_ROOT_RULE
            if
            :: f && !begun -> f = false; in = to; goto replace
            :: else
            fi;
#endif
            goto over
        :: what == COMPACT && !f && begun -> goto over
        :: what >= GROW && !f && !begun -> f = false; goto replace
        :: what < GROW && !f -> ends = false; f = false; d = HOME(what); goto look
        :: f && what != GROW -> f = false
        fi;
        own = (what < GROW && !ends);
        s = (own -> HOME(what) : 0);
        if
        :: all = true
        :: own -> all = false
        fi
#ifdef WITHOUT_OWN_KEY
        ;
        if
        :: own && !all -> own = false; in = to; d = HOME(what); goto look
        :: else
        fi
#endif
    };

slot:
    atomic {
        if
        :: !own && s == SLOTS -> s = 0; goto moved
        :: own && n == SLOTS -> n = 0; goto own_moved
        :: else
        fi;
#ifndef WITHOUT_SEAL
        tag[AT(from, s)] = (tag[AT(from, s)] == EMPTY -> SEALED : tag[AT(from, s)]);
#endif
        t = tag[AT(from, s)];
        if
        :: own && t > SEALED && t != what -> t = 0; s = (s + 1) % SLOTS; n++; goto slot
        :: t <= SEALED -> goto slot_moved
        :: else
        fi
    };
    atomic { /* frozen, and judged by the newest settings */
#ifndef WITHOUT_FREEZE
        frozen[AT(from, s)] = true;
#endif
        p = word[AT(from, s)];
        g = newest;
        if
        :: p == 0 -> goto slot_moved
        :: else -> p = PAYLOAD(p, generation[AT(from, s)], g)
        fi;
        if
        :: p <= LINE(now, g) -> goto slot_idle
        :: else -> d = HOME(t)
        fi
    };
put:
    atomic {
        if
        :: tag[AT(to, d)] == SEALED -> goto slot_moved /* O4: others have ended the move */
        :: tag[AT(to, d)] == EMPTY -> tag[AT(to, d)] = t
        :: tag[AT(to, d)] == t
        :: else ->
            d = (d + 1) % SLOTS;
            assert(d != HOME(t)); /* O5: it finds a place */
            goto put
        fi
    };
    atomic { /* the first copy counts */
        if
#ifdef WITHOUT_FIRST_COPY
        :: !frozen[AT(to, d)] ->
#else
        :: word[AT(to, d)] == 0 && !frozen[AT(to, d)] ->
#endif
            word[AT(to, d)] = p;
            generation[AT(to, d)] = g;
            one_live(t)
        :: else
        fi;
        goto slot_moved
    };
slot_idle:
    atomic { /* left behind */
#ifndef WITHOUT_HORIZON
        horizon[to] = (horizon[to] < now -> now : horizon[to]);
#endif
        goto slot_moved
    };
slot_moved:
    atomic {
        t = 0; p = 0; g = 0; d = 0;
        if
        :: own -> n = 0; goto own_moved
        :: else -> s++; goto slot
        fi
    };
own_moved:
    atomic {
        own = false;
        s = 0;
        if
        :: all -> goto slot
        :: else
        fi
    };
#ifdef WITHOUT_ALL_DONE
    goto swing;
#endif
    atomic { /* somebody else's chunk may be moved meanwhile */
        if
        :: done[from] -> goto swing
        :: else -> in = to; d = HOME(what); goto look
        fi
    };
moved:
    done[from] = true;
swing:
    atomic {
        if
#ifdef WITHOUT_ROOT_RULE
        :: root == from && moving -> root = to; moving = (next[to] != 0)
#else
        :: root == from && moving -> root = to; moving = false
#endif
        :: else
        fi;
        all = false;
        goto again
    };

look:
    atomic {
        if
        :: tag[AT(in, d)] == EMPTY -> tag[AT(in, d)] = what; goto decide
        :: tag[AT(in, d)] == what -> goto decide
        :: tag[AT(in, d)] == SEALED -> d = 0; goto again
        :: else -> d = (d + 1) % SLOTS
        fi;
        if
        :: d != HOME(what) -> goto look
        :: d == HOME(what) && in == from -> d = 0; goto replace
        :: else
        fi;
        d = 0; /* no room in the next array */
#ifdef WITHOUT_ROOT_RULE
        goto replace
#else
        ends = true;
        goto again
#endif
    };

decide:
    atomic {
        p = word[AT(in, d)];
        g = generation[AT(in, d)];
        if
        :: frozen[AT(in, d)] -> forget(); goto again
        :: !frozen[AT(in, d)] && p == 0 -> goto decide_fresh
        :: else -> n = now
        fi;
        if
        :: g <= mine && PAYLOAD(p, g, mine) > LINE(now, mine) -> goto over /* denied */
        :: g <= mine && PAYLOAD(p, g, mine) <= LINE(now, mine) -> goto grant
        :: else
        fi
#ifdef WITHOUT_REREAD
        ;
        goto grant /* as if never used */
#endif
    };
    atomic { mine = newest; goto decide };
decide_fresh:
#ifdef WITHOUT_BEGINNING
    n = now;
#else
    n = (horizon[in] > now -> horizon[in] : now);
#endif
grant:
    atomic {
        if
        :: word[AT(in, d)] == p && !frozen[AT(in, d)] && generation[AT(in, d)] == g
        :: else -> goto decide
        fi;
        word[AT(in, d)] = LINE(n, mine) + TOKEN;
        generation[AT(in, d)] = mine;
        granted[what]++;
        assert(granted[what] <= 1 && what != D); /* S1, S5 */
        one_live(what);
        goto over
    };

replace:
    atomic { /* a successor, if there is none */
        if
        :: next[in] != 0 -> goto set_moving
        :: next[in] == 0 && made == ARRAYS -> goto over /* no memory */
        :: else -> n = made; made++
        fi;
#ifndef WITHOUT_INHERITANCE
        horizon[n] = horizon[in]
#endif
    };
    atomic { next[in] = (next[in] == 0 -> n : next[in]) };
set_moving:
    atomic {
        n = 0;
        begun = true;
#ifdef WITHOUT_ROOT_RULE
        if
        :: in != from -> from = in; to = next[in]; all = true; own = false; s = 0; goto slot
        :: else
        fi;
#endif
        moving = (root == in -> true : moving);
        goto again
    };

over:
    atomic {
        forget();
        own = false; all = false; ends = false; begun = false;
        from = 0; to = 0; in = 0; mine = 0;
        what = second;
        second = NOTHING;
        goto start
    };
end:
    atomic {
        if
        :: counts -> finished++
        :: else
        fi
    }
}

/* Afterwards D is still in debt, and no key has more than is there. */
inline put(a, slot, key, payload)
{
    tag[AT(a, slot)] = key;
    word[AT(a, slot)] = payload;
    generation[AT(a, slot)] = 1
}

init {
    atomic {
        put(0, HOME(A), A, 5);
        put(0, HOME(B), B, 1);
        put(0, HOME(D), D, 12)
    };
    run process(STALE, A, NOTHING, true);
#if defined SMALL
    run process(FAST, GROW, A, true);
    run process(FAST, COMPACT, NOTHING, false);
    finished == 2 -> run process(FAST, D, NOTHING, false)
#elif defined LARGE
    run process(FAST, COMPACT, A, true);
    run process(FAST, C, NOTHING, true);
    run process(FAST, GROW, CHANGE, false);
    finished == 3 -> run process(FAST, D, A, false)
#else
    run process(FAST, COMPACT, A, true);
    run process(FAST, GROW, CHANGE, false);
    finished == 2 -> run process(FAST, A, D, false)
#endif
}
