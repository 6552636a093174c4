/// The names of the companies of most advertisers.
///
/// Source: Bluetooth Assigned Numbers §7.1 (company identifiers). Other companies are shown by their number.
enum Companies {
    /// Returns the name of the company with an identifier; `nil` if it is not in this list.
    static func name(of identifier: UInt16) -> String? {
        switch identifier {
        case 0x0002: "Intel"
        case 0x0006: "Microsoft"
        case 0x000D: "Texas Instruments"
        case 0x000F: "Broadcom"
        case 0x001D: "Qualcomm"
        case 0x004C: "Apple"
        case 0x0057: "Harman"
        case 0x0059: "Nordic Semiconductor"
        case 0x0075: "Samsung"
        case 0x0087: "Garmin"
        case 0x009E: "Bose"
        case 0x00C4: "LG Electronics"
        case 0x00CD: "Microchip"
        case 0x00E0: "Google"
        case 0x0118: "Radius Networks"
        case 0x012D: "Sony"
        case 0x0157: "Huami"
        case 0x015D: "Estimote"
        case 0x0171: "Amazon"
        case 0x01DA: "Logitech"
        case 0x027D: "Huawei"
        case 0x02E5: "Espressif"
        case 0x02FF: "Silicon Labs"
        case 0x038F: "Xiaomi"
        case 0x0499: "Ruuvi"
        case 0x05F1: "Linux Foundation"
        default: nil
        }
    }

    /// Returns the name, or the number as the Bluetooth SIG writes it.
    static func words(for identifier: UInt16) -> String {
        if let name = name(of: identifier) { return name }
        let digits = String(identifier, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
