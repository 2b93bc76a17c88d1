//! Texts about parameters that many calls have, for `help`.

/// The text about a parameter.
macro_rules! parameter {
    (data) => {
        "data: what to process: bytes, an array or a tensor."
    };
    (out) => {
        "out: where the result goes in place of a new object: memory of the same length; `out=data` works in place."
    };
    (stream) => {
        "stream: for data on a GPU, the stream of the call: a handle, or an object of PyTorch or CuPy; else the current one."
    };
    (tag_out) => {
        "tag_out: for data on a GPU, where the tag goes: 16 bytes of its memory, at a multiple of 4. No tag is returned then, and nothing comes \
         to the host."
    };
    (fault_out) => {
        "fault_out: 8 bytes of GPU memory, for what `check_fault` reads. With it, nonces, ranges and additional data are on the GPU, too, and a \
         graph\n    may hold the call, which reads them each time. Under one key, never the same nonce twice: nothing checks that here."
    };
    (iv_of_ctr) => {
        "iv: the initial counter block, 16 bytes. Under one key, no two messages may have overlapping counter blocks."
    };
    (offset) => {
        "offset: the byte of the key stream for the first byte of the data: the place of the data in its message."
    };
    (counter_bits) => {
        "counter_bits: how many of the last bits of the counter block count: 128, 64 or 32."
    };
    (iv_of_cbc) => {
        "iv: 16 random bytes, new for every message."
    };
    (iv) => {
        "iv: the 16 bytes of the encryption."
    };
    (unit_bytes) => {
        "unit_bytes: bytes of a data unit, such as 512 or 4096 for a sector; the last may be shorter, down to 16."
    };
    (first_unit) => {
        "first_unit: the number of the first data unit."
    };
    (nonce_of_gcm) => {
        "nonce: usually 12 bytes. Never use it for two messages under one key."
    };
    (nonce_of_gcm_siv) => {
        "nonce: 12 bytes, new for every message. A nonce used twice under a key reveals only whether two messages with\n    the same \
         additional data are equal."
    };
    (nonce_of_xaes) => {
        "nonce: 24 bytes, new for every message; `os.urandom(24)` will do, for 2**80 messages under one key."
    };
    (new_aad) => {
        "aad: additional data, which the tag authenticates but which is not encrypted."
    };
    (nonces) => {
        "nonces: 12 bytes for each message, contiguous; `CountedNonces`; or a list with a nonce of any length for each. No two that\n    encrypt may be equal."
    };
    (ranges) => {
        "ranges: where the messages are: `Ranges`; an array of integers, or a list, with two numbers for each message, its first\n    byte in the data and the byte after its last."
    };
    (aads) => {
        "aads: bytes that are the additional data of every message, or with `aad_ranges` of all messages; or a list."
    };
    (aad_ranges) => {
        "aad_ranges: where in `aads` the additional data of each message is, in the forms of `ranges` and in any order."
    };
    (tags) => {
        "tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of the\n    encryption."
    };
    (tag_bytes) => {
        "tag_bytes: the length that the tag must have: 16, or 4, 8 or 12 to 15 if sender and receiver agreed on that. `ValueError` for a\n    \
         tag of another length: a forged message with a tag of 4 bytes is accepted once in 2^32 attempts."
    };
    (tag_bytes_of_gcm) => {
        "tag_bytes: the length that every tag must have: 16, or 12 to 15 if sender and receiver agreed on that; with `short_tags`, 4 or 8.\n    \
         `ValueError` for a tag of another length."
    };
    (short_tags) => {
        "short_tags: whether tags have 4 or 8 bytes. SP 800-38D, appendix C, allows that to few applications, and limits, by the lengths of\n    \
         tag and message, how many messages may be decrypted under a key: the application counts them. A forged message with a tag of 4 bytes is accepted once in 2^32\n    \
         attempts, and the next one sooner. Drafts of revision 1 of the standard have no such tags."
    };
    (nonce) => {
        "nonce: that of the encryption."
    };
    (tag) => {
        "tag: the tag of the encryption: bytes, or a `DeviceTag`."
    };
    (aad) => {
        "aad: the additional data of the encryption."
    };
    (xts) => {
        "xts: whether it is an XTS key: two keys, one after another."
    };
    (key) => {
        "key: that of the sealing."
    };
    (passphrase) => {
        "passphrase: text, which is encoded as UTF-8, or bytes, which are used as they are."
    };
    (keyset) => {
        "keyset: a Tink keyset as JSON, for a Tink stream."
    };
    (associated_data) => {
        "associated_data: the data that a Tink stream was authenticated with."
    };
    (overwrite) => {
        "overwrite: whether a file may be replaced; else `FileExistsError`."
    };
    (engine) => {
        "engine: where to compute; the CPU if none is given."
    };
}

pub(crate) use parameter;
