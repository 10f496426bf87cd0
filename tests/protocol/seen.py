# SPDX-License-Identifier: MIT
"""Where each removal of removals.py is found: the case, preemptions, delays. With a fourth word:
not within a second. Or, in words, why it cannot be found here: what else carries it."""

SEEN = {
    'freeze': ('debt', 1, 1),
    'horizon: raise': ('horizon', 1, 1),
    'horizon: inherit': ('inherited', 1, 1),
    'horizon: begin there': ('horizon', 1, 1),
    'root rule (O4): room in the next array': ('beside', 1, 1),
    'own key first': ('chunks', 1, 1),
    'seal of empty slots': ('root', 1, 1),
    'refusal looks again': ('refusal', 1, 1),
    'refusal in a root only': ('settled', 2, 1),
    'refusal: is the array still the root?':
        'the array was replaced since: that a key which was refused has a place there '
        'is not ruled out (place.h)',
    'pay after the claim':
        'the seal of a refused key carries it: two that meet a new key meet at one '
        'slot, whoever has paid',
    'first copy counts': ('debt', 1, 1),
    'a lost claim looks at the slot again': ('debt', 1, 1),
    'swing when all is done':
        'both callers have just found all flags set',
    'credits: paid back when a claim is lost': ('first', 1, 1),
    'credits: dealt before they are taken': ('dealing', 1, 1),
    'root rule (O4)': ('inherited', 1, 1),
    'seal of a refused key': ('room', 1, 1),
    'close (O5)': ('first', 1, 1),
    'pause while it is tried for size (O5)': ('shrink', 1, 1),
    'count at once (O5)': ('debt', 1, 1),
    'who comes late stops (O5)': ('stale', 2, 2),
    'size (O5): fits': ('shrink', 1, 1),
    'size (O5): beside what is to come': ('beside', 1, 1),
    'credits: owed, led to': ('debt', 1, 1),
    'credits: owed, led on': ('compact', 2, 1, 'slow'),
    'credits: returned before they are taken': ('returned', 1, 1),
    'order: claim of a tag': ('reach', 1, 1),
    'order: search for a tag': ('reach', 1, 1),
    'order: seal':
        "who takes a move's seal for a refusal begins a replacement, and its compare- "
        "and-swap of the shard's word finds the latest",
    'order: tag in a move':
        'the freeze that follows reads the word by a read-modify-write, which is '
        'never old',
    'order: freeze': ('compact', 1, 1),
    'order: copy of a word':
        'the done flag and the swing carry it, and to who comes before these a '
        'compare-and-swap from 0 shows the latest word',
    'order: decision on a word': ('settings', 1, 1),
    'order: load of a word': ('compact', 1, 1),
    'order: first use of a word': ('anew', 1, 1),
    'order: loading the done flags': ('handover', 2, 2, 'slow'),
    'order: swing of the shard': ('horizon', 1, 1),
    'order: moving bit': ('scenarios', 1, 1),
    'order: first array of a shard': ('founded', 1, 1),
    'order: shard, closer look': ('scenarios', 1, 1),
    'order: shard, is it current':
        'the value alone is compared; who goes round loads the word with acquire',
    'order: publication of next': ('full', 1, 1),
    'order: following next': ('full', 1, 1),
    'order: raising the horizon':
        'the done flag and the swing carry it: a key that was left behind is fresh in '
        'the next array only to who came by these',
    'order: beginning at the horizon':
        'the same; the horizon is a value of its own',
    'order: inheriting the horizon':
        'the swing that made the array the root carries it',
    'order: led on (ROOT)':
        'count and flag are one word, changed by read-modify-writes only, which are '
        'in one order',
    'order: led on (LEFT)':
        'the same',
    'order: seeing that it is closed': ('root', 2, 2, 'slow'),
    'order: paying a credit':
        'who refuses a key seals its slot by a compare-and-swap, which finds the '
        'latest tag',
    'order: looking for a credit': ('returned', 1, 1),
    'order: dealing credits': ('dealing', 1, 1),
    'order: looking for unspent credits': ('dealing', 1, 1),
    'order: raising the reach':
        'the claim of the tag, or the done flag and the swing, carry it',
    'order: loading the reach':
        'the same',
    'reach: raised before the claim': ('reach', 1, 1),
    'order: setting of a done flag': ('handover', 2, 2, 'slow'),
    'order: closing': ('root', 2, 2, 'slow'),
    'order: pausing':
        'who was counted before the pause is in the count of the same word',
    'order: shard, quick search': ('debt', 1, 1),
    'order: returning credits': ('returned', 1, 1),
    'order: returned credits':
        "the release of the share's credits, which follows, carries it",
    'order: choosing a chunk':
        'what is done again does no harm, and the flags are loaded with acquire '
        'before the swing',
    'generation of a word': ('settings', 1, 1),
    'mark of a payload': ('settings', 1, 1),
    're-pricing': ('change/full/equal', 1, 1),
    're-basing': ('settings', 1, 1),
    'settings are read again': ('settings', 1, 1),
    'settings are read again by a move':
        'a move loads the settings after it has frozen the word with acquire: they '
        'are as new as the word',
    'a clock before a change': ('change/idle/stale', 1, 1),
    'settings of a limit that is closing': ('remove/growing/equal', 1, 1),
    'removal: calls have ended before moves forget': ('remove/growing/equal', 1, 1),
    'removal: moves have ended before the id is used':
        'no settings are freed here, and words of the removed limit are of '
        'generations that the next does not know',
    'removal: another generation': ('remove/empty/equal', 1, 1),
    'order: publication of settings': ('settings', 1, 1),
    'order: settings of a call': ('settings', 1, 1),
    'order: settings of a call, once': ('settings', 1, 1),
    'order: settings of a quick call': ('change/empty/equal', 1, 1),
    'order: settings of a move': ('change/growing/equal', 1, 1),
    'order: settings of a limit that is closing':
        'the settings were published before, and seen, by who found the limit open or '
        'frozen words of theirs',
    'order: closing of a limit':
        'the compare-and-swap that takes the settings away carries it',
    'order: quick load of a word':
        "a word of another generation is looked at again, with acquire, by the slot's "
        'loop',
    'order: quick decision on a word':
        'it replaces a word of the same generation only, and so is part of the '
        'release sequence of that word',
    'check and charge are one step': ('debt', 1, 1),
    'check and charge are one step: quick': ('admit/one/apart', 1, 1),
    'first use is one step': ('debt', 1, 1),
    'a frozen word is not used': ('debt', 1, 1),
    'done flag: who has done the chunk counts':
        'statistics alone depend on it: how many were left behind',
    'done flag: chunks that nobody ends are done again': ('expire/growing/equal', 1, 1),
}
