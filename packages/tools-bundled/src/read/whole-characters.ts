/** These bytes of UTF-8 without the half of a character at their end. What is no UTF-8 may lose up to three of them. */
export function withoutHalf(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (goesOn(byte)) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, -back) : bytes
  }
  return bytes
}

/** How many bytes at the beginning belong to a character that has begun before. */
export const restOfHalf = (bytes: Uint8Array): number => {
  const begin = bytes.subarray(0, 4).findIndex((byte) => !goesOn(byte))
  return begin < 0 ? 0 : begin
}

const goesOn = (byte: number): boolean => (byte & 0xc0) === 0x80
