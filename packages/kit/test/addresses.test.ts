import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import type { AddressKind } from '../src/addresses.ts'
import { addressBytes, addressKind, canonicalAddress } from '../src/addresses.ts'
import { anyCodePoint } from './samples/text.ts'

/**
 * The oracle: a BlockList of Node with the IANA registries of special-purpose addresses and the metadata services.
 */
const V4_SPECIAL: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16], ['172.16.0.0', 12],
  ['192.0.0.0', 24], ['192.0.2.0', 24],
  ['192.88.99.0', 24], ['192.168.0.0', 16], ['198.18.0.0', 15], ['198.51.100.0', 24], ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4], ['168.63.129.16', 32],
]
const V6_SPECIAL: readonly (readonly [string, number])[] = [
  ['2001:2::', 48], ['2001:10::', 28], ['2001:20::', 28], ['2001:db8::', 32], ['3fff::', 20],
  // Everything outside global unicast.
  ['::', 3], ['4000::', 2], ['8000::', 1],
]
/** Prefixes of IPv6 addresses that embed an IPv4 address. */
const V6_EMBEDDING: readonly (readonly [string, number])[] = [
  ['::', 96], ['::ffff:0:0', 96], ['::ffff:0:0:0', 96], ['64:ff9b::', 96], ['2001::', 32], ['2002::', 16],
]

const blockList = (family: 'ipv4' | 'ipv6', ranges: readonly (readonly [string, number])[]): BlockList => {
  const list = new BlockList()
  for (const [start, bits] of ranges) list.addSubnet(start, bits, family)
  return list
}
const four = blockList('ipv4', V4_SPECIAL)
const six = blockList('ipv6', V6_SPECIAL)
const embedding = blockList('ipv6', V6_EMBEDDING)

const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
const groups = (value: bigint): string =>
  Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16)).join(':')
const number = (text: string): bigint => addressBytes(text)!.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

/** Any address, often at the edge of a range. */
const anyFour = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.tuple(fc.constantFrom(...V4_SPECIAL), fc.integer({ min: -2, max: 2 }), fc.boolean()).map(([
    [start, bits], offset, end,
  ]) =>
    (Number(number(start)) + (end ? 2 ** (32 - bits) : 0) + offset + 2 ** 32) % 2 ** 32),
)
const anySix = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
  fc.bigInt({ min: 1n << 125n, max: (1n << 126n) - 1n }),
  fc.tuple(
    fc.constantFrom(...V6_SPECIAL, ...V6_EMBEDDING, ['fc00::', 7] as const, ['fe80::', 10] as const),
    fc.bigInt({ min: -2n, max: 2n }), fc.boolean(),
  ).map(([[start, bits], offset, end]) =>
    BigInt.asUintN(128, number(start) + (end ? 1n << BigInt(128 - bits) : 0n) + offset)),
)
const RUNS = { numRuns: thoroughly(1_500, 20_000) }
const FEWER_RUNS = { numRuns: thoroughly(200, 2_000) }

describe('the address policy', () => {
  it.each<[AddressKind, readonly string[]]>([
    ['public', [
      '1.1.1.1', '93.184.216.34', '172.15.255.255', '172.32.0.0', '100.63.255.255', '100.128.0.0', '2606:4700::1111',
      '2a00:1450::1',
    ]],
    ['loopback', [
      '127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1',
      '64:ff9b::7f00:1', '2002:7f00:1::', '::ffff:0:127.0.0.1',
    ]],
    ['private', [
      '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1', 'fec0::1', '64:ff9b:1::808:808',
      '2002:c0a8:101::1', '::ffff:10.0.0.1',
    ]],
    ['link-local', ['169.254.0.1', 'fe80::1', 'febf::1', '::ffff:169.254.1.1']],
    ['shared', ['100.64.0.1', '100.127.255.255']],
    ['metadata', [
      '169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254',
      '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::',
    ]],
    ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
    ['broadcast', ['255.255.255.255']],
    ['documentation', ['192.0.2.1', '198.51.100.7', '203.0.113.9', '2001:db8::1', '3fff::1']],
    ['benchmark', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
    ['reserved', ['240.0.0.1', '192.0.0.8', '192.88.99.1', '100::1', '5f00::1', '4000::1', '2001:10::1', '2001:2f::1']],
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::', '::2', '::ffff:0.0.0.0']],
    ['unreadable', [
      '', 'localhost', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '0x7f.0.0.1', 'fe80::1%eth0', '[::1]', '::1 ',
      '1.2.3.4\0',
      ':::',
    ]],
  ])('classifies addresses as %s', (kind, addresses) => {
    expect(addresses.map((address) => [address, addressKind(address)]))
      .toEqual(addresses.map((address) => [address, kind]))
  })

  it('checks the server and the inverted client address of Teredo', () => {
    const teredo = (server: string, client: string): string =>
      groups((0x20010000n << 96n) | (number(server) << 64n) | (number(client) ^ 0xffffffffn))
    expect(addressKind(teredo('1.1.1.1', '8.8.8.8'))).toBe('public')
    expect(addressKind(teredo('1.1.1.1', '127.0.0.1'))).toBe('loopback')
    expect(addressKind(teredo('10.0.0.1', '8.8.8.8'))).toBe('private')
  })

  it('agrees with an independent list on IPv4', () => {
    fc.assert(fc.property(anyFour, (value) => {
      const text = dotted(value)
      expect(addressKind(text) === 'public', text).toBe(!four.check(text, 'ipv4') && text !== '100.100.100.200')
    }), RUNS)
  })

  it('agrees with an independent list on IPv6', () => {
    fc.assert(fc.property(anySix, (value) => {
      const text = groups(value)
      if (embedding.check(text, 'ipv6')) return
      expect(addressKind(text) === 'public', text).toBe(!six.check(text, 'ipv6'))
    }), RUNS)
  })

  it('treats an embedded address like the IPv4 address', () => {
    fc.assert(fc.property(anyFour, (value) => {
      const inside = BigInt(value)
      const kind = addressKind(dotted(value))
      for (const prefix of ['::ffff:0:0', '::ffff:0:0:0', '64:ff9b::']) {
        expect(addressKind(groups(number(prefix) | inside)), prefix).toBe(kind)
      }
      expect(addressKind(groups((0x2002n << 112n) | (inside << 80n)))).toBe(kind)
      if (inside > 1n) expect(addressKind(groups(inside))).toBe(kind)
    }), FEWER_RUNS)
  })

  it('gives the same result for every spelling, as string or bytes', () => {
    fc.assert(fc.property(anySix, (value) => {
      const long = groups(value)
      const short = new URL(`http://[${long}]`).hostname.slice(1, -1)
      const tail = `${long.split(':').slice(0, 6).join(':')}:${dotted(Number(value & 0xffffffffn))}`
      for (const text of [short, tail, long.toUpperCase()]) {
        expect(canonicalAddress(text), text).toBe(canonicalAddress(long))
        expect(addressKind(text), text).toBe(addressKind(addressBytes(long)!))
      }
    }), FEWER_RUNS)
  })

  it('compares a mapped address as its IPv4 address, and no other', () => {
    expect(canonicalAddress('::ffff:127.0.0.1')).toBe(canonicalAddress('127.0.0.1'))
    expect(canonicalAddress('::127.0.0.1')).not.toBe(canonicalAddress('127.0.0.1'))
    expect(canonicalAddress('64:ff9b::127.0.0.1')).not.toBe(canonicalAddress('127.0.0.1'))
  })

  it('never throws, and never classifies an invalid string as public', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: anyCodePoint }),
          fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF:.%x[]'), maxLength: 40 }),
        ),
        (text) => {
          if (addressKind(text) === 'public') expect(addressBytes(text)).toBeDefined()
        },
      ),
      FEWER_RUNS,
    )
    expect(addressKind(new Uint8Array(5))).toBe('unreadable')
  })
})
