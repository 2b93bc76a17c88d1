// Seals a file, opens it again to a stream of C++, and computes its checksum with CMAC: handles free themselves, failures are exceptions.
//
//     c++ -std=c++17 archive.cpp $(pkg-config --cflags --libs aes_bitslice) -o archive
//     ./archive FILE
#include <aes_bitslice.h>
#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Free {
    void operator()(aes_bitslice_key *key) const { aes_bitslice_key_free(key); }
    void operator()(aes_bitslice_engine *engine) const { aes_bitslice_engine_free(engine); }
    void operator()(aes_bitslice_cipher *cipher) const { aes_bitslice_cipher_free(cipher); }
};
using Key = std::unique_ptr<aes_bitslice_key, Free>;
using Engine = std::unique_ptr<aes_bitslice_engine, Free>;
using Cipher = std::unique_ptr<aes_bitslice_cipher, Free>;

void check(int status)
{
    if (status != AES_BITSLICE_OK) {
        throw std::runtime_error(aes_bitslice_last_error());
    }
}

Engine open(const char *backend)
{
    aes_bitslice_engine *engine = nullptr;
    check(aes_bitslice_engine_open(backend, &engine));
    return Engine(engine);
}

Key random_key()
{
    std::array<uint8_t, 32> secret{};
    aes_bitslice_key *key = nullptr;
    check(aes_bitslice_random(secret.data(), secret.size()));
    check(aes_bitslice_key_new(secret.data(), secret.size(), &key));
    return Key(key);
}

Cipher cipher(const Engine &engine, const Key &key)
{
    aes_bitslice_cipher *cipher = nullptr;
    check(aes_bitslice_cipher_new(engine.get(), key.get(), &cipher));
    return Cipher(cipher);
}

// The `write` of a sink. No exception leaves it: the library would end the process.
int write(void *context, const uint8_t *bytes, size_t len)
try {
    auto &stream = *static_cast<std::ostream *>(context);
    return stream.write(reinterpret_cast<const char *>(bytes), static_cast<std::streamsize>(len)) ? 0 : 1;
} catch (...) {
    return 1;
}

void open(const Engine &engine, const Key &key, const std::string &sealed, const std::string &opened)
{
    std::ofstream stream(opened, std::ios::binary);
    stream.exceptions(std::ios::badbit | std::ios::failbit);
    aes_bitslice_secret secret{};
    secret.key = key.get();
    aes_bitslice_source source{};
    source.path = sealed.c_str();
    aes_bitslice_sink sink{};
    sink.write = write;
    sink.context = static_cast<std::ostream *>(&stream);
    check(aes_bitslice_open(engine.get(), &secret, &source, 0, UINT64_MAX, &sink, nullptr));
    stream.close();
}

std::array<uint8_t, 16> cmac(const Cipher &cipher, const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::array<uint8_t, 16> tag{};
    aes_bitslice_operation operation{};
    operation.kind = AES_BITSLICE_CMAC;
    check(aes_bitslice_run(cipher.get(), &operation, bytes.data(), nullptr, bytes.size(), tag.data(), tag.size()));
    return tag;
}

} // namespace

int main(int count, char **arguments)
try {
    if (count != 2) {
        std::cerr << "usage: archive FILE\n";
        return 2;
    }
    const std::string clear = arguments[1], sealed = "archive.sealed", opened = "archive.opened";
    const Engine engine = open("auto");
    const Key key = random_key();
    check(aes_bitslice_seal_file(engine.get(), key.get(), clear.c_str(), sealed.c_str()));
    open(engine, key, sealed, opened);
    const Cipher mac = cipher(engine, key);
    const bool same = cmac(mac, clear) == cmac(mac, opened);
    std::remove(sealed.c_str());
    std::remove(opened.c_str());
    std::cout << clear << " sealed, and opened again: " << (same ? "the same\n" : "CHANGED\n");
    return same ? 0 : 1;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
