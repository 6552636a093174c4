import CCrypt
import Testing

@testable import ReportServing

@Suite struct UsersFileTests {
    private func formatError(_ text: String) -> UsersFile.FormatError? {
        do throws(UsersFile.FormatError) {
            _ = try UsersFile(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test func `comments, empty lines and CR LF line ends are accepted`() throws {
        let users = try UsersFile(Array("# who\r\n\r\nada:$5$a$b\r\nbob:$y$j75$c$d\n".utf8))
        #expect(users.hashes == ["ada": "$5$a$b", "bob": "$y$j75$c$d"])
    }

    @Test(arguments: [
        ("", 0, "no users"), ("# nobody\n", 0, "no users"), ("ada\n", 1, "NAME:HASH"), ("\n:$5$a$b", 2, "NAME:HASH"),
        ("ada:secret\n", 1, "mkpasswd"), ("ada:\n", 1, "mkpasswd"), ("ada:abJnggxhB/yWI\n", 1, "mkpasswd"),
        ("ada:$1$a$b\n", 1, "mkpasswd"), ("ada:$apr1$a$b\n", 1, "mkpasswd"),
        ("ada:$5$a$b\nada:$5$c$d\n", 2, "twice"), ("ada:$5$a\u{0}\n", 0, "not UTF-8 text"),
    ])
    func `an error has the number of its line and no password`(_ text: String, _ line: Int, _ words: String) throws {
        let formatError = try #require(self.formatError(text))
        #expect(formatError.line == line)
        #expect(formatError.words.contains(words), "\(formatError.words)")
        // The text in the place of a hash can be a password, so an error must not contain it.
        #expect(!formatError.words.contains("secret"))
    }

    @Test func `more than 1,000 users are an error`() {
        let text = (0...1000).map { "u\($0):$5$a$b\n" }.joined()
        #expect(formatError(text)?.words.contains("1000") == true)
    }

    // Hashes of the same two passwords, made with Python's crypt.
    private static let hashes = [
        (
            "$5$rounds=1000$abcdefgh$ue35C0ITbth1b5zVUjrjm2mMmsmMKiodEeH2UV/Hq10",
            "$5$rounds=1000$abcdefgh$M71CZYxfSHUmAcwLMMjmRZs/O/o/0KcEzWppgyi8G/1"
        ),
        (
            "$6$rounds=1000$abcdefgh$DbXqPck5ABZumVXwcH5eMVHsPZwvQ3jylSxpJmKkZVxcoCiC3N0rPerjHmAqL7r6PK6CIeYnO9.vxpbsevscg/",
            "$6$rounds=1000$abcdefgh$cQEwCsEUujhc3T4RenTsaT8mc4yqGQYV2zF1g55soFFY4qJ.j9DyeLopYBBhna9btYJiADD0w3a978AGCvdaD/"
        ),
        (
            "$y$j75$abcdefghijkl$pG0KXbHxpjIKguh3BCfALSHrI366WlMzNka7nozr8.8",
            "$y$j75$abcdefghijkl$bsMMKJY0fUvqLQu5ct.VaHQTEdDXs49cWkdlRnkPDX1"
        ),
        (
            "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
            "$2b$04$abcdefghijklmnopqrstuuz2PWKEwJxQCjNeY.M.ziRJNCZxMiFZq"
        ),
    ]

    @Test(arguments: hashes) func `each kind of hash matches its password, and no other`(
        _ first: String, _ second: String
    ) {
        #expect(ccrypt_matches("correct horse", first) == 1)
        #expect(ccrypt_matches("grüße: x", second) == 1)
        #expect(ccrypt_matches("grüße: x", first) == 0)
        #expect(ccrypt_matches("", first) == 0)
        #expect(ccrypt_matches("correct horse", String(first.dropLast())) == 0)
    }

    @Test func `the most expensive hash of the file is the one that takes the longest to compute`() throws {
        // The order is that of the times to compute them, measured on one core: 1 to 235 ms.
        let hashes = [
            "$5$abcdefgh$x", "$6$rounds=5001$abcdefgh$x", "$y$j75$abcdefghijkl$x", "$5$rounds=60000$abcdefgh$x",
            "$gy$j9T$abcdefghijkl$x", "$6$rounds=120000$abcdefgh$x", "$2b$10$x", "$7$BU..../....abcdefghijkl$x",
            "$y$jBT$abcdefghijkl$x", "$2y$12$x",
        ]
        for count in 1...hashes.count {
            for part in [hashes.prefix(count), ArraySlice(hashes.prefix(count).reversed())] {
                let text = part.enumerated().map { "user\($0.offset):\($0.element)\n" }.joined()
                #expect(try UsersFile(Array(text.utf8)).dearest == hashes[count - 1])
            }
        }
    }

    @Test(arguments: ["", "*0", "$5$", "$9$a$b", "x"]) func `an invalid hash matches no password`(_ hash: String) {
        #expect(ccrypt_matches("", hash) == 0)
        #expect(ccrypt_matches("*0", hash) == 0)
    }

    @Test func `a header is read, also with a colon and non-ASCII characters in the password`() throws {
        // base64 of "ada:grüße: x".
        let credentials = try #require(BasicCredentials("Basic YWRhOmdyw7zDn2U6IHg="))
        #expect(credentials.name == "ada" && credentials.password == "grüße: x")
        #expect(BasicCredentials("bAsIc YTo=")?.name == "a")
        #expect(BasicCredentials("Basic YTo=")?.password.isEmpty == true)
    }

    @Test(arguments: [
        "", "Basic", "Basic ", "Bearer YTo=", "Basic YTo", "Basic Y===", "Basic YTo=====", "Basic YQ==", "Basic YT=o",
        "Basic /w==", "Basic YToA", "Basic YT o=", "Basic é:==", "Basic " + String(repeating: "YWFh", count: 300),
    ])
    func `an invalid header is not read`(_ header: String) { #expect(BasicCredentials(header) == nil) }
}
