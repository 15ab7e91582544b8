/** One line of git's protocol, or a mark between sections. */
export type Packet = Buffer | 'flush' | 'delimiter' | 'end'

const MARKS: ReadonlyMap<number, Packet> = new Map([[0, 'flush'], [1, 'delimiter'], [2, 'end']])
const LENGTH_CHARS = 4

/** Reads all packets. undefined if the bytes are not complete packets. */
export function readPackets(bytes: Buffer): readonly Packet[] | undefined {
  const packets: Packet[] = []
  let at = 0
  while (at < bytes.length) {
    const head = bytes.toString('latin1', at, at + LENGTH_CHARS)
    if (!/^[0-9a-f]{4}$/i.test(head)) return undefined
    const length = Number.parseInt(head, 16)
    const mark = MARKS.get(length)
    if (mark === undefined && (length < LENGTH_CHARS || at + length > bytes.length)) return undefined
    packets.push(mark ?? bytes.subarray(at + LENGTH_CHARS, at + length))
    at += mark === undefined ? length : LENGTH_CHARS
  }
  return packets
}

export const lineOf = (packet: Buffer): string => packet.toString('utf8').replace(/\n$/, '')

/** Writes lines as packets. A mark is written as itself. */
export const writePackets = (lines: readonly string[]): string => lines.map((line) => {
  if (line === FLUSH || line === DELIMITER) return line
  return (Buffer.byteLength(line) + LENGTH_CHARS + 1).toString(16).padStart(LENGTH_CHARS, '0') + `${line}\n`
}).join('')

export const FLUSH = '0000'
export const DELIMITER = '0001'
