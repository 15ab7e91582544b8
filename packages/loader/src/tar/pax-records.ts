export type PaxRead =
  | { readonly ok: true; readonly records: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly message: string }

/** What a file has besides its bytes and its name: read, and not kept. */
const IGNORED = /^(?:mtime|atime|ctime|uid|gid|uname|gname|comment|SCHILY\.(?:dev|ino|nlink|fflags)|LIBARCHIVE\.creationtime)$/

/** The extended header of one entry: `length key=value` lines. Only a name and a size may differ from the plain header. Contract: never throws. */
export function readPaxRecords(bytes: Uint8Array, allowed: ReadonlySet<string>): PaxRead {
  const records = new Map<string, string>()
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return fault('has an extended header that is not UTF-8')
  }
  // Lengths are counted in bytes.
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    const length = Number(/^([1-9]\d{0,8}) /.exec(rest.subarray(0, 12).toString('latin1'))?.[1] ?? Number.NaN)
    const record = /^\d+ ([^=\0]+)=([^\0]*)\n$/s.exec(rest.subarray(0, length || 0).toString('utf8'))
    if (record === null || length > rest.length) return fault('has an extended header that cannot be read')
    const [, key = '', value = ''] = record
    if (records.has(key)) return fault('has an extended header that says one thing twice')
    if (allowed.has(key)) records.set(key, value)
    else if (!IGNORED.test(key)) return fault('has an extended header with a key that has no place in a package')
    rest = rest.subarray(length)
  }
  return { ok: true, records }
}

/** The length counts its own digits too. */
export function paxRecord(key: string, value: string): string {
  const body = Buffer.byteLength(` ${key}=${value}\n`)
  let length = body + String(body).length
  if (String(length).length > String(body).length) length++
  return `${length} ${key}=${value}\n`
}

const fault = (message: string): PaxRead => ({ ok: false, message })
