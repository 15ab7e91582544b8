/** The platform's own search is fast, and slow without bound for long texts of some forms: it is asked for the head alone. */
const HEAD_BYTES = 128

export interface PlacesOptions {
  /** No more of them are looked for. */
  readonly most: number
  /** Whether one counts that begins in the one before, which reading from the left does not find. */
  readonly overlapping: boolean
}

/**
 * Where some bytes occur in others, in order. In time that grows with both lengths together, whatever they are: a stranger
 * chooses them, and the host waits. Contract: what is sought is not empty.
 */
export function placesOf(sought: Buffer, content: Buffer, { most, overlapping }: PlacesOptions): readonly number[] {
  const head = sought.subarray(0, HEAD_BYTES)
  const borders = bordersOf(sought)
  const places: number[] = []
  let matched = 0
  for (let at = 0; at < content.length && places.length < most; at++) {
    if (matched === 0) at = content.indexOf(head, at)
    if (at < 0) break
    while (matched > 0 && content[at] !== sought[matched]) matched = borders[matched - 1]!
    if (content[at] === sought[matched]) matched++
    if (matched < sought.length) continue
    places.push(at + 1 - matched)
    matched = overlapping ? borders[matched - 1]! : 0
  }
  return places
}

/** For each beginning of the bytes: how long the longest shorter one is that it ends with. */
function bordersOf(bytes: Buffer): Int32Array {
  const borders = new Int32Array(bytes.length)
  for (let at = 1, length = 0; at < bytes.length; at++) {
    while (length > 0 && bytes[at] !== bytes[length]) length = borders[length - 1]!
    if (bytes[at] === bytes[length]) length++
    borders[at] = length
  }
  return borders
}
