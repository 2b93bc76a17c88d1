// Seals a file, opens it again, and computes its checksum with CMAC, in C++: handles free themselves, failures are exceptions.
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
    check(aes_bitslice_open_file(engine.get(), key.get(), sealed.c_str(), opened.c_str()));
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
