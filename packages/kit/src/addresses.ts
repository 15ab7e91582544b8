import { isIPv4, isIPv6 } from 'node:net'

/**
 * The kind of an address by the IANA special-purpose registries. All but `public` must be in the allow list by address.
 */
export type AddressKind =
  | 'public' | 'loopback' | 'private' | 'link-local' | 'shared' | 'metadata' | 'multicast' | 'broadcast'
  | 'documentation' | 'benchmark' | 'reserved' | 'unspecified' | 'unreadable'

interface Range<Meaning> {
  readonly start: Uint8Array
  readonly bits: number
  readonly meaning: Meaning
}

/** The first matching range decides. Read with the first address: the tables take 10 ms, and most processes have none. */
const v4 = ranges<AddressKind>([
  // Cloud metadata services, which give out credentials of the machine.
  ['169.254.169.254/32', 'metadata'], ['168.63.129.16/32', 'metadata'], ['100.100.100.200/32', 'metadata'],
  ['192.0.0.192/32', 'metadata'],
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'], ['172.16.0.0/12', 'private'], ['192.168.0.0/16', 'private'],
  ['100.64.0.0/10', 'shared'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['192.0.2.0/24', 'documentation'], ['198.51.100.0/24', 'documentation'], ['203.0.113.0/24', 'documentation'],
  ['198.18.0.0/15', 'benchmark'],
  ['192.0.0.0/24', 'reserved'], ['192.88.99.0/24', 'reserved'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
])

/** Offsets of IPv4 addresses inside an IPv6 address, and whether their bits are inverted. */
type Embedding = readonly { readonly at: number; readonly inverted?: boolean }[]

const v6 = ranges<AddressKind | Embedding>([
  ['::/128', 'unspecified'], ['::1/128', 'loopback'],
  // Mapped, translated, compatible: the IPv4 address is in the last four bytes.
  ['::ffff:0:0/96', [{ at: 12 }]], ['::ffff:0:0:0/96', [{ at: 12 }]], ['::/96', [{ at: 12 }]],
  ['64:ff9b::/96', [{ at: 12 }]],
  // Translation by rules of the local network.
  ['64:ff9b:1::/48', 'private'],
  // Teredo contains its server and its client, 6to4 its router.
  ['2001::/32', [{ at: 4 }, { at: 12, inverted: true }]], ['2002::/16', [{ at: 2 }]],
  ['fd00:ec2::254/128', 'metadata'], ['fd20:ce::254/128', 'metadata'],
  ['fc00::/7', 'private'], ['fec0::/10', 'private'],
  ['fe80::/10', 'link-local'],
  ['ff00::/8', 'multicast'],
  ['2001:db8::/32', 'documentation'], ['3fff::/20', 'documentation'],
  ['2001:2::/48', 'benchmark'],
  ['2001:10::/28', 'reserved'], ['2001:20::/28', 'reserved'],
  ['2000::/3', 'public'],
])

/** Contract: never throws. A string that is not an address, or has a zone, is unreadable. */
export function addressKind(address: string | Uint8Array): AddressKind {
  const bytes = typeof address === 'string' ? addressBytes(address) : address
  switch (bytes?.length) {
    case 4:
      return find(v4(), bytes) ?? 'public'
    case 16:
      return kindOfSix(bytes)
    default:
      return 'unreadable'
  }
}

/** One spelling per address, for comparison. A mapped IPv6 address becomes its IPv4 address. */
export function canonicalAddress(text: string): string | undefined {
  const bytes = addressBytes(text)
  if (bytes === undefined) return undefined
  const mapped = bytes.length === 16 && find(mappedRange(), bytes) === true
  return Buffer.from(mapped ? bytes.subarray(12) : bytes).toString('hex')
}

export function addressBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number)
  return isIPv6(text) && !text.includes('%') ? sixBytes(text) : undefined
}

/** Everything outside public unicast is reserved. Of two embedded addresses, the first that is not public decides. */
function kindOfSix(bytes: Uint8Array): AddressKind {
  const meaning = find(v6(), bytes) ?? 'reserved'
  if (typeof meaning === 'string') return meaning
  const kinds = meaning.map(({ at, inverted }) => {
    const four = bytes.slice(at, at + 4)
    return addressKind(inverted === true ? four.map((byte) => byte ^ 0xff) : four)
  })
  return kinds.find((kind) => kind !== 'public') ?? 'public'
}

/** Contract: the text is an IPv6 address without a zone. */
function sixBytes(text: string): Uint8Array {
  const tail = /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  const hex = tail === null ? text
    : `${text.slice(0, tail.index)}${pair(tail[1]!, tail[2]!)}:${pair(tail[3]!, tail[4]!)}`
  const [head = '', rest] = hex.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = rest === undefined || rest === '' ? [] : rest.split(':')
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right]
  return Uint8Array.from(groups.flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  }))
}

const pair = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16)

function ranges<Meaning>(table: readonly (readonly [range: string, meaning: Meaning])[]): () => readonly Range<Meaning>[] {
  let read: readonly Range<Meaning>[] | undefined
  return () => {
    read ??= table.map(([range, meaning]) => {
      const [start = '', bits] = range.split('/')
      return { start: addressBytes(start)!, bits: Number(bits), meaning }
    })
    return read
  }
}

function find<Meaning>(table: readonly Range<Meaning>[], bytes: Uint8Array): Meaning | undefined {
  return table.find((range) => holds(range, bytes))?.meaning
}

function holds({ start, bits }: Range<unknown>, bytes: Uint8Array): boolean {
  const whole = bits >> 3
  for (let index = 0; index < whole; index++) if (bytes[index] !== start[index]) return false
  const rest = 8 - (bits & 7)
  return bytes[whole]! >> rest === start[whole]! >> rest
}

const mappedRange = ranges([['::ffff:0:0/96', true]])
