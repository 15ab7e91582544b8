const HEADER_BYTES = 12
/** Times, device, inode, mode, owner and size, before the hash and the flags. */
const STAT_BYTES = 40
const FLAG_BYTES = 2
const MODE_AT = 24
const KIND = 0o170000
const SUBMODULE = 0o160000
const EXTENDED = 0x4000
const SPLIT_INDEX = 'link'

export interface IndexReading {
  /**
   * The first path that git would follow out of the working tree or into a repository, or a description of the index if
   * it cannot be read. Git writes no such path, but does not check the paths that it reads.
   */
  readonly unsafe?: string | undefined
  /** The paths of submodules. */
  readonly submodules: readonly string[]
}

export function readIndex(index: Uint8Array, hashBytes: number): IndexReading {
  const submodules: string[] = []
  return { unsafe: unsafeEntry(index, hashBytes, submodules), submodules }
}

function unsafeEntry(index: Uint8Array, hashBytes: number, submodules: string[]): string | undefined {
  const bytes = Buffer.from(index.buffer, index.byteOffset, index.byteLength)
  if (bytes.length < HEADER_BYTES + hashBytes || bytes.toString('latin1', 0, 4) !== 'DIRC') return UNREADABLE
  const version = bytes.readUInt32BE(4)
  if (version < 2 || version > 4) return UNREADABLE
  const end = bytes.length - hashBytes
  const reader = { bytes, end, version, fixed: STAT_BYTES + hashBytes + FLAG_BYTES }
  let at = HEADER_BYTES
  let path: Buffer = Buffer.alloc(0)
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    const entry = readEntry(reader, at, path)
    if (entry === undefined) return UNREADABLE
    const mode = bytes.readUInt32BE(at + MODE_AT)
    ;({ path, next: at } = entry)
    const name = path.toString('utf8')
    if (leavesTree(name)) return `the path "${name}"`
    if ((mode & KIND) === SUBMODULE) submodules.push(name)
  }
  return unsafeExtension(bytes, at, end)
}

const UNREADABLE = 'an unknown form'

interface IndexReader {
  readonly bytes: Buffer
  readonly end: number
  readonly version: number
  readonly fixed: number
}

/** Version 4 stores a path as the number of bytes to drop from the one before it, and what follows them. */
function readEntry({ bytes, end, version, fixed }: IndexReader, at: number, before: Buffer) {
  const flagsAt = at + fixed - FLAG_BYTES
  if (flagsAt + FLAG_BYTES > end) return undefined
  const isExtended = version > 2 && (bytes.readUInt16BE(flagsAt) & EXTENDED) !== 0
  let from = at + fixed + (isExtended ? FLAG_BYTES : 0)
  let kept = 0
  if (version === 4) {
    const dropped = readOffset(bytes, from, end)
    if (dropped === undefined || dropped.value > before.length) return undefined
    kept = before.length - dropped.value
    from = dropped.next
  }
  const to = bytes.indexOf(0, from)
  if (to < 0 || to >= end) return undefined
  const path = Buffer.concat([before.subarray(0, kept), bytes.subarray(from, to)])
  // Other versions pad entries to a multiple of 8 bytes, with at least one NUL.
  return { path, next: version === 4 ? to + 1 : at + ((to - at + 8) & ~7) }
}

function readOffset(bytes: Buffer, from: number, end: number) {
  let value = 0
  for (let at = from; at < end && at < from + 5; at++) {
    const byte = bytes[at]!
    value = at === from ? byte & 0x7f : (value + 1) * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, next: at + 1 }
  }
  return undefined
}

const leavesTree = (path: string): boolean =>
  path === '' || path.replace(/\/$/, '').split('/').some((name) => /^(?:|\.|\.\.|\.git)$/i.test(name))

/** A split index has its paths in another file. */
function unsafeExtension(bytes: Buffer, from: number, end: number): string | undefined {
  let at = from
  while (at + 8 <= end) {
    if (bytes.toString('latin1', at, at + 4) === SPLIT_INDEX) return 'the form of a split index'
    at += 8 + bytes.readUInt32BE(at + 4)
  }
  return at === end ? undefined : UNREADABLE
}
