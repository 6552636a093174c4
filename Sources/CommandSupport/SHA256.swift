/// SHA-256 (FIPS 180-4). It is used to detect differences, not to protect secrets.
package enum SHA256 {
    /// Returns the digest of the bytes as sha256sum(1) prints it: 64 hexadecimal digits.
    package static func hexadecimal(of bytes: [UInt8]) -> String {
        digest(of: bytes).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }

    // §4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]

    private static func digest(of bytes: [UInt8]) -> [UInt8] {
        // §5.1.1: a one bit, zeros, and the length in bits, to fill the last block.
        var message = bytes
        message.append(0x80)
        message.append(contentsOf: repeatElement(0, count: (120 - message.count % 64) % 64))
        let bits = UInt64(bytes.count) &* 8
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            message.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        // §5.3.3: the initial hash value.
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        var words = [UInt32](repeating: 0, count: 64)
        for start in stride(from: 0, to: message.count, by: 64) { add(message, start, &words, to: &state) }
        return state.flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    /// Adds the block that starts at `start` (§6.2.2).
    private static func add(_ message: [UInt8], _ start: Int, _ words: inout [UInt32], to state: inout [UInt32]) {
        func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
        for index in 0..<16 {
            let place = start + index * 4
            words[index] = message[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            words[index] =
                words[index - 16] &+ words[index - 7] &+ (turned(early, 7) ^ turned(early, 18) ^ early >> 3)
                &+ (turned(late, 17) ^ turned(late, 19) ^ late >> 10)
        }
        var round = state
        for index in 0..<64 {
            let (first, fifth) = (round[0], round[4])
            let choice = fifth & round[5] ^ ~fifth & round[6]
            let majority = first & round[1] ^ first & round[2] ^ round[1] & round[2]
            let one =
                round[7] &+ (turned(fifth, 6) ^ turned(fifth, 11) ^ turned(fifth, 25)) &+ choice &+ constants[index]
                &+ words[index]
            let two = (turned(first, 2) ^ turned(first, 13) ^ turned(first, 22)) &+ majority
            round = [one &+ two, first, round[1], round[2], round[3] &+ one, fifth, round[5], round[6]]
        }
        for index in 0..<8 { state[index] &+= round[index] }
    }
}
