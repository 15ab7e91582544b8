import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** How near to whoever runs this an address is, by how it is written: what a name resolves to is not asked for. */
export type Nearness = 'this machine' | 'a private network' | 'elsewhere'

const ORDER: readonly Nearness[] = ['elsewhere', 'a private network', 'this machine']

const MACHINE = blockList('0.0.0.0/8', '127.0.0.0/8', '::/127')
const PRIVATE = blockList(
  '10.0.0.0/8', '100.64.0.0/10', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15',
  'fc00::/7', 'fe80::/10', 'fec0::/10',
  // They lead on to an address of the fourth version, whichever it is.
  '::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16',
)

export function nearnessOf({ hostname }: Pick<URL, 'hostname'>): Nearness {
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  if (/(?:^|\.)localhost$/.test(host)) return 'this machine'
  const family = isIPv4(host) ? 'ipv4' : isIPv6(host) ? 'ipv6' : undefined
  if (family === undefined) return 'elsewhere'
  if (MACHINE.check(host, family)) return 'this machine'
  return PRIVATE.check(host, family) ? 'a private network' : 'elsewhere'
}

export const isNearer = (one: Nearness, other: Nearness): boolean => ORDER.indexOf(one) > ORDER.indexOf(other)

function blockList(...ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [start = '', bits] = range.split('/')
    list.addSubnet(start, Number(bits), isIPv4(start) ? 'ipv4' : 'ipv6')
  }
  return list
}
